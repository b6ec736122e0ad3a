#include "kmeans_rows.hpp"

#include "gh/error.hpp"

#include <ATen/Parallel.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace gh {
inline namespace v1 {

// Rows are summed in chunks, chunks in their order, whoever does it.
template <class T>
void add_up(const T* x, int64_t width, const std::vector<Addition>& additions,
            const KMeansKernels<T>& kernels) {
  std::vector<Addition> chunks;
  for (const Addition& a : additions)
    for (int64_t b = 0; b < a.count; b += kKMeansChunk)
      chunks.push_back({a.rows + b, std::min(kKMeansChunk, a.count - b), a.sign, a.out});
  const int64_t count = static_cast<int64_t>(chunks.size());
  const at::Tensor sums = kmeans_room<double>({count, width});
  double* const all = sums.data_ptr<double>();
  ops::parallel_pieces(count, at::get_num_threads(), [&](int64_t i, int64_t) {
    kernels.sum(x, width, chunks[i].rows, chunks[i].count, all + i * width);
  });
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < width; ++d) chunks[i].out[d] += chunks[i].sign * all[i * width + d];
}

template <class T>
at::Tensor squares_of(const at::Tensor& x, const char* name, const KMeansKernels<T>& kernels) {
  const int64_t width = x.size(1);
  const at::Tensor squares = kmeans_room<double>({x.size(0)});
  for_blocks(x.size(0), kKMeansChunk, [&](int64_t begin, int64_t end) {
    kernels.squares(x.data_ptr<T>() + begin * width, width, end - begin,
                    squares.data_ptr<double>() + begin);
  });
  // Also where a square leaves T's range, as scores would.
  const double most = static_cast<double>(std::numeric_limits<T>::max()) / 64;
  const double* const s = squares.data_ptr<double>();
  for (int64_t i = 0; i < x.size(0); ++i)
    require(s[i] < most, ErrorCode::numeric, "row ", i, " of ", name,
            " is not finite, or too large");
  return squares;
}

template <class T>
at::Tensor moved(const at::Tensor& x, const std::vector<double>& mean, double sign) {
  const int64_t width = x.size(1);
  const at::Tensor out = kmeans_room<T>(x.sizes());
  const T* const from = x.data_ptr<T>();
  T* const to = out.data_ptr<T>();
  for_blocks(x.size(0), kKMeansChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t d = 0; d < width; ++d)
        to[i * width + d] =
            static_cast<T>(static_cast<double>(from[i * width + d]) + sign * mean[d]);
  });
  return out;
}

template <class T>
at::Tensor scaled_to_unit(const at::Tensor& x, const at::Tensor& squares) {
  const int64_t width = x.size(1);
  const at::Tensor out = kmeans_room<T>(x.sizes());
  const T* const from = x.data_ptr<T>();
  const double* const square = squares.data_ptr<double>();
  T* const to = out.data_ptr<T>();
  for_blocks(x.size(0), kKMeansChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double scale = square[i] > 0 ? 1 / std::sqrt(square[i]) : 0;
      for (int64_t d = 0; d < width; ++d)
        to[i * width + d] = static_cast<T>(static_cast<double>(from[i * width + d]) * scale);
    }
  });
  return out;
}

namespace {

template <class T>
std::vector<double> mean_of(const at::Tensor& x, const KMeansKernels<T>& kernels) {
  std::vector<int32_t> rows(x.size(0));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<double> mean(x.size(1));
  add_up(x.data_ptr<T>(), x.size(1), {{rows.data(), x.size(0), 1, mean.data()}}, kernels);
  for (double& m : mean) m /= static_cast<double>(x.size(0));
  return mean;
}

}  // namespace

template <class T>
KMeansRows<T> kmeans_rows(const at::Tensor& x, ops::KMeansMetric metric,
                          const KMeansKernels<T>& kernels) {
  KMeansRows<T> rows{.x = x.contiguous(), .squares = {}, .mean = {}};
  rows.squares = squares_of(rows.x, "x", kernels);
  if (metric == ops::KMeansMetric::spherical) {
    rows.x = scaled_to_unit<T>(rows.x, rows.squares);
    rows.squares = squares_of(rows.x, "x", kernels);
    return rows;
  }
  std::vector<double> mean = mean_of(rows.x, kernels);
  const double offset = std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0);
  const double* const squares = rows.squares.template data_ptr<double>();
  const double whole = std::accumulate(squares, squares + x.size(0), 0.0);
  if (2 * offset * static_cast<double>(x.size(0)) <= whole) return rows;
  rows.x = moved<T>(rows.x, mean, -1);
  rows.squares = squares_of(rows.x, "x", kernels);
  rows.mean = std::move(mean);
  return rows;
}

#define GH_KMEANS(T)                                                                              \
  template void add_up(const T*, int64_t, const std::vector<Addition>&, const KMeansKernels<T>&); \
  template at::Tensor squares_of(const at::Tensor&, const char*, const KMeansKernels<T>&);        \
  template at::Tensor moved<T>(const at::Tensor&, const std::vector<double>&, double);            \
  template at::Tensor scaled_to_unit<T>(const at::Tensor&, const at::Tensor&);                    \
  template KMeansRows<T> kmeans_rows(const at::Tensor&, ops::KMeansMetric, const KMeansKernels<T>&);
GH_KMEANS(float)
GH_KMEANS(double)
#undef GH_KMEANS

}  // namespace v1
}  // namespace gh
