#include "pointwise.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

int64_t cut(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
int64_t up(int64_t n, int64_t step) { return cut(n, step) * step; }

at::Tensor room(int64_t floats) { return at::empty({floats}, at::kFloat); }

// Distance between panels: an odd number of lines, as multiples of a power of two would put all
// panels of a row into one set of a cache.
int64_t apart(int64_t rows, int64_t width) {
  return rows * width + (rows * width / 16 + 1) % 2 * 16;
}

// The pixels of the output, and where they lie: in the output, one after the other, or in the data,
// from which a stride of more than one takes some.
struct Places {
  PointwiseShape shape;
  bool of_data;

  bool strided() const { return of_data && shape.stride > 1; }
  int64_t channels() const { return of_data ? shape.in : shape.out; }

  template <class Float>
  std::vector<Float*> find(Float* base, int64_t first, int64_t count) const {
    const int64_t columns = shape.out_width(), lines = shape.out_height();
    std::vector<Float*> places(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t pixel = first + i;
      if (strided()) {
        const int64_t line = pixel / columns, image = line / lines;
        pixel = (image * shape.height + line % lines * shape.stride) * shape.width +
                pixel % columns * shape.stride;
      }
      places[i] = base + pixel * channels();
    }
    return places;
  }
  // Sets what the stride leaves out around such a pixel to zero.
  void clear_around(float* place, int64_t pixel) const {
    const int64_t columns = shape.out_width(), lines = shape.out_height();
    const int64_t row = pixel / columns % lines * shape.stride;
    const int64_t column = pixel % columns * shape.stride;
    const int64_t height = std::min(shape.stride, shape.height - row);
    const int64_t width = std::min(shape.stride, shape.width - column);
    for (int64_t r = 0; r < height; ++r) {
      float* const line = place + r * shape.width * shape.in;
      std::fill(line + (r == 0 ? shape.in : 0), line + width * shape.in, 0.0f);
    }
  }
};

// to = from · right, pixel by pixel, with right packed.
struct Product {
  const PointwiseKernels& kernels;
  Places from, to;

  int64_t depth() const { return from.channels(); }
  int64_t columns() const { return to.channels(); }
  int64_t panels() const { return cut(columns(), kernels.wide); }

  // A piece is some pixels, read from memory once and then from a core's own cache; the right
  // factors, for all of them, come from the cache that is shared. Each result is one sum in the
  // order of depth.
  void run(const float* left, const float* right, float* out) const {
    const int64_t pixels = from.shape.pixels(), threads = at::get_num_threads();
    const int64_t most = std::clamp<int64_t>(65536 / depth(), 48, 240);
    const int64_t pieces = std::min(pixels, up(cut(pixels, most), threads));
    const int64_t each = cut(pixels, pieces);
    ops::parallel_pieces(cut(pixels, each), threads, [&](int64_t piece, int64_t) {
      const int64_t first = piece * each, count = std::min(each, pixels - first);
      const std::vector<const float*> rows = from.find(left, first, count);
      const std::vector<float*> results = to.find(out, first, count);
      for (int64_t p = 0; p < panels(); ++p)
        kernels.product({.from = rows.data(),
                         .right = right + p * depth() * kernels.wide,
                         .to = results.data(),
                         .column = p * kernels.wide,
                         .rows = count,
                         .depth = depth(),
                         .columns = std::min(kernels.wide, columns() - p * kernels.wide)});
      if (to.strided())
        for (int64_t i = 0; i < count; ++i) to.clear_around(results[i], first + i);
    });
  }
};

// One factor of a sum over pixels: some columns of some rows. Panels are read where they are where
// rows are short: of long ones, whose columns would meet in a few sets of the first cache, they are
// packed. So is a last panel that columns do not fill, as nothing beyond them may be read.
class Factor {
 public:
  static int64_t floats(int64_t rows, int64_t columns, int64_t width) {
    return cut(columns, width) * apart(rows, width);
  }
  Factor(const PointwiseKernels& kernels, std::vector<const float*> rows, int64_t row_size,
         int64_t columns, int64_t width, float* room)
      : rows_(std::move(rows)),
        in_place_(row_size <= 512 ? columns / width * width : 0),
        width_(width),
        panel_(apart(static_cast<int64_t>(rows_.size()), width)) {
    if (in_place_ == columns) return;
    const int64_t count = static_cast<int64_t>(rows_.size());
    kernels.pack({rows_.data(), in_place_}, count, columns - in_place_, width, panel_, room);
    for (int64_t i = 0; i < count; ++i) packed_.push_back(room + i * width);
  }
  PointwiseColumns panel(int64_t first) const {
    if (first < in_place_) return {rows_.data(), first};
    return {packed_.data(), (first - in_place_) / width_ * panel_};
  }

 private:
  std::vector<const float*> rows_, packed_;
  int64_t in_place_, width_, panel_;
};

}  // namespace

