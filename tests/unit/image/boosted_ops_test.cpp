#include "image/boosted_ops.hpp"
#include "planes.hpp"
#include "support/vectors.hpp"

#include "gh/digest.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <utility>

namespace {

using namespace gh;
using host::BoostedOp;
using host::PlanarImage;

constexpr int kShapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 3}, {17, 40}, {40, 17}, {32, 32}};

PlanarImage picture(int height, int width) {
  PlanarImage image;
  image.resize(height, width);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        image.plane(c)[y * width + x] =
            static_cast<uint8_t>((7 * x + 13 * y + 61 * c + 3 * x * y) % 181 + 40 - 20 * c);
  return image;
}

PlanarImage constant(int height, int width, uint8_t red, uint8_t green, uint8_t blue) {
  PlanarImage image;
  image.resize(height, width);
  const uint8_t colour[] = {red, green, blue};
  for (int c = 0; c < 3; ++c) std::fill_n(image.plane(c), image.area(), colour[c]);
  return image;
}

PlanarImage applied(BoostedOp op, double value, PlanarImage image, double centre_x = 0,
                    double centre_y = 0) {
  // What scratch held before must not show.
  PlanarImage scratch = constant(50, 50, 1, 2, 3);
  host::apply_boosted(op, value, centre_x, centre_y, image, scratch);
  return image;
}

bool same(const PlanarImage& a, const PlanarImage& b) {
  return a.height == b.height && a.width == b.width &&
         std::equal(a.plane(0), a.plane(0) + 3 * a.area(), b.plane(0));
}

std::map<std::string, BoostedOp, std::less<>> ops_by_name() {
  std::map<std::string, BoostedOp, std::less<>> out;
  for (int i = 0; i < host::kBoostedOps; ++i)
    out.emplace(host::name_of(static_cast<BoostedOp>(i)), static_cast<BoostedOp>(i));
  return out;
}

TEST_CASE("names, order and values of boosted operations are the published ones", "[parity]") {
  const auto file = test::find_vector("bcl_ops");
  if (!file) return;
  std::string order;
  for (int i = 0; i < host::kBoostedOps; ++i)
    order += (i ? ", " : "") + std::string(host::name_of(static_cast<BoostedOp>(i)));
  CHECK(order == file->metadata.at("op_order"));
  const at::Tensor values = file->at("op_values"), strengths = file->at("strengths");
  REQUIRE(values.size(0) == host::kBoostedOps);
  for (int i = 0; i < host::kBoostedOps; ++i)
    for (int64_t j = 0; j < strengths.size(0); ++j)
      CHECK(host::boosted_value(static_cast<BoostedOp>(i), strengths[j].item<double>()) ==
            values[i][j].item<double>());
}

// Outputs are named [2_]Operation_sStrength[_pos|_neg].
TEST_CASE("boosted operations equal Pillow's bit for bit", "[parity]") {
  const auto file = test::find_vector("bcl_ops");
  if (!file) return;
  const auto ops = ops_by_name();
  const at::Tensor values = file->at("op_values"), centres = file->at("cutout_xy");
  std::map<double, int64_t> column;
  for (int64_t j = 0; j < file->at("strengths").size(0); ++j)
    column[file->at("strengths")[j].item<double>()] = j;
  std::map<std::string, int> compared;
  for (const auto& [output, expected] : file->tensors) {
    const bool second = output.starts_with("2_");
    const std::string name = output.substr(second ? 2 : 0);
    const auto op = ops.find(name.substr(0, name.find("_s")));
    if (op == ops.end()) continue;
    const bool geometric = name.ends_with("_pos") || name.ends_with("_neg");
    CHECK(geometric == host::is_geometric(op->second));
    const int64_t j = column.at(std::stod(name.substr(op->first.size() + 2)));
    const double value = values[static_cast<int>(op->second)][j].item<double>();
    PlanarImage image = test::planes(file->at(second ? "image2" : "image"));
    const PlanarImage result =
        applied(op->second, name.ends_with("_neg") ? -value : value, std::move(image),
                centres[j][0].item<double>(), centres[j][1].item<double>());
    INFO(output);
    CHECK(test::tensor(result).equal(expected));
    ++compared[op->first];
  }
  int total = 0;
  for (const auto& [name, count] : compared) total += count;
  CHECK(compared.size() == ops.size());
  // All but two images, strengths, values and centres.
  CHECK(total == static_cast<int>(file->tensors.size()) - 5);
}

