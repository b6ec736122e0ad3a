// What is drawn follows the distributions of torchvision's transforms and of BCL's.
#include "data/view_draw.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;

constexpr int kDraws = 20000;

void each_draw(const ViewGroup& group, const ImageSize& picture, double weight,
               const std::function<void(const ViewDraw&)>& look) {
  for (int i = 0; i < kDraws; ++i) {
    Random random(stream_key(11, "test"), static_cast<uint64_t>(i));
    look(draw_view(group, picture, weight, random));
  }
}

// Kolmogorov-Smirnov: largest distance to the uniform distribution on low … high. At twenty
// thousand draws 0.0138 is exceeded once in a thousand.
double distance_to_uniform(std::vector<double> values, double low, double high) {
  std::sort(values.begin(), values.end());
  double largest = 0;
  const double n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = (values[i] - low) / (high - low);
    largest = std::max({largest, std::abs(expected - static_cast<double>(i) / n),
                        std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return largest;
}
// For fewer values the bound grows with the root of their number.
double bound(std::size_t n) { return 1.95 / std::sqrt(static_cast<double>(n)); }
#define CHECK_UNIFORM(values, low, high) \
  CHECK(distance_to_uniform(values, low, high) < bound(values.size()))

ViewGroup random_resized(double low, double high) {
  ViewGroup group;
  group.size = 32;
  group.crop = {
      .kind = CropPlan::Kind::random_resized, .scale = {low, high}, .ratio = {0.75, 4 / 3.0}};
  return group;
}

TEST_CASE("crops have uniform area, log-uniform shape and uniform place") {
  // Large and not nearly filled: rounding and refused tries do not show.
  std::vector<double> area, shape, top, left;
  each_draw(random_resized(0.1, 0.5), {4000, 4000}, 0, [&](const ViewDraw& d) {
    REQUIRE((d.crop.top >= 0 && d.crop.top + d.crop.height <= 4000));
    REQUIRE((d.crop.left >= 0 && d.crop.left + d.crop.width <= 4000));
    area.push_back(d.crop.height * d.crop.width / 16e6);
    shape.push_back(std::log(static_cast<double>(d.crop.width) / d.crop.height));
    top.push_back((d.crop.top + 0.5) / (4000 - d.crop.height + 1));
    left.push_back((d.crop.left + 0.5) / (4000 - d.crop.width + 1));
  });
  CHECK_UNIFORM(area, 0.1, 0.5);
  CHECK_UNIFORM(shape, std::log(0.75), std::log(4 / 3.0));
  CHECK_UNIFORM(top, 0, 1);
  CHECK_UNIFORM(left, 0, 1);
}

TEST_CASE("crops reach every edge") {
  std::map<std::pair<int, int>, int> places;
  each_draw(random_resized(0.4, 0.5), {3, 3}, 0, [&](const ViewDraw& d) {
    if (d.crop.height == 2 && d.crop.width == 2) ++places[{d.crop.top, d.crop.left}];
  });
  CHECK(places.size() == 4);
}

TEST_CASE("crops of a picture too long for any try are its middle") {
  each_draw(random_resized(0.9, 1.0), {30, 3000}, 0, [](const ViewDraw& d) {
    REQUIRE(d.crop == Box{0, 1480, 30, 40});
  });
  each_draw(random_resized(0.9, 1.0), {3000, 30}, 0, [](const ViewDraw& d) {
    REQUIRE(d.crop == Box{1480, 0, 40, 30});
  });
  each_draw(random_resized(0.1, 1.0), {1, 1}, 0, [](const ViewDraw& d) {
    REQUIRE(d.crop == Box{0, 0, 1, 1});
  });
}

TEST_CASE("operations happen as often as asked, with factors from their ranges") {
  ViewGroup group;
  group.size = 32;
  group.flip = 0.5;
  group.jitter = {.p = 0.8, .brightness = 0.4, .contrast = 0.3, .saturation = 1.5, .hue = 0.1};
  group.grayscale = 0.2;
  group.blur = {.p = 0.5, .sigma = {0.1, 2.0}};
  group.solarize = {.p = 0.1, .threshold = 128};
  std::map<std::string, int> count;
  std::map<std::array<int, 4>, int> orders;
  std::vector<double> brightness, contrast, saturation, hue, sigma;
  each_draw(group, {32, 32}, 0, [&](const ViewDraw& d) {
    count["flip"] += d.mirror;
    count["jitter"] += d.jitter;
    count["grey"] += d.grayscale;
    count["blur"] += d.blur_sigma > 0;
    count["solarize"] += d.solarize;
    if (d.blur_sigma > 0) sigma.push_back(d.blur_sigma);
    if (!d.jitter) return;
    ++orders[d.jitter_order];
    brightness.push_back(d.jitter_factor[0]);
    contrast.push_back(d.jitter_factor[1]);
    saturation.push_back(d.jitter_factor[2]);
    hue.push_back(d.jitter_factor[3]);
  });
  const auto share = [&](const char* what) { return count[what] / static_cast<double>(kDraws); };
  CHECK(share("flip") == Approx(0.5).margin(0.012));
  CHECK(share("jitter") == Approx(0.8).margin(0.01));
  CHECK(share("grey") == Approx(0.2).margin(0.01));
  CHECK(share("blur") == Approx(0.5).margin(0.012));
  CHECK(share("solarize") == Approx(0.1).margin(0.008));
  CHECK_UNIFORM(brightness, 0.6, 1.4);
  CHECK_UNIFORM(contrast, 0.7, 1.3);
  CHECK_UNIFORM(saturation, 0, 2.5);  // never negative
  CHECK_UNIFORM(hue, -0.1, 0.1);
  CHECK_UNIFORM(sigma, 0.1, 2.0);
  CHECK(orders.size() == 24);
  double chi = 0;  // 23 degrees of freedom: above 49.7 once in a thousand
  const double expected = static_cast<double>(brightness.size()) / 24;
  for (const auto& [order, n] : orders) chi += (n - expected) * (n - expected) / expected;
  CHECK(chi < 49.7);
}

TEST_CASE("the padded square is cut anywhere") {
  ViewGroup group;
  group.size = 32;
  group.crop = {.kind = CropPlan::Kind::pad, .padding = 4};
  std::map<std::pair<int, int>, int> places;
  each_draw(group, {32, 32}, 0, [&](const ViewDraw& d) { ++places[{d.shift_y, d.shift_x}]; });
  CHECK(places.size() == 81);
  CHECK((places.begin()->first == std::pair(-4, -4) && places.rbegin()->first == std::pair(4, 4)));
}

TEST_CASE("boosted operations are as likely and as strong as the weight says") {
  ViewGroup group;
  group.size = 32;
  group.boost = {.ops = 1, .strength = {10, 30}, .by_weight = true, .uniform = false};
  each_draw(group, {32, 32}, 0, [](const ViewDraw& d) { REQUIRE(d.boosted_count == 0); });
  std::map<BoostedOp, int> ops;
  int negative = 0, geometric = 0;
  each_draw(group, {32, 32}, 0.5, [&](const ViewDraw& d) {
    if (d.boosted_count == 0) return;
    const ViewDraw::Boosted& b = d.boosted[0];
    ++ops[b.op];
    REQUIRE(std::abs(b.value) == Approx(boosted_value(b.op, 20)));
    geometric += is_geometric(b.op);
    negative += b.value < 0;
    if (b.op == BoostedOp::cutout) REQUIRE((b.centre_x >= 1 && b.centre_x < 32));
  });
  int all = 0;
  for (const auto& [op, n] : ops) all += n;
  CHECK(ops.size() == 15);
  CHECK(all / static_cast<double>(kDraws) == Approx(0.5).margin(0.012));
  CHECK(negative / static_cast<double>(geometric) == Approx(0.5).margin(0.03));

  group.boost = {.ops = 2, .strength = {5, 30}, .by_weight = false, .uniform = true};
  std::vector<double> share;
  each_draw(group, {32, 32}, 0.8, [&](const ViewDraw& d) {
    REQUIRE(d.boosted_count == 2);
    // Rotation by 2 degrees a unit of strength gives the strength away.
    for (int i = 0; i < 2; ++i)
      if (d.boosted[i].op == BoostedOp::rotate)
        share.push_back((std::abs(d.boosted[i].value) / 2 - 5) / 25);
  });
  CHECK_UNIFORM(share, 0, 0.8);
}

TEST_CASE("cut-out fills a square around a point of the view") {
  ViewGroup group;
  group.size = 32;
  group.cutout = {.p = 0.25, .side = 0.5, .fill = {}};
  int happened = 0, whole = 0;
  each_draw(group, {32, 32}, 0, [&](const ViewDraw& d) {
    if (d.cutout.height == 0) return;
    ++happened;
    whole += d.cutout.height == 16 && d.cutout.width == 16;
    REQUIRE((d.cutout.top >= 0 && d.cutout.top + d.cutout.height <= 32));
    REQUIRE((d.cutout.height >= 8 && d.cutout.height <= 16));
  });
  CHECK(happened / static_cast<double>(kDraws) == Approx(0.25).margin(0.01));
  // Of 32 centres along a side, 17 leave the square whole.
  CHECK(whole / static_cast<double>(happened) == Approx(17 * 17 / 1024.0).margin(0.025));
}

TEST_CASE("the part to decode is the smallest box around all crops") {
  CHECK(around({2, 3, 4, 5}, {1, 6, 2, 9}) == Box{1, 3, 5, 12});
  CHECK(around({2, 3, 4, 5}, {3, 4, 1, 1}) == Box{2, 3, 4, 5});
}

}  // namespace
