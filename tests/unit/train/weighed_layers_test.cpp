#include "train/weighed_layers.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

using namespace gh::host;
using Catch::Contains;

TEST_CASE("the first layer that does not fit is refused before it is made") {
  gh::Random random(1);
  // 4800 bytes, and twice as many while they are drawn.
  WeighedLayers layers(gh::standard_layers(), 15000);
  CHECK(layers.linear({.in = 30, .out = 40}, random) != nullptr);
  CHECK(layers.convolution({.in = 2, .out = 4}, random) != nullptr);
  CHECK(layers.refusal() == "");
  CHECK_THROWS_AS(layers.linear({.in = 30, .out = 40}, random), gh::Error);
  CHECK_THAT(layers.refusal(), Contains("to draw their weights") && Contains("available"));
  // Nothing of these could be made on any machine.
  WeighedLayers wide(gh::standard_layers(), (int64_t{1} << 30));
  CHECK_THROWS_AS(wide.linear({.in = int64_t{1} << 40, .out = int64_t{1} << 40}, random),
                  gh::Error);
}