TEST_CASE("boosted operations equal Pillow's on an image that is not square") {
  struct Case {
    BoostedOp op;
    double value;
    std::string digest;  // of the planes Pillow 12.3.0 gives
  };
  const Case cases[] = {
      {BoostedOp::shear_x, 0.43, "cfcdd3cd52ed8c29"},
      {BoostedOp::shear_x, -0.27, "58b84a145f607079"},
      {BoostedOp::shear_y, 0.31, "7a80e7a0c3c7b91d"},
      {BoostedOp::shear_y, -0.6, "585b69ee1bd3fcfe"},
      {BoostedOp::translate_x, 0.33, "f7ca1fa86ab3b95e"},
      {BoostedOp::translate_x, -0.1234, "434f9abf0c444970"},
      {BoostedOp::translate_y, 0.5, "ad9c906524b38387"},
      {BoostedOp::translate_y, -0.2, "c040204373b005e0"},
      {BoostedOp::rotate, 17.0, "4be17abc2d0afe20"},
      {BoostedOp::rotate, -60.0, "0411893e00131405"},
      // Half-way cases of the fixed point: the last bit of the angle, sine and cosine decides.
      {BoostedOp::rotate, -15.151224576715416, "4bc34742035feb4d"},
      {BoostedOp::rotate, -47.865076889844055, "fa8de5581e84fb66"},
      {BoostedOp::auto_contrast, 0, "0a3ee9f2cc5223ae"},
      {BoostedOp::invert, 0, "d037c88990a429f9"},
      {BoostedOp::equalize, 0, "eb72d959634025ac"},
      {BoostedOp::solarize, 63.4, "e33b4181b3ba19f4"},
      {BoostedOp::posterize, 5.9, "fe71d618fd26ca80"},
      {BoostedOp::contrast, 0.4, "8b679723ad8b43bb"},
      {BoostedOp::contrast, 1.63, "86b287ee8cad3b01"},
      {BoostedOp::color, 0.25, "793d0cc45e79d360"},
      {BoostedOp::color, 1.9, "054612dbbb593fea"},
      {BoostedOp::brightness, 0.77, "41b610289e750e32"},
      {BoostedOp::brightness, 1.21, "92a713afeade4066"},
      {BoostedOp::sharpness, 0.1, "eedd133670370874"},
      {BoostedOp::sharpness, 1.9, "5a825df1ddc0fba0"},
      {BoostedOp::cutout, 0.3, "e55088c263c57eb0"}};
  for (const Case& c : cases) {
    const PlanarImage result = applied(c.op, c.value, picture(23, 37), 30.7, 4.2);
    INFO(host::name_of(c.op) << " " << c.value);
    CHECK(Digest().add(std::span(result.pixels).first(3 * result.area())).hex().substr(0, 16) ==
          c.digest);
  }
}

// Where each output pixel comes from: (column, row) in 1/65536 pixels.
using Map = std::function<std::pair<int64_t, int64_t>(int, int)>;

PlanarImage by_the_pixel(const PlanarImage& image, const Map& map) {
  PlanarImage out = constant(image.height, image.width, 0, 0, 0);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width; ++x) {
        const auto [column, row] = map(x, y);
        if (column < 0 || row < 0 || column >> 16 >= image.width || row >> 16 >= image.height)
          continue;
        out.plane(c)[y * image.width + x] =
            image.plane(c)[(row >> 16) * image.width + (column >> 16)];
      }
  return out;
}

int64_t fixed(double v) { return std::llround(std::floor(v * 65536 + 0.5)); }