void Pointwise::output(const float* data, const float* weights, float* output) const {
  const Product product{kernels_, {shape_, true}, {shape_, false}};
  const int64_t wide = kernels_.wide;
  const at::Tensor packed = room(product.panels() * wide * shape_.in);
  ops::parallel_indices(product.panels(), [&](int64_t panel) {
    kernels_.pack_turned(weights + panel * wide * shape_.in,
                         std::min(wide, shape_.out - panel * wide), shape_.in,
                         packed.data_ptr<float>() + panel * wide * shape_.in);
  });
  product.run(data, packed.const_data_ptr<float>(), output);
}

void Pointwise::data_gradient(const float* gradient, const float* weights, float* data) const {
  const Product product{kernels_, {shape_, false}, {shape_, true}};
  const int64_t wide = kernels_.wide;
  const at::Tensor packed = room(product.panels() * wide * shape_.out);
  ops::parallel_indices(product.panels(), [&](int64_t panel) {
    std::vector<const float*> rows(shape_.out);
    for (int64_t i = 0; i < shape_.out; ++i) rows[i] = weights + i * shape_.in + panel * wide;
    kernels_.pack({rows.data(), 0}, shape_.out, std::min(wide, shape_.in - panel * wide), wide, 0,
                  packed.data_ptr<float>() + panel * wide * shape_.out);
  });
  product.run(gradient, packed.const_data_ptr<float>(), data);
}

// A sum over pixels; which of them are added to which sum depends on the shape alone. A piece is up
// to 2^16 weights, whose sums stay in a core's cache, for a share of the pixels, of which it takes
// some at a time. For few channels there are several shares, whose sums are added up in order.
void Pointwise::weight_gradient(const float* data, const float* gradient, float* weights) const {
  constexpr int64_t kSide = 512, kRows = 96, kFew = 1 << 16;
  const int64_t threads = at::get_num_threads(), pixels = shape_.pixels();
  const int64_t in = shape_.in, out = shape_.out, wide = kernels_.outer_wide;
  const int64_t shares = in * out <= kFew       ? std::clamp<int64_t>(pixels / 768, 1, 8)
                         : in * out <= 2 * kFew ? std::clamp<int64_t>(pixels / 768, 1, 2)
                                                : 1;
  const int64_t share = cut(pixels, shares), chunk = cut(share, cut(share, kRows));
  int64_t height = std::min(kSide, up(out, kPointwisePanel)), width = std::min(kSide, up(in, wide));
  const auto groups = [&] { return cut(out, height) * cut(in, width); };
  while ((shares * groups() < threads || height * width > kFew) &&
         (height > kPointwisePanel || width > wide)) {
    if (height > kPointwisePanel && (height >= width || width <= wide))
      height = up(cut(height, 2), kPointwisePanel);
    else
      width = up(cut(width, 2), wide);
  }
  const at::Tensor kept = room(shares > 1 ? shares * out * in : 0);
  const int64_t left_floats = Factor::floats(chunk, height, kPointwisePanel);
  const int64_t floats = left_floats + Factor::floats(chunk, width, wide);
  const at::Tensor rooms = room(threads * floats);
  const Places data_places{shape_, true}, gradient_places{shape_, false};
  ops::parallel_pieces(shares * groups(), threads, [&](int64_t piece, int64_t worker) {
    const int64_t group = piece % groups(), number = piece / groups();
    const int64_t top = group / cut(in, width) * height, bottom = std::min(out, top + height);
    const int64_t begin = group % cut(in, width) * width, end = std::min(in, begin + width);
    float* const sums = shares > 1 ? kept.data_ptr<float>() + number * out * in : weights;
    float* const room = rooms.data_ptr<float>() + worker * floats;
    const int64_t from = number * share, to = std::min(pixels, from + share);
    for (int64_t first = from; first < to; first += chunk) {
      const int64_t count = std::min(chunk, to - first);
      const Factor left(kernels_, gradient_places.find(gradient + top, first, count), out,
                        bottom - top, kPointwisePanel, room);
      const Factor right(kernels_, data_places.find(data + begin, first, count), in * shape_.stride,
                         end - begin, wide, room + left_floats);
      for (int64_t c = begin; c < end; c += wide)
        for (int64_t k = top; k < bottom; k += kPointwisePanel)
          kernels_.outer({.left = left.panel(k - top),
                          .right = right.panel(c - begin),
                          .sums = sums + k * in + c,
                          .step = in,
                          .rows = count,
                          .height = std::min(kPointwisePanel, bottom - k),
                          .columns = std::min(wide, end - c),
                          .add = first > from});
    }
  });
  if (shares == 1) return;
  ops::parallel_indices(out, [&](int64_t k) {
    float* const sums = weights + k * in;
    for (int64_t s = 0; s < shares; ++s) {
      const float* const part = kept.const_data_ptr<float>() + (s * out + k) * in;
      for (int64_t c = 0; c < in; ++c) sums[c] = s == 0 ? part[c] : sums[c] + part[c];
    }
  });
}

}  // namespace v1
}  // namespace gh
