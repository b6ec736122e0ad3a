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
  packed_ = at::empty({blocks * kLinearRows * layout.dims}, kDtype<T>);
  scores_ = at::empty({blocks * kLinearRows * layout.all_lanes}, kDtype<T>);
}

template <class T>
T* LinearPass<T>::block(int64_t index) const {
  return data<T>(packed_) + index * kLinearRows * layout_.dims;
}

template <class T>
T* LinearPass<T>::panels(int64_t index) const {
  return data<T>(scores_) + index * kLinearRows * layout_.all_lanes;
}

template <class T>
int64_t LinearPass<T>::rows_of(int64_t index) const {
  return std::min(kLinearRows, count_ - index * kLinearRows);
}

template <class T>
void LinearPass<T>::load(const Rows& rows, int64_t index) {
  const T* pointers[kLinearRows];
  for (int64_t i = 0; i < rows_of(index); ++i) {
    const int64_t at = index * kLinearRows + i;
    pointers[i] = data<T>(x_) + (rows.rows ? rows.rows[at] : rows.first + at) * layout_.width;
  }
  kernels_.pack(pointers, rows_of(index), layout_.width, block(index));
}

template <class T>
void LinearPass<T>::multiply(int64_t index, const T* weight, const T* bias) {
  const int64_t rows = ceil_div(rows_of(index), kLinearTile) * kLinearTile;
  for (int64_t p = 0; p < layout_.panels(); ++p) {
    const int64_t wide = layout_.vectors[p] * layout_.lanes;
    T* const out = panels(index) + layout_.first[p] * kLinearRows;
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(bias + layout_.first[p], wide, out + r * wide);
    kernels_.multiply(block(index), rows, layout_.dims, weight + layout_.first[p] * layout_.dims,
                      layout_.vectors[p], out);
  }
}

template <class T>
void LinearPass<T>::scores(const Rows& rows, const T* weight, const T* bias) {
  count_ = rows.count;
  ops::parallel_indices(ceil_div(count_, kLinearRows), [&](int64_t index) {
    load(rows, index);
    multiply(index, weight, bias);
  });
}

template <class T>
int64_t LinearPass<T>::errors(const Rows& rows, const T* weight, const T* bias,
                              const int64_t* targets, T factor, double* loss) {
  count_ = rows.count;
  const int64_t blocks = ceil_div(count_, kLinearRows);
  std::vector<double> losses(blocks, 0);
  std::vector<int64_t> bad(blocks, -1);
  // Where the score of each class lies, but for the row.
  std::vector<int64_t> place(layout_.classes), step(layout_.classes);
  for (int64_t p = 0; p < layout_.panels(); ++p)
    for (int64_t c = layout_.first[p];
         c < std::min(layout_.classes, layout_.first[p] + layout_.vectors[p] * layout_.lanes); ++c) {
      step[c] = layout_.vectors[p] * layout_.lanes;
      place[c] = layout_.first[p] * kLinearRows + c - layout_.first[p];
    }
  ops::parallel_pieces(blocks, at::get_num_threads(), [&](int64_t index, int64_t) {
    load(rows, index);
    multiply(index, weight, bias);
    T sums[kLinearRows], largest[kLinearRows], own[kLinearRows];
    T* const z = panels(index);
    const int64_t count = rows_of(index), begin = index * kLinearRows;
    const auto row = [&](int64_t i) {
      return rows.rows ? rows.rows[begin + i] : rows.first + begin + i;
    };
    for (int64_t i = 0; i < count; ++i) {
      const int64_t target = targets[row(i)];
      own[i] = z[place[target] + i * step[target]];
    }
    kernels_.exponentials(z, count, layout_.vectors.data(), layout_.panels(), sums, largest);
    for (int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(sums[i]) && bad[index] < 0) bad[index] = row(i);
      if (loss) losses[index] += std::log(static_cast<double>(sums[i])) + (largest[i] - own[i]);
      sums[i] = factor / sums[i];
    }
    kernels_.scale(z, count, layout_.vectors.data(), layout_.panels(), sums);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t target = targets[row(i)];
      z[place[target] + i * step[target]] -= factor;
    }
  });
  if (loss)
    for (const double value : losses) *loss += value;
  const auto found = std::find_if(bad.begin(), bad.end(), [](int64_t row) { return row >= 0; });
  return found == bad.end() ? -1 : *found;
}

template <class T>
void LinearPass<T>::values(const Rows& rows) {
  count_ = rows.count;
  ops::parallel_indices(ceil_div(count_, kLinearRows), [&](int64_t index) {
    load(rows, index);
    const T* const x = data<T>(x_);
    for (int64_t p = 0; p < layout_.panels(); ++p) {
      const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
      const int64_t filled = std::min(wide, layout_.classes - first);
      for (int64_t i = 0; i < rows_of(index); ++i) {
        const int64_t at = index * kLinearRows + i;
        const T* const row = x + (rows.rows ? rows.rows[at] : rows.first + at) * layout_.width;
        T* const out = panels(index) + first * kLinearRows + i * wide;
        std::copy_n(row + first, filled, out);
        std::fill(out + filled, out + wide, T(0));
      }
    }
  });
}

template <class T>
void LinearPass<T>::unpack_scores(T* out) const {
  ops::parallel_indices(ceil_div(count_, kLinearRows), [&](int64_t index) {
    for (int64_t p = 0; p < layout_.panels(); ++p) {
      const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
      for (int64_t i = 0; i < rows_of(index); ++i)
        std::copy_n(panels(index) + first * kLinearRows + i * wide,
                    std::min(wide, layout_.classes - first),
                    out + (index * kLinearRows + i) * layout_.classes + first);
    }
  });
}

template <class T>
void LinearPass<T>::gradient(Use weight, Use bias) const {
  const int64_t blocks = ceil_div(count_, kLinearRows);
  const int64_t groups = ceil_div(layout_.dims, kDimsOfPiece);
  const int64_t widest = layout_.vectors.front() * layout_.lanes;
  const int64_t workers = at::get_num_threads(), room = kDimsOfPiece * widest;
  const at::Tensor rooms = at::empty({workers * room}, kDtype<T>);
  // A panel's dims in groups, and behind them its bias.
  ops::parallel_pieces(layout_.panels() * (groups + 1), workers, [&](int64_t piece, int64_t worker) {
    const int64_t p = piece / (groups + 1), group = piece % (groups + 1);
    const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
    const int64_t begin = group * kDimsOfPiece;
    const int64_t dims = group == groups ? 1 : std::min(kDimsOfPiece, layout_.dims - begin);
    T* const sums = data<T>(rooms) + worker * room;
    std::fill_n(sums, dims * wide, T(0));
    for (int64_t b = 0; b < blocks; ++b) {
      const T* const errors = panels(b) + first * kLinearRows;
      if (group == groups)
        add_rows(errors, rows_of(b), wide, sums);
      else
        kernels_.accumulate(block(b) + begin * kLinearRows, rows_of(b), dims, errors,
                            layout_.vectors[p], sums);
    }
    if (group == groups)
      bias(first, wide, sums);
    else
      weight(first * layout_.dims + begin * wide, dims * wide, sums);
  });
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
