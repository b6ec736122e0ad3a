#include "linear_pass.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gh {
inline namespace v1 {
namespace {

// Dims of a piece of a gradient: with their panel they stay in the first cache.
constexpr int64_t kDimsOfPiece = 64;

// Parameters whose parts are added, and which are moved, at a time.
constexpr int64_t kPiece = 1 << 12;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
constexpr at::ScalarType kDtype = sizeof(T) == 4 ? at::kFloat : at::kDouble;

template <class T>
T* data(const at::Tensor& t) {
  return t.data_ptr<T>();
}

// Sums of the errors of one panel over rows.
template <class T>
void add_rows(const T* errors, int64_t rows, int64_t wide, T* out) {
  for (int64_t r = 0; r < rows; ++r, errors += wide)
    for (int64_t i = 0; i < wide; ++i) out[i] += errors[i];
}

// At most `most` rows from the one at `from` on.
LinearRows part_of(const LinearRows& rows, int64_t from, int64_t most) {
  return {rows.rows ? rows.rows + from : nullptr, rows.first + from,
          std::min(most, rows.count - from)};
}

}  // namespace

LinearLayout::LinearLayout(int64_t classes, int64_t width, int64_t lanes, int64_t most_vectors)
    : classes(classes),
      width(width),
      lanes(lanes),
      dims(ceil_div(width, kLinearDims) * kLinearDims) {
  const int64_t all = ceil_div(classes, lanes), count = ceil_div(all, most_vectors);
  for (int64_t p = 0; p < count; ++p) {
    first.push_back(all_lanes);
    vectors.push_back(all / count + (p < all % count));
    all_lanes += vectors.back() * lanes;
  }
}

template <class T>
at::Tensor pack_weight(const LinearLayout& layout, const at::Tensor& weight) {
  const at::Tensor packed = at::zeros({layout.size()}, kDtype<T>), from = weight.contiguous();
  const T* const w = data<T>(from);
  ops::parallel_indices(layout.panels(), [&](int64_t p) {
    const int64_t wide = layout.vectors[p] * layout.lanes, first = layout.first[p];
    T* const out = data<T>(packed) + first * layout.dims;
    for (int64_t c = 0; c < std::min(wide, layout.classes - first); ++c)
      for (int64_t d = 0; d < layout.width; ++d)
        out[d * wide + c] = w[(first + c) * layout.width + d];
  });
  return packed;
}

template <class T>
at::Tensor unpack_weight(const LinearLayout& layout, const T* packed) {
  const at::Tensor weight = at::empty({layout.classes, layout.width}, kDtype<T>);
  T* const w = data<T>(weight);
  ops::parallel_indices(layout.panels(), [&](int64_t p) {
    const int64_t wide = layout.vectors[p] * layout.lanes, first = layout.first[p];
    const T* const in = packed + first * layout.dims;
    for (int64_t c = 0; c < std::min(wide, layout.classes - first); ++c)
      for (int64_t d = 0; d < layout.width; ++d)
        w[(first + c) * layout.width + d] = in[d * wide + c];
  });
  return weight;
}

template <class T>
at::Tensor pack_bias(const LinearLayout& layout, const at::Tensor& bias) {
  const at::Tensor packed =
      at::full({layout.all_lanes}, -std::numeric_limits<double>::infinity(), kDtype<T>);
  packed.narrow(0, 0, layout.classes).copy_(bias);
  return packed;
}

template <class T>
LinearPass<T>::LinearPass(const at::Tensor& x, const LinearLayout& layout, int64_t batch,
                          const LinearKernels<T>& kernels)
    : layout_(layout), kernels_(kernels), x_(x) {
  const int64_t blocks = ceil_div(std::min(batch, x.size(0)), kLinearRows);
  blocks_ = ceil_div(blocks, kLinearParts);
  workers_ = std::min<int64_t>(at::get_num_threads(), kLinearParts);
  rooms_ =
      at::empty({workers_, blocks_ * kLinearRows * (layout.dims + layout.all_lanes)}, kDtype<T>);
  for (int64_t p = 0; p < layout.panels(); ++p)
    for (int64_t lane = 0; lane < layout.vectors[p] * layout.lanes; ++lane) {
      step_.push_back(layout.vectors[p] * layout.lanes);
      place_.push_back(layout.first[p] * kLinearRows + lane);
    }
}

template <class T>
typename LinearPass<T>::Room LinearPass<T>::room(int64_t worker) const {
  T* const begin = data<T>(rooms_) + worker * rooms_.size(1);
  return {begin, begin + blocks_ * kLinearRows * layout_.dims};
}

template <class T>
void LinearPass<T>::pack(const LinearRows& block, T* packed) const {
  const T* pointers[kLinearRows];
  for (int64_t i = 0; i < block.count; ++i) pointers[i] = data<T>(x_) + block[i] * layout_.width;
  kernels_.pack(pointers, block.count, layout_.width, packed);
}

template <class T>
void LinearPass<T>::multiply(const T* packed, int64_t rows, const T* weight, const T* bias,
                             T* scores) const {
  rows = ceil_div(rows, kLinearTile) * kLinearTile;
  for (int64_t p = 0; p < layout_.panels(); ++p) {
    const int64_t wide = layout_.vectors[p] * layout_.lanes;
    T* const out = scores + layout_.first[p] * kLinearRows;
    for (int64_t r = 0; r < rows; ++r) std::copy_n(bias + layout_.first[p], wide, out + r * wide);
    kernels_.multiply(packed, rows, layout_.dims, weight + layout_.first[p] * layout_.dims,
                      layout_.vectors[p], out);
  }
}

template <class T>
void LinearPass<T>::scores(const LinearRows& rows, const T* weight, const T* bias, T* out) const {
  const int64_t blocks = ceil_div(rows.count, kLinearRows);
  ops::parallel_pieces(blocks, workers_, [&](int64_t b, int64_t worker) {
    const LinearRows block = part_of(rows, b * kLinearRows, kLinearRows);
    const Room here = room(worker);
    pack(block, here.packed);
    multiply(here.packed, block.count, weight, bias, here.scores);
    T* to = out + b * kLinearRows * layout_.classes;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t c = 0; c < layout_.classes; ++c) *to++ = here.scores[place_[c] + i * step_[c]];
  });
}

