#include "support/plugin_fixture.hpp"

#include <ATen/ops/eye.h>

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace gh;

auto cross_polytope(int64_t points) {
  return test::load<Structure>("cross_polytope", "points = " + std::to_string(points));
}

void check_optimal(int64_t k, int64_t width) {
  INFO(k << " points in " << width << " dimensions");
  const auto structure = cross_polytope(k);
  const at::Tensor m = structure->points(width, Random(7));
  REQUIRE(m.size(0) == k);
  REQUIRE(m.size(1) == width);
  const at::Tensor gram = m.matmul(m.t());
  CHECK((gram.diagonal() - 1).abs().max().item<double>() < 1e-12);
  const at::Tensor cosines = gram - 2 * at::eye(k, at::kDouble);
  CHECK(std::abs(cosines.max().item<double>()) < 1e-12);
  CHECK(m.sum(0).norm().item<double>() < 1e-12);
  CHECK(structure->best_cosine(width) == 0);
}

TEST_CASE("cross_polytope has no positive cosine, unit rows and zero sum for every K it takes") {
  for (const int64_t width : {2, 3, 8, 17})
    for (int64_t k = width + 2; k <= 2 * width; ++k) check_optimal(k, width);
  for (const int64_t k : {130, 150, 191, 200, 255, 256}) check_optimal(k, 128);
}

TEST_CASE("cross_polytope spreads the points as evenly as its simplices can") {
  // 2d−1 points: one triangle and pairs. Every point has a partner at −1/2 or −1.
  const at::Tensor m = cross_polytope(15)->points(8, Random(1));
  const at::Tensor nearest = std::get<0>(m.matmul(m.t()).min(1));
  CHECK((nearest < -0.5 + 1e-12).all().item<bool>());
  CHECK((nearest > -0.5 - 1e-12).sum().item<int64_t>() == 3);
}

TEST_CASE("cross_polytope depends on its random stream only") {
  const auto structure = cross_polytope(12);
  CHECK(structure->points(8, Random(1)).equal(structure->points(8, Random(1))));
  CHECK_FALSE(structure->points(8, Random(1)).equal(structure->points(8, Random(2))));
}

TEST_CASE("cross_polytope says what to use for other numbers of points") {
  const auto complaint = [](int64_t points, int64_t width) {
    test::CollectedComplaints out;
    cross_polytope(points)->check(width, out);
    return out.text;
  };
  CHECK(complaint(10, 8).empty());
  CHECK(complaint(16, 8).empty());
  CHECK_THAT(complaint(9, 8),
             Catch::StartsWith("points: 9 in 8 dimensions") && Catch::Contains("use etf"));
  CHECK_THAT(complaint(17, 8), Catch::StartsWith("points: 17 in 8 dimensions exceed the 16") &&
                                   Catch::Contains("gradients"));
  CHECK_THROWS_AS(cross_polytope(9)->points(8, Random(1)), Error);
  CHECK_THROWS_AS(cross_polytope(17)->points(8, Random(1)), Error);
}

}  // namespace
