#include "support/plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

TEST_CASE("orthogonal is the corners of the square in the plane") {
  const at::Tensor m = test::load<Structure>("orthogonal")->points(2, Random(0));
  const double h = 1 / std::sqrt(2.0);
  const double corners[4][2] = {{h, h}, {-h, -h}, {h, -h}, {-h, h}};
  for (int i = 0; i < 4; ++i)
    for (int d = 0; d < 2; ++d) CHECK(m[i][d].item<double>() == Approx(corners[i][d]));
}

TEST_CASE("orthogonal has cosines 1, 0 and -1 only and sums to zero") {
  for (const int64_t width : {1, 2, 3, 17}) {
    const at::Tensor m = test::load<Structure>("orthogonal")->points(width, Random(0));
    const at::Tensor gram = m.matmul(m.t());
    REQUIRE(m.size(0) == 2 * width);
    for (int64_t i = 0; i < 2 * width; ++i)
      for (int64_t j = 0; j < 2 * width; ++j)
        CHECK(gram[i][j].item<double>() == Approx(i == j           ? 1.0
                                                  : i / 2 == j / 2 ? -1.0
                                                                   : 0.0)
                                               .margin(1e-12));
    CHECK(m.sum(0).norm().item<double>() < 1e-12);
  }
}

}  // namespace
