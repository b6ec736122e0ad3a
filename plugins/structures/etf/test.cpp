#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/eye.h>
#include <ATen/ops/stack.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;

at::Tensor etf(int64_t k, int64_t width, uint64_t seed = 7) {
  return test::load<Structure>("etf", "points = " + std::to_string(k))->points(width, Random(seed));
}

// Gram matrix of a simplex.
at::Tensor simplex(int64_t k) { return (k * at::eye(k, at::kDouble) - 1) / (k - 1.0); }

void check_simplex(int64_t k, int64_t width) {
  INFO(k << " points in " << width << " dimensions");
  const at::Tensor m = etf(k, width);
  CHECK(test::largest_difference(m.matmul(m.t()), simplex(k)) < 1e-12);
  CHECK(m.sum(0).norm().item<double>() < 1e-12);
}

TEST_CASE("etf is a simplex for every K up to width + 1") {
  for (const int64_t width : {1, 2, 8, 16})
    for (int64_t k = 2; k <= width + 1; ++k) check_simplex(k, width);
  for (const int64_t k : {2, 100, 127, 128, 129}) check_simplex(k, 128);
  check_simplex(365, 512);
  CHECK(test::load<Structure>("etf", "points = 5")->best_cosine(8) == Approx(-0.25));
}

// Largest | ‖row‖ − 1 |, smallest and largest cosine, largest | column sum |.
at::Tensor stats(const at::Tensor& m) {
  const int64_t k = m.size(0);
  const at::Tensor cosines = m.matmul(m.t()).masked_select(at::eye(k, at::kDouble).logical_not());
  return at::stack(
      {(m.norm(2, {1}) - 1).abs().max(), cosines.min(), cosines.max(), m.sum(0).abs().max()});
}

TEST_CASE("etf has the Gram matrix of the published generator wherever that is a simplex",
          "[parity]") {
  // It holds a published matrix, so it is not in this repository.
  const auto file = test::find_vector("gh_etf");
  if (!file) return;
  int compared = 0;
  for (const auto& [name, published] : file->tensors) {
    if (!name.ends_with("_M")) continue;
    const std::string prefix = name.substr(0, name.size() - 1);
    const int64_t k = published.size(0), width = published.size(1);
    INFO(prefix << ": " << k << " points in " << width << " dimensions");
    const at::Tensor m = etf(k, width, 3), gram = published.matmul(published.t());
    if (file->has(prefix + "gram"))
      CHECK(test::largest_difference(gram, file->at(prefix + "gram")) < 1e-12);
    if (file->has(prefix + "stats"))
      CHECK(test::largest_difference(stats(published), file->at(prefix + "stats")) < 1e-12);
    if (k > width) {  // the generator accepts K = d+1 but does not give a simplex
      CHECK(test::largest_difference(gram, simplex(k)) > 1e-3);
      continue;
    }
    CHECK(test::largest_difference(m.matmul(m.t()), gram) < 1e-12);
    CHECK(test::largest_difference(stats(m), stats(published)) < 1e-12);
    ++compared;
  }
  CHECK(compared >= 2);
}

TEST_CASE("etf depends on its random stream only") {
  auto etf = test::load<Structure>("etf", "points = 5");
  CHECK(etf->points(8, Random(1)).equal(etf->points(8, Random(1))));
  CHECK_FALSE(etf->points(8, Random(1)).equal(etf->points(8, Random(2))));
}

TEST_CASE("etf names the parameter when there are too many points") {
  auto etf = test::load<Structure>("etf", "points = 10");
  test::CollectedComplaints complaints;
  etf->check(8, complaints);
  CHECK(complaints.text.find("points: a simplex in 8 dimensions has at most 9") !=
        std::string::npos);
  CHECK_THROWS_AS(etf->points(8, Random(1)), Error);
  CHECK_THROWS_WITH(test::load<Structure>("etf", "points = 1"), Catch::Contains("points"));
}

}  // namespace