TEST_CASE("geometric operations equal a loop over pixels") {
  for (const auto& [h, w] : kShapes) {
    const PlanarImage image = picture(h, w);
    for (double strength = 1.5; strength <= 30; strength += 2.85)
      for (const int sign : {1, -1}) {
        const auto value = [&](BoostedOp op) { return sign * host::boosted_value(op, strength); };
        INFO(h << " x " << w << ", strength " << sign * strength);
        const double s = value(BoostedOp::shear_x);
        CHECK(same(
            applied(BoostedOp::shear_x, s, image), by_the_pixel(image, [&](int x, int y) {
              return std::pair{x * 65536 + y * fixed(s) + fixed(0.5 + s / 2), int64_t{y} * 65536};
            })));
        CHECK(same(
            applied(BoostedOp::shear_y, s, image), by_the_pixel(image, [&](int x, int y) {
              return std::pair{int64_t{x} * 65536, y * 65536 + x * fixed(s) + fixed(0.5 + s / 2)};
            })));
        const double t = value(BoostedOp::translate_x);
        CHECK(
            same(applied(BoostedOp::translate_x, t, image), by_the_pixel(image, [&](int x, int y) {
                   return std::pair{std::llround(std::floor(x + 0.5 + t * image.width)) * 65536L,
                                    y * 65536L};
                 })));
        CHECK(
            same(applied(BoostedOp::translate_y, t, image), by_the_pixel(image, [&](int x, int y) {
                   return std::pair{x * 65536L,
                                    std::llround(std::floor(y + 0.5 + t * image.height)) * 65536L};
                 })));
        const double a = value(BoostedOp::rotate) * 3.14159265358979323846 / 180;
        const double p = std::cos(a), q = std::sin(a), u = image.width / 2.0,
                     v = image.height / 2.0;
        CHECK(same(applied(BoostedOp::rotate, value(BoostedOp::rotate), image),
                   by_the_pixel(image, [&](int x, int y) {
                     return std::pair{
                         x * fixed(p) + y * fixed(-q) + fixed(u - p * u + q * v + p / 2 - q / 2),
                         x * fixed(q) + y * fixed(p) + fixed(v - q * u - p * v + q / 2 + p / 2)};
                   })));
      }
  }
}

TEST_CASE("strengths that mean no change change nothing") {
  for (const auto& [h, w] : kShapes) {
    const PlanarImage image = picture(h, w);
    for (int i = 0; i <= static_cast<int>(BoostedOp::rotate); ++i)
      for (const double nothing : {0.0, -0.0})
        CHECK(same(applied(static_cast<BoostedOp>(i), nothing, image), image));
    for (const auto op :
         {BoostedOp::contrast, BoostedOp::color, BoostedOp::brightness, BoostedOp::sharpness})
      CHECK(same(applied(op, host::boosted_value(op, 15), image), image));
    CHECK(same(applied(BoostedOp::posterize, host::boosted_value(BoostedOp::posterize, 30), image),
               image));
    CHECK(same(applied(BoostedOp::cutout, host::boosted_value(BoostedOp::cutout, 0), image, 1, 1),
               image));
  }
}

TEST_CASE("boosted operations take an image of one pixel") {
  const PlanarImage pixel = constant(1, 1, 200, 100, 50), black = constant(1, 1, 0, 0, 0);
  for (const int sign : {1, -1}) {
    CHECK(same(applied(BoostedOp::shear_x, sign * 0.6, pixel), pixel));
    CHECK(same(applied(BoostedOp::shear_y, sign * 0.6, pixel), pixel));
    CHECK(same(applied(BoostedOp::rotate, sign * 60.0, pixel), pixel));
    CHECK(same(applied(BoostedOp::translate_x, sign * 0.4, pixel), pixel));
    CHECK(same(applied(BoostedOp::translate_x, sign * 0.66, pixel), black));
    CHECK(same(applied(BoostedOp::translate_y, sign * 0.66, pixel), black));
  }
  CHECK(same(applied(BoostedOp::auto_contrast, 0, pixel), pixel));
  CHECK(same(applied(BoostedOp::equalize, 0, pixel), pixel));
  CHECK(same(applied(BoostedOp::sharpness, 1.9, pixel), pixel));
  CHECK(same(applied(BoostedOp::invert, 0, pixel), constant(1, 1, 55, 155, 205)));
  CHECK(same(applied(BoostedOp::solarize, 99.5, pixel), constant(1, 1, 55, 155, 50)));
  CHECK(same(applied(BoostedOp::posterize, 4.9, pixel), constant(1, 1, 192, 96, 48)));
  CHECK(same(applied(BoostedOp::brightness, 0.5, pixel), constant(1, 1, 100, 50, 25)));
  // Luma is 124 (59.8 + 58.7 + 5.7).
  CHECK(same(applied(BoostedOp::contrast, 0.5, pixel), constant(1, 1, 162, 112, 87)));
  CHECK(same(applied(BoostedOp::color, 1.5, pixel), constant(1, 1, 238, 88, 13)));
  CHECK(same(applied(BoostedOp::cutout, 0.4, pixel, 0.5, 0.5), constant(1, 1, 125, 123, 114)));
}