// Scores → factor · (softmax − one-hot).
template <class T>
typename LinearPass<T>::Outcome LinearPass<T>::errors(const LinearRows& block,
                                                      const int64_t* targets, T factor,
                                                      bool with_loss, T* scores) const {
  T sums[kLinearRows], largest[kLinearRows], own[kLinearRows];
  T* at[kLinearRows];
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t target = targets[block[i]];
    at[i] = scores + place_[target] + i * step_[target];
    own[i] = *at[i];
  }
  kernels_.exponentials(scores, block.count, layout_.vectors.data(), layout_.panels(), sums,
                        largest);
  Outcome out;
  for (int64_t i = 0; i < block.count; ++i) {
    if (!std::isfinite(sums[i]) && out.bad < 0) out.bad = block[i];
    if (with_loss) out.loss += std::log(static_cast<double>(sums[i])) + (largest[i] - own[i]);
    sums[i] = factor / sums[i];
  }
  kernels_.scale(scores, block.count, layout_.vectors.data(), layout_.panels(), sums);
  for (int64_t i = 0; i < block.count; ++i) *at[i] -= factor;
  return out;
}

// The gradient of one part: [size()] weights, then [all_lanes] biases. A panel's dims come in
// groups, whose sums stay in the first cache while all rows go by.
template <class T>
void LinearPass<T>::back(const Room& room, int64_t rows, T* sums) const {
  std::fill_n(sums, layout_.size() + layout_.all_lanes, T(0));
  for (int64_t p = 0; p < layout_.panels(); ++p) {
    const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
    for (int64_t d = 0; d < layout_.dims; d += kDimsOfPiece)
      for (int64_t r = 0; r < rows; r += kLinearRows)
        kernels_.accumulate(room.packed + r * layout_.dims + d * kLinearRows,
                            std::min(kLinearRows, rows - r),
                            std::min(kDimsOfPiece, layout_.dims - d),
                            room.scores + r * layout_.all_lanes + first * kLinearRows,
                            layout_.vectors[p], sums + first * layout_.dims + d * wide);
    for (int64_t r = 0; r < rows; r += kLinearRows)
      add_rows(room.scores + r * layout_.all_lanes + first * kLinearRows,
               std::min(kLinearRows, rows - r), wide, sums + layout_.size() + first);
  }
}

