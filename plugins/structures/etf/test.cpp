#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

TEST_CASE("etf is a simplex for every K up to width + 1") {
  for (const int64_t width : {1, 2, 8, 16}) {
    for (int64_t k = 2; k <= width + 1; ++k) {
      auto etf = test::load<Structure>("etf", "points = " + std::to_string(k));
      const at::Tensor m = etf->points(width, Random(7));
      const at::Tensor gram = m.matmul(m.t());
      INFO(k << " points in " << width << " dimensions");
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < k; ++j)
          CHECK(gram[i][j].item<double>() == Approx(i == j ? 1.0 : -1.0 / (k - 1.0)).margin(1e-12));
      CHECK(m.sum(0).norm().item<double>() < 1e-12);
      CHECK(etf->best_cosine(width) == Approx(-1.0 / (k - 1.0)));
    }
  }
}

TEST_CASE("etf has the Gram matrix of the published generator wherever that is a simplex",
          "[parity]") {
  const auto file =
      test::find_vector("gh_etf");  // holds a published matrix, so it is not in this repository
  if (!file) return;
  int compared = 0;
  for (int i = 0; file->has("case" + std::to_string(i) + "_M"); ++i) {
    const std::string name = "case" + std::to_string(i);
    const int64_t k = file->at(name + "_M").size(0), width = file->at(name + "_M").size(1);
    if (k > width) continue;  // the generator accepts K = d+1 but does not give a simplex
    const at::Tensor m =
        test::load<Structure>("etf", "points = " + std::to_string(k))->points(width, Random(3));
    CHECK(test::largest_difference(m.matmul(m.t()), file->at(name + "_gram")) < 1e-12);
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
