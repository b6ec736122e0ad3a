#include "data/sample_set.hpp"
#include "support/plugin_fixture.hpp"

#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;

TEST_CASE("toy2d has four classes around (±1, ±1) with the spread asked for") {
  auto toy = test::load<Dataset>("toy2d", "per_class = 4000\nspread = 0.25");
  const host::SampleSet set = host::SampleSet::open(*toy.component, "train", 3, std::nullopt);
  REQUIRE(set.size() == 16000);
  const at::Tensor samples = at::from_blob(const_cast<float*>(set.vector(0)), {16000, 2});
  const double centres[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  for (int64_t c = 0; c < 4; ++c) {
    const at::Tensor x = samples.slice(0, c * 4000, (c + 1) * 4000).to(at::kDouble);
    for (int d = 0; d < 2; ++d) {
      CHECK(x.select(1, d).mean().item<double>() == Approx(centres[c][d]).margin(0.02));
      CHECK(x.select(1, d).std().item<double>() == Approx(0.25).margin(0.01));
    }
  }
}

TEST_CASE("toy2d is a function of seed and split") {
  auto toy = test::load<Dataset>("toy2d", "per_class = 10");
  const auto print = [&](std::string_view split, uint64_t seed) {
    return toy->open(split, seed)->fingerprint();
  };
  CHECK(print("train", 1) == print("train", 1));
  CHECK(print("train", 1) != print("train", 2));
  CHECK(print("train", 1) != print("test", 1));
  CHECK_THROWS_WITH(toy->open("validation", 0), Catch::Contains("train and test"));
}

}  // namespace
