// Compared bit for bit with Pillow, so: the precision of each step is Pillow's, products and sums
// round one after the other (-ffp-contract=off where there is fused multiply-add), and where an
// integer formula provably gives the same byte it is used instead.
#include "image/boosted_ops.hpp"

#include "image/colour.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

namespace gh::host {
namespace {

struct Entry {
  std::string_view name;
  double low, high;
};

constexpr std::array<Entry, kBoostedOps> kEntries = {{{"ShearX", 0, 0.6},
                                                      {"ShearY", 0, 0.6},
                                                      {"TranslateX", 0, 0.66},
                                                      {"TranslateY", 0, 0.66},
                                                      {"Rotate", 0, 60},
                                                      {"AutoContrast", 0, 1},
                                                      {"Invert", 0, 1},
                                                      {"Equalize", 0, 1},
                                                      {"Solarize", 0, 110},
                                                      {"Posterize", 4, 8},
                                                      {"Contrast", 0.1, 1.9},
                                                      {"Color", 0.1, 1.9},
                                                      {"Brightness", 0.1, 1.9},
                                                      {"Sharpness", 0.1, 1.9},
                                                      {"Cutout", 0, 0.4}}};

// Makes `scratch` fit to take the image's place: as large, with the same slack behind.
void fit(const PlanarImage& image, PlanarImage& scratch) {
  scratch.resize(image.height, image.width);
  if (scratch.pixels.size() < image.pixels.size()) scratch.pixels.resize(image.pixels.size());
}

// ---- geometry: nearest neighbour, black outside -------------------------------------------------

// Where output pixel (x, y) comes from: (xx·x + xy·y + x0, yx·x + yy·y + y0), in pixel units, whose
// centres lie at one half.
struct Affine {
  double xx, xy, x0, yx, yy, y0;
};

struct Range {
  int first = 0, end = 0;
};

// The i in 0 … n−1 for which 0 ≤ start + i·step < limit; they are consecutive.
Range inside(int64_t start, int64_t step, int64_t limit, int n) {
  if (step == 0) return start >= 0 && start < limit ? Range{0, n} : Range{};
  if (step < 0) {  // mirrored
    start = limit - 1 - start;
    step = -step;
  }
  const auto divide_up = [step](int64_t a) { return a > 0 ? (a + step - 1) / step : a / step; };
  const int64_t first = std::clamp<int64_t>(divide_up(-start), 0, n);
  const int64_t end = std::clamp<int64_t>(divide_up(limit - start), first, n);
  return {static_cast<int>(first), static_cast<int>(end)};
}

int64_t fixed_point(double v) { return static_cast<int64_t>(std::floor(v * 65536.0 + 0.5)); }

// Pillow's affine transform in 16.16 fixed point. (With sides beyond 32,767 Pillow would change to
// floating point; this does not.)
void transform(const Affine& map, PlanarImage& image, PlanarImage& scratch) {
  const int w = image.width, h = image.height;
  fit(image, scratch);
  const int64_t step_x = fixed_point(map.xx), step_y = fixed_point(map.yx);
  const int64_t row_x = fixed_point(map.xy), row_y = fixed_point(map.yy);
  int64_t start_x = fixed_point(map.x0 + map.xx * 0.5 + map.xy * 0.5);
  int64_t start_y = fixed_point(map.y0 + map.yx * 0.5 + map.yy * 0.5);
  const std::array<const uint8_t*, 3> in = {image.plane(0), image.plane(1), image.plane(2)};

  for (int y = 0; y < h; ++y, start_x += row_x, start_y += row_y) {
    const Range by_x = inside(start_x, step_x, int64_t{w} << 16, w);
    const Range by_y = inside(start_y, step_y, int64_t{h} << 16, w);
    const int first = std::max(by_x.first, by_y.first);
    const int end = std::max(first, std::min(by_x.end, by_y.end));
    std::array<uint8_t*, 3> out;
    for (int c = 0; c < 3; ++c) {
      out[c] = scratch.plane(c) + std::size_t(y) * w;
      std::memset(out[c], 0, first);
      std::memset(out[c] + end, 0, w - end);
    }
    if (first == end) continue;
    int64_t xx = start_x + first * step_x, yy = start_y + first * step_y;
    if (step_x == 65536 && step_y == 0) {  // a piece of one row
      for (int c = 0; c < 3; ++c)
        std::memcpy(out[c] + first, in[c] + (yy >> 16) * w + (xx >> 16), end - first);
      continue;
    }
    for (int x = first; x < end; ++x, xx += step_x, yy += step_y) {
      const int64_t from = (yy >> 16) * w + (xx >> 16);
      out[0][x] = in[0][from];
      out[1][x] = in[1][from];
      out[2][x] = in[2][from];
    }
  }
  std::swap(image, scratch);
}

// Moves the image by `shift` along an axis of `n` elements of `bytes` each: pixels of a row, or
// rows of a plane. Pillow steps through positions in double precision, one addition an element;
// taking the same steps, runs of neighbours are found and copied whole.
void translate(double shift, int n, std::size_t bytes, PlanarImage& image, PlanarImage& scratch) {
  fit(image, scratch);
  const std::size_t total = 3 * image.area();
  std::memset(scratch.pixels.data(), 0, total);
  const auto copy = [&](int to, int from, int length) {
    for (std::size_t line = 0; line < total; line += n * bytes)
      std::memcpy(scratch.pixels.data() + line + to * bytes,
                  image.pixels.data() + line + from * bytes, length * bytes);
  };
  double position = shift + 0.5;
  int to = 0, from = 0, length = 0;  // of the run so far
  for (int i = 0; i < n; ++i, position += 1.0) {
    if (!(position >= 0 && position < n)) continue;
    const int source = static_cast<int>(position);
    if (length > 0 && source == from + length) {
      ++length;
      continue;
    }
    copy(to, from, length);
    to = i;
    from = source;
    length = 1;
  }
  copy(to, from, length);
  std::swap(image, scratch);
}

// As Python's round(x, 15), which Pillow applies to sine and cosine.
double round_to_15_decimals(double x) {
  std::array<char, 32> text;
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::fixed, 15);
  std::from_chars(text.data(), written.ptr, x);
  return x;
}

// Counter-clockwise about the middle.
void rotate(double degrees, PlanarImage& image, PlanarImage& scratch) {
  double angle = std::fmod(degrees, 360.0);
  if (angle < 0) angle += 360.0;
  if (angle == 0) return;
  angle = -(angle * (std::numbers::pi / 180.0));
  const double cosine = round_to_15_decimals(std::cos(angle));
  const double sine = round_to_15_decimals(std::sin(angle));
  const double middle_x = image.width / 2.0, middle_y = image.height / 2.0;
  const double x0 = cosine * -middle_x + sine * -middle_y;
  const double y0 = -sine * -middle_x + cosine * -middle_y;
  transform({cosine, sine, x0 + middle_x, -sine, cosine, y0 + middle_y}, image, scratch);
}

// ---- tables by histogram ------------------------------------------------------------------------

using Table = std::array<uint8_t, 256>;

std::array<int64_t, 256> histogram(const uint8_t* plane, std::size_t n) {
  std::array<int64_t, 256> counts{};
  for (std::size_t i = 0; i < n; ++i) ++counts[plane[i]];
  return counts;
}

void look_up(const Table& table, uint8_t* plane, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) plane[i] = table[plane[i]];
}

