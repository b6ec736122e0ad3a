#include "support/plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <string>

namespace {

using namespace gh;

TEST_CASE("learnable gives unit rows for any number of points in any width") {
  for (const int64_t k : {2, 5, 300})
    for (const int64_t width : {1, 2, 128}) {
      const auto structure = test::load<Structure>("learnable", "points = " + std::to_string(k));
      const at::Tensor m = structure->points(width, Random(3));
      CHECK(m.size(0) == k);
      CHECK(m.size(1) == width);
      CHECK((m.norm(2, {1}) - 1).abs().max().item<double>() < 1e-12);
    }
}

TEST_CASE("learnable is trained, from directions that are uniform on the sphere") {
  const auto structure = test::load<Structure>("learnable", "points = 20000");
  CHECK(structure->learnable());
  CHECK(std::isnan(structure->best_cosine(3)));
  const at::Tensor m = structure->points(3, Random(3));
  // Mean 0 and covariance I/3; the standard error of either is below 0.005.
  CHECK(m.mean({0}).abs().max().item<double>() < 0.02);
  const at::Tensor covariance = m.t().matmul(m) / 20000;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 3; ++j)
      CHECK(covariance[i][j].item<double>() == Approx(i == j ? 1.0 / 3 : 0.0).margin(0.02));
}

TEST_CASE("learnable depends on its random stream only") {
  const auto structure = test::load<Structure>("learnable", "points = 5");
  CHECK(structure->points(8, Random(1)).equal(structure->points(8, Random(1))));
  CHECK_FALSE(structure->points(8, Random(1)).equal(structure->points(8, Random(2))));
}

}  // namespace