TEST_CASE("an image without contrast stays as it is") {
  for (const auto& [h, w] : kShapes) {
    const PlanarImage colour = constant(h, w, 17, 250, 3), grey = constant(h, w, 99, 99, 99);
    for (const auto op : {BoostedOp::auto_contrast, BoostedOp::equalize, BoostedOp::sharpness})
      for (const double value : {0.1, 1.9}) CHECK(same(applied(op, value, colour), colour));
    for (const auto op : {BoostedOp::contrast, BoostedOp::color})
      for (const double value : {0.1, 1.9}) CHECK(same(applied(op, value, grey), grey));
  }
}

TEST_CASE("equalizing keeps what is equally spread and spreads what is not") {
  PlanarImage even;
  even.resize(16, 48);  // every value three times
  for (std::size_t i = 0; i < 3 * even.area(); ++i) even.pixels[i] = static_cast<uint8_t>(i);
  CHECK(same(applied(BoostedOp::equalize, 0, even), even));
  PlanarImage halves;  // 510 dark pixels, 510 light: step 2, so dark 1/2 → 0, light 511/2 → 255
  halves.resize(4, 255);
  for (std::size_t i = 0; i < 3 * halves.area(); ++i)
    halves.pixels[i] = i % halves.area() < 510 ? 100 : 101;
  const PlanarImage spread = applied(BoostedOp::equalize, 0, halves);
  for (std::size_t i = 0; i < 3 * spread.area(); ++i)
    REQUIRE(spread.pixels[i] == (halves.pixels[i] == 100 ? 0 : 255));
}

TEST_CASE("auto-contrast stretches each channel to the whole range") {
  PlanarImage image = constant(2, 2, 0, 0, 0);
  const uint8_t values[] = {50, 101, 101, 67, 0, 255, 7, 9, 30, 30, 30, 31};
  const uint8_t stretched[] = {0, 255, 255, 85, 0, 255, 7, 9, 0, 0, 0, 255};
  std::copy(std::begin(values), std::end(values), image.pixels.begin());
  const PlanarImage result = applied(BoostedOp::auto_contrast, 0, image);
  for (int i = 0; i < 12; ++i) CHECK(int{result.pixels[i]} == int{stretched[i]});
}

TEST_CASE("cut-out stays inside the image") {
  for (const auto& [h, w] : kShapes)
    for (const double x : {0.0, 1.0, w / 2.0, double(w)})
      for (const double y : {0.0, 1.0, h / 2.0, double(h)}) {
        const PlanarImage image = picture(h, w);
        const PlanarImage result = applied(BoostedOp::cutout, 0.4, image, x, y);
        const double side = 0.4 * w;
        const int left = std::max(0, int(x - side / 2)), top = std::max(0, int(y - side / 2));
        for (int row = 0; row < h; ++row)
          for (int column = 0; column < w; ++column) {
            const bool cut = column >= left && row >= top && column <= int(left + side) &&
                             row <= int(top + side);
            const int at = row * w + column;
            CAPTURE(h, w, x, y, row, column);
            REQUIRE(int{result.plane(0)[at]} == (cut ? 125 : image.plane(0)[at]));
            REQUIRE(int{result.plane(2)[at]} == (cut ? 114 : image.plane(2)[at]));
          }
      }
}

TEST_CASE("slack behind the pixels survives operations that exchange buffers") {
  for (const auto op : {BoostedOp::shear_x, BoostedOp::translate_y, BoostedOp::sharpness}) {
    PlanarImage image = picture(8, 8), scratch;
    image.pixels.resize(3 * 64 + 32);
    host::apply_boosted(op, 0.5, 0, 0, image, scratch);
    CHECK(image.pixels.size() >= 3 * 64 + 32);
  }
}

}  // namespace