// Darkest value to 0, lightest to 255, each channel by itself.
void stretch(uint8_t* plane, std::size_t n) {
  int low = 255, high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    low = std::min<int>(low, plane[i]);
    high = std::max<int>(high, plane[i]);
  }
  if (high <= low) return;
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  Table table;
  for (int i = 0; i < 256; ++i)
    table[i] = static_cast<uint8_t>(std::clamp(static_cast<int>(i * scale + offset), 0, 255));
  look_up(table, plane, n);
}

void equalize(uint8_t* plane, std::size_t n) {
  const auto counts = histogram(plane, n);
  const auto lightest = std::find_if(counts.rbegin(), counts.rend(), [](int64_t c) { return c; });
  const int64_t step = (static_cast<int64_t>(n) - *lightest) / 255;
  if (step == 0) return;  // one value only, or too few pixels to spread
  Table table;
  int64_t below = step / 2;
  for (int i = 0; i < 256; below += counts[i++])
    table[i] = static_cast<uint8_t>(std::min<int64_t>(below / step, 255));
  look_up(table, plane, n);
}

// Blends with the image smoothed by 1/13·[1 1 1; 1 5 1; 1 1 1]. Pillow sums in single precision;
// as 13 is odd, no sum lies within 1/26 of where rounding turns, so integers give the same byte.
// Borders stay as they are.
void sharpness(float factor, PlanarImage& image, PlanarImage& scratch) {
  const int w = image.width, h = image.height;
  fit(image, scratch);
  for (int c = 0; c < 3; ++c) {
    const uint8_t* in = image.plane(c);
    uint8_t* out = scratch.plane(c);
    std::memcpy(out, in, w);
    for (int y = 1; y < h - 1; ++y) {
      const uint8_t* row = in + std::size_t(y) * w;
      const uint8_t *above = row - w, *below = row + w;
      uint8_t* to = out + std::size_t(y) * w;
      to[0] = row[0];
      to[w - 1] = row[w - 1];
      for (int x = 1; x < w - 1; ++x) {
        const int sum = above[x - 1] + above[x] + above[x + 1] + row[x - 1] + 5 * row[x] +
                        row[x + 1] + below[x - 1] + below[x] + below[x + 1];
        const int smooth = (2 * sum + 13) / 26;
        const float sharp =
            static_cast<float>(smooth) + factor * static_cast<float>(row[x] - smooth);
        to[x] = static_cast<uint8_t>(std::clamp(static_cast<int>(sharp), 0, 255));
      }
    }
    std::memcpy(out + std::size_t(h - 1) * w, in + std::size_t(h - 1) * w, w);
  }
  std::swap(image, scratch);
}

