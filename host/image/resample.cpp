#include "image/resample.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gh::host {
namespace {

constexpr int kFractionBits = 22;
constexpr int kSmall = 128;  // tables up to this size are kept for the life of the thread

double weight_at(Filter filter, double x) {
  x = std::abs(x);
  if (filter == Filter::bilinear) return x < 1 ? 1 - x : 0;
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << kFractionBits);
  return static_cast<int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

FilterTable::FilterTable(int in, int out, Filter filter) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = (filter == Filter::bilinear ? 1.0 : 2.0) * stretch;
  const std::size_t most_pairs = (static_cast<std::size_t>(std::ceil(support)) * 2 + 2) / 2;
  low_.assign(out * most_pairs, 0);
  high_.assign(out * most_pairs, 0);
  taps_.resize(out);
  std::vector<double> weights(2 * most_pairs);
  for (int j = 0; j < out; ++j) {
    const double centre = (j + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(in, static_cast<int>(centre + support + 0.5)) - first;
    double sum = 0;
    for (int k = 0; k < count; ++k)
      sum += weights[k] = weight_at(filter, (k + first - centre + 0.5) * (1.0 / stretch));
    Taps& taps = taps_[j];
    taps = {first, count, low_.data() + j * most_pairs, high_.data() + j * most_pairs};
    for (int k = 0; k < count; ++k) {
      const int32_t w = fixed_point(sum != 0 ? weights[k] / sum : weights[k]);
      const std::size_t pair = j * most_pairs + k / 2;
      const int shift = k % 2 * 16;
      low_[pair] |= static_cast<int32_t>(static_cast<uint32_t>(w & 0x7fff) << shift);
      high_[pair] |= static_cast<int32_t>((static_cast<uint32_t>(w >> 15) & 0xffff) << shift);
    }
  }
}

const FilterTable& Resampler::table(int in, int out, Filter filter) {
  if (in > kSmall || out > kSmall) {
    std::unique_ptr<FilterTable>& slot = large_[next_large_++ % 2];
    slot = std::make_unique<FilterTable>(in, out, filter);
    return *slot;
  }
  std::unique_ptr<FilterTable>& kept = small_[{in, out, filter}];
  if (!kept) kept = std::make_unique<FilterTable>(in, out, filter);
  return *kept;
}

void Resampler::run(const Columns& in, const Request& request, PlanarImage& out) {
  const auto& [box, height, width, window, filter, mirror] = request;
  require(box.height > 0 && box.width > 0 && box.top >= 0 && box.left >= 0 &&
              box.top + box.height <= in.height && box.left + box.width <= in.width,
          ErrorCode::internal, "a crop reaches outside of the picture");
  const FilterTable* along_x = box.width != width ? &table(box.width, width, filter) : nullptr;
  const FilterTable* along_y = box.height != height ? &table(box.height, height, filter) : nullptr;
  // Only the rows that the second pass reads take part in the first.
  int top = window.top, bottom = window.top + window.height;
  if (along_y) {
    const Taps& last = along_y->taps()[bottom - 1];
    top = along_y->taps()[top].first;
    bottom = last.first + last.count;
  }
  const int rows = bottom - top;
  const int column_stride = round_up_to_block(rows);
  const int row_stride = round_up_to_block(window.width);
  columns_.resize(static_cast<std::size_t>(column_stride) * window.width + kBlock);
  rows_.resize(static_cast<std::size_t>(row_stride) * rows + kBlock);
  if (along_x) {
    const auto begin = along_x->taps().begin() + window.left;
    chosen_.assign(begin, begin + window.width);
    if (mirror) std::reverse(chosen_.begin(), chosen_.end());
  }
  out.resize(window.height, window.width);
  out.pixels.resize(std::max(out.pixels.size(), 3 * out.area() + kBlock));
  const Kernels& k = kernels();
  for (int c = 0; c < 3; ++c) {
    const uint8_t* source = in.plane[c] + box.left * in.stride + box.top + top;
    if (along_x) {
      k.resample(source, in.stride, chosen_.data(), window.width, columns_.data(), column_stride,
                 rows);
    } else {
      for (int x = 0; x < window.width; ++x) {
        const int from = window.left + (mirror ? window.width - 1 - x : x);
        std::memcpy(columns_.data() + x * column_stride, source + from * in.stride, rows);
      }
    }
    if (!along_y) {
      k.transpose(columns_.data(), column_stride, window.width, rows, out.plane(c), window.width);
      continue;
    }
    k.transpose(columns_.data(), column_stride, window.width, rows, rows_.data(), row_stride);
    for (int j = 0; j < window.height; ++j) {
      Taps taps = along_y->taps()[window.top + j];
      taps.first -= top;
      k.resample(rows_.data(), row_stride, &taps, 1, out.plane(c) + j * window.width, window.width,
                 window.width);
    }
  }
}

}  // namespace gh::host
