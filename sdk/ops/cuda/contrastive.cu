#include "contrastive.hpp"

#include "launch.cuh"

#include <cmath>

namespace gh {
inline namespace v1 {
namespace cuda {
namespace {

// A block has kTile rows of its own side and walks over tiles of the other one. Thread (x, y) of
// 16 × 16 makes the scores of own rows y, y + 16 with others x, x + 16, from slices of kDepth
// coordinates in shared memory. Rows there are one value longer than a slice: threads that read one
// coordinate of neighbouring rows use different banks.
constexpr int kSide = 16;
constexpr int kTile = 2 * kSide;
constexpr int kDepth = 32;
constexpr int kStep = kDepth + 1;
constexpr int kSliceFloats = kTile * kStep;

struct Tile {
  float score[2][2];  // products, without temperatures
};

__device__ float value_at(const float* x, int count, int width, int row, int k) {
  return row < count && k < width ? x[static_cast<int64_t>(row) * width + k] : 0.0f;
}

// shared: two slices.
__device__ Tile products(const float* own, int own_count, int own_first, const float* other,
                         int other_count, int other_first, int width, float* shared) {
  const int x = threadIdx.x, y = threadIdx.y, thread = y * kSide + x;
  float* const a = shared;
  float* const b = shared + kSliceFloats;
  Tile out{};
  for (int first = 0; first < width; first += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
      const int row = i / kDepth, k = i % kDepth;
      a[row * kStep + k] = value_at(own, own_count, width, own_first + row, first + k);
      b[row * kStep + k] = value_at(other, other_count, width, other_first + row, first + k);
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k)
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j)
          out.score[i][j] =
              fmaf(a[(y + i * kSide) * kStep + k], b[(x + j * kSide) * kStep + k], out.score[i][j]);
    __syncthreads();
  }
  return out;
}

__device__ bool is_positive(const ContrastiveScores& s, int row, int column) {
  return s.positive && s.positive[row] == column;
}
__device__ bool is_negative(const ContrastiveScores& s, int row, int column) {
  return !is_positive(s, row, column) && !(s.skipped && s.skipped[row] == column);
}

// Σ exp so far, and the largest exponent it is relative to.
struct LogSum {
  float largest;
  double sum;

  __device__ void add(float exponent) {
    if (exponent > largest) {
      sum = sum * expf(largest - exponent) + 1;
      largest = exponent;
    } else {
      // A NaN is not above and stays one; −∞ beside −∞ adds nothing.
      sum += exponent == -INFINITY ? 0.0f : expf(exponent - largest);
    }
  }
  __device__ void add(const LogSum& other) {
    const float top = fmaxf(largest, other.largest);
    if (top == -INFINITY) return add_empty(other);
    sum = sum * expf(largest - top) + other.sum * expf(other.largest - top);
    largest = top;
  }

 private:
  // Neither has a finite exponent: what is left to keep is a NaN.
  __device__ void add_empty(const LogSum& other) { sum += other.sum; }
};

__global__ void log_sums_kernel(ContrastiveScores s, double* log_sums) {
  float* const shared = dynamic_shared<float>();
  const int own_first = blockIdx.x * kTile;
  LogSum sums[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
  for (int first = 0; first < s.column_count; first += kTile) {
    const Tile tile =
        products(s.rows, s.row_count, own_first, s.columns, s.column_count, first, s.width, shared);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const int row = own_first + threadIdx.y + i * kSide;
        const int column = first + threadIdx.x + j * kSide;
        if (row < s.row_count && column < s.column_count && is_negative(s, row, column))
          sums[i].add(tile.score[i][j] * s.inverse[row]);
      }
  }
  for (int i = 0; i < 2; ++i) {
    for (int step = kSide / 2; step > 0; step /= 2) {
      LogSum other;
      other.largest = __shfl_xor_sync(kAllLanes, sums[i].largest, step);
      other.sum = __shfl_xor_sync(kAllLanes, sums[i].sum, step);
      // The lower lane's sum first in both: they keep the same bits.
      if (threadIdx.x & step) {
        other.add(sums[i]);
        sums[i] = other;
      } else {
        sums[i].add(other);
      }
    }
    const int row = own_first + threadIdx.y + i * kSide;
    if (threadIdx.x == 0 && row < s.row_count)
      log_sums[row] = sums[i].sum == 0 ? -INFINITY : sums[i].largest + log(sums[i].sum);
  }
}

// How the loss of a row depends on its score with a column.
__device__ float slope(const ContrastiveScores& s, const ContrastiveWeights& w, int row, int column,
                       float product) {
  if (is_positive(s, row, column)) return -w.weight[row];
  if (!is_negative(s, row, column)) return 0;
  return w.weight[row] * expf(product * s.inverse[row] - w.log_sum[row]);
}

// shared: two slices, then the tile's slopes [kTile][kTile + 1].
__global__ void gradient_kernel(ContrastiveScores s, ContrastiveWeights w, ContrastiveOwn side,
                                float* out) {
  float* const shared = dynamic_shared<float>();
  float* const slopes = shared + 2 * kSliceFloats;
  const bool of_columns = side == ContrastiveOwn::columns;
  const float* const own = of_columns ? s.columns : s.rows;
  const float* const other = of_columns ? s.rows : s.columns;
  const int own_count = of_columns ? s.column_count : s.row_count;
  const int other_count = of_columns ? s.row_count : s.column_count;
  const int own_first = blockIdx.x * kTile;
  for (int first = 0; first < other_count; first += kTile) {
    const Tile tile =
        products(own, own_count, own_first, other, other_count, first, s.width, shared);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const int a = own_first + threadIdx.y + i * kSide, b = first + threadIdx.x + j * kSide;
        float sum = 0;
        if (a < own_count && b < other_count) {
          if (!of_columns) sum += slope(s, w, a, b, tile.score[i][j]);
          if (side != ContrastiveOwn::rows) sum += slope(s, w, b, a, tile.score[i][j]);
        }
        slopes[(threadIdx.y + i * kSide) * (kTile + 1) + threadIdx.x + j * kSide] = sum;
      }
    __syncthreads();
    const int others = min(kTile, other_count - first);
    for (int i = 0; i < 2; ++i) {
      const int a = own_first + threadIdx.y + i * kSide;
      if (a >= own_count) continue;
      for (int k = threadIdx.x; k < s.width; k += kSide) {
        float* const to = out + static_cast<int64_t>(a) * s.width + k;
        float sum = first == 0 ? 0.0f : *to;
        for (int j = 0; j < others; ++j)
          sum = fmaf(slopes[(threadIdx.y + i * kSide) * (kTile + 1) + j],
                     other[static_cast<int64_t>(first + j) * s.width + k], sum);
        *to = sum;
      }
    }
    __syncthreads();
  }
}

constexpr dim3 kBlock = {kSide, kSide, 1};

unsigned blocks_of(int count) { return static_cast<unsigned>(ceil_div(count, kTile)); }

}  // namespace

cudaError_t contrastive_log_sums(const ContrastiveScores& scores, double* log_sums,
                                 cudaStream_t stream) {
  return launch(log_sums_kernel, blocks_of(scores.row_count), kBlock,
                2 * kSliceFloats * sizeof(float), stream, scores, log_sums);
}

cudaError_t contrastive_gradient(const ContrastiveScores& scores, const ContrastiveWeights& weights,
                                 ContrastiveOwn own, float* out, cudaStream_t stream) {
  const int count = own == ContrastiveOwn::columns ? scores.column_count : scores.row_count;
  const size_t floats = 2 * kSliceFloats + kTile * (kTile + 1);
  return launch(gradient_kernel, blocks_of(count), kBlock, floats * sizeof(float), stream, scores,
                weights, own, out);
}

}  // namespace cuda
}  // namespace v1
}  // namespace gh