// A grey square with sides of `value` image widths; right and bottom edges are drawn too.
void cut_out(double value, double centre_x, double centre_y, PlanarImage& image) {
  if (value <= 0) return;
  constexpr std::array<int, 3> kFill = {125, 123, 114};
  const int w = image.width, h = image.height;
  const double side = value * w;
  const int left = static_cast<int>(std::max(0.0, centre_x - side / 2));
  const int top = static_cast<int>(std::max(0.0, centre_y - side / 2));
  const int right = std::min(w - 1, static_cast<int>(std::min<double>(w, left + side)));
  const int bottom = std::min(h - 1, static_cast<int>(std::min<double>(h, top + side)));
  if (right < left) return;
  for (int c = 0; c < 3; ++c)
    for (int y = top; y <= bottom; ++y)
      std::memset(image.plane(c) + std::size_t(y) * w + left, kFill[c], right - left + 1);
}

}  // namespace

std::string_view name_of(BoostedOp op) { return kEntries.at(static_cast<std::size_t>(op)).name; }

bool is_geometric(BoostedOp op) { return op <= BoostedOp::rotate; }

double boosted_value(BoostedOp op, double strength) {
  const Entry& entry = kEntries.at(static_cast<std::size_t>(op));
  return entry.low + strength / 30 * (entry.high - entry.low);
}

void apply_boosted(BoostedOp op, double value, double centre_x, double centre_y, PlanarImage& image,
                   PlanarImage& scratch) {
  const std::size_t n = image.area();
  if (n == 0) return;
  uint8_t* const first = image.plane(0);
  switch (op) {
    case BoostedOp::shear_x:
      return transform({1, value, 0, 0, 1, 0}, image, scratch);
    case BoostedOp::shear_y:
      return transform({1, 0, 0, value, 1, 0}, image, scratch);
    case BoostedOp::translate_x:
      return translate(value * image.width, image.width, 1, image, scratch);
    case BoostedOp::translate_y:
      return translate(value * image.height, image.height, image.width, image, scratch);
    case BoostedOp::rotate:
      return rotate(value, image, scratch);
    case BoostedOp::auto_contrast:
      for (int c = 0; c < 3; ++c) stretch(image.plane(c), n);
      return;
    case BoostedOp::invert:
      for (std::size_t i = 0; i < 3 * n; ++i) first[i] = 255 - first[i];
      return;
    case BoostedOp::equalize:
      for (int c = 0; c < 3; ++c) equalize(image.plane(c), n);
      return;
    case BoostedOp::solarize:
      return solarize(image, static_cast<int>(std::ceil(value)));
    case BoostedOp::posterize: {
      const auto mask = static_cast<uint8_t>(0xff00 >> std::clamp(static_cast<int>(value), 1, 8));
      for (std::size_t i = 0; i < 3 * n; ++i) first[i] &= mask;
      return;
    }
    case BoostedOp::contrast:
      return adjust_contrast(image, value);
    case BoostedOp::color:
      return adjust_saturation(image, value);
    case BoostedOp::brightness:
      return adjust_brightness(image, value);
    case BoostedOp::sharpness:
      return sharpness(static_cast<float>(value), image, scratch);
    case BoostedOp::cutout:
      return cut_out(value, centre_x, centre_y, image);
  }
}

}  // namespace gh::host