template <class T>
int64_t LinearPass<T>::in_parts(const LinearRows& rows, Forth forth, double* loss, const Use& use) {
  const int64_t blocks = ceil_div(rows.count, kLinearRows);
  const int64_t part_rows = ceil_div(blocks, kLinearParts) * kLinearRows;
  const int64_t parts = ceil_div(rows.count, part_rows), size = layout_.size() + layout_.all_lanes;
  if (!sums_.defined()) sums_ = at::empty({kLinearParts, size}, kDtype<T>);
  T* const sums = data<T>(sums_);
  Outcome outcomes[kLinearParts];
  ops::parallel_pieces(parts, workers_, [&](int64_t p, int64_t worker) {
    const LinearRows part = part_of(rows, p * part_rows, part_rows);
    const Room here = room(worker);
    for (int64_t r = 0; r < part.count; r += kLinearRows) {
      const LinearRows block = part_of(part, r, kLinearRows);
      T* const packed = here.packed + r * layout_.dims;
      pack(block, packed);
      const Outcome found = forth(block, packed, here.scores + r * layout_.all_lanes);
      outcomes[p].loss += found.loss;
      if (outcomes[p].bad < 0) outcomes[p].bad = found.bad;
    }
    back(here, part.count, sums + p * size);
  });
  for (const Outcome& outcome : outcomes) {
    if (outcome.bad >= 0) return outcome.bad;
    if (loss) *loss += outcome.loss;
  }
  const int64_t pieces = ceil_div(size, kPiece);
  ops::parallel_indices(pieces, [&](int64_t piece) {
    const int64_t begin = piece * kPiece, end = std::min(size, begin + kPiece);
    for (int64_t p = 1; p < parts; ++p)
      for (int64_t i = begin; i < end; ++i) sums[i] += sums[p * size + i];
    const int64_t weights = std::clamp(layout_.size() - begin, int64_t{0}, end - begin);
    if (weights > 0) use.weight(begin, weights, sums + begin);
    if (begin + weights < end)
      use.bias(begin + weights - layout_.size(), end - begin - weights, sums + begin + weights);
  });
  return -1;
}

template <class T>
int64_t LinearPass<T>::gradient(const LinearRows& rows, const T* weight, const T* bias,
                                const int64_t* targets, T factor, double* loss, const Use& use) {
  const auto forth = [&](const LinearRows& block, const T* packed, T* scores) {
    multiply(packed, block.count, weight, bias, scores);
    return errors(block, targets, factor, loss != nullptr, scores);
  };
  return in_parts(rows, forth, loss, use);
}

template <class T>
void LinearPass<T>::squares(const LinearRows& rows, const Use& use) {
  const auto forth = [&](const LinearRows& block, const T*, T* scores) {
    for (int64_t i = 0; i < block.count; ++i) {
      const T* const row = data<T>(x_) + block[i] * layout_.width;
      for (int64_t lane = 0; lane < layout_.all_lanes; ++lane)
        scores[place_[lane] + i * step_[lane]] = lane < layout_.width ? row[lane] : T(0);
    }
    return Outcome{};
  };
  in_parts(rows, forth, nullptr, use);
}

template at::Tensor pack_weight<float>(const LinearLayout&, const at::Tensor&);
template at::Tensor pack_weight<double>(const LinearLayout&, const at::Tensor&);
template at::Tensor unpack_weight<float>(const LinearLayout&, const float*);
template at::Tensor unpack_weight<double>(const LinearLayout&, const double*);
template at::Tensor pack_bias<float>(const LinearLayout&, const at::Tensor&);
template at::Tensor pack_bias<double>(const LinearLayout&, const at::Tensor&);
template class LinearPass<float>;
template class LinearPass<double>;

}  // namespace v1
}  // namespace gh
