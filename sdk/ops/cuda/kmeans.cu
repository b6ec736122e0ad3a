#include "kmeans.hpp"

#include "launch.cuh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace gh {
inline namespace v1 {
namespace cuda {
namespace {

// ---- Nearest centres ------------------------------------------------------------------------
//
// The nearest centre has the least |c|²/2 − x·c, of equal ones the first. A block looks for those
// of 64 rows among 64 centres at a time; each of its 16×16 threads has 4×4 products in registers.

constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kSide = 16;
constexpr int kEach = kTile / kSide;
constexpr int kStride = kTile + 4;  // so that the stores of a tile use different banks

struct Nearest {
  float score = INFINITY;
  int centre = 0;

  __device__ void take(float other_score, int other_centre) {
    if (other_score < score || (other_score == score && other_centre < centre)) {
      score = other_score;
      centre = other_centre;
    }
  }
};

// tile[d][i] = from[first + i][depth + d], zero beyond the matrix.
__device__ void load_tile(const float* from, int rows, int width, int first, int depth,
                          float* tile) {
  for (int i = threadIdx.x; i < kTile * kDepth; i += kSide * kSide) {
    const int row = i / kDepth, d = i % kDepth;
    const bool inside = first + row < rows && depth + d < width;
    tile[d * kStride + row] = inside ? from[size_t(first + row) * width + depth + d] : 0.0f;
  }
}

__global__ void __launch_bounds__(kSide* kSide)
    assign(const float* x, int rows, int width, const float* centres, const float* half_squares,
           int clusters, int* labels, int* changed) {
  float* const row_tile = dynamic_shared<float>();  // [kDepth, kStride] each
  float* const centre_tile = row_tile + kDepth * kStride;
  const int column = threadIdx.x % kSide, line = threadIdx.x / kSide;
  const int first_row = blockIdx.x * kTile;
  Nearest nearest[kEach];
  for (int first = 0; first < clusters; first += kTile) {
    float products[kEach][kEach] = {};
    for (int depth = 0; depth < width; depth += kDepth) {
      load_tile(x, rows, width, first_row, depth, row_tile);
      load_tile(centres, clusters, width, first, depth, centre_tile);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        float a[kEach], b[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          a[i] = row_tile[d * kStride + line * kEach + i];
          b[i] = centre_tile[d * kStride + column * kEach + i];
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i)
#pragma unroll
          for (int j = 0; j < kEach; ++j) products[i][j] = fmaf(a[i], b[j], products[i][j]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int centre = first + column * kEach + j;
      if (centre >= clusters) continue;
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        nearest[i].take(half_squares[centre] - products[i][j], centre);
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    for (int step = kSide / 2; step > 0; step /= 2)
      nearest[i].take(__shfl_xor_sync(kAllLanes, nearest[i].score, step),
                      __shfl_xor_sync(kAllLanes, nearest[i].centre, step));
    const int row = first_row + line * kEach + i;
    if (column > 0 || row >= rows) continue;
    if (labels[row] != nearest[i].centre) *changed = 1;
    labels[row] = nearest[i].centre;
  }
}

// A warp a centre: |c|²/2.
__global__ void halve_squares(const float* centres, int clusters, int width, float* out) {
  const int centre = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (centre >= clusters) return;
  double sum = 0;
  for (int d = lane; d < width; d += 32) {
    const double c = centres[size_t(centre) * width + d];
    sum += c * c;
  }
  sum = sum_over_lanes<32>(sum);
  if (lane == 0) out[centre] = static_cast<float>(sum / 2);
}

// ---- Sums of members ------------------------------------------------------------------------
//
// A block adds up the rows of one centre in one chunk of the data, in their order. It looks at all
// labels of the chunk for that: clusters · rows labels in all, which is little beside the
// clusters · rows · width products of the search.

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kChunk = 4096;

__global__ void __launch_bounds__(kThreads)
    sum_members(const float* x, int rows, int width, const int* labels, int clusters,
                double* partial, int* partial_counts) {
  int* const members = dynamic_shared<int>();  // [kThreads]
  int* const found = members + kThreads;       // [kWarps]
  const int centre = blockIdx.x, chunk = blockIdx.y, d = blockIdx.z * kThreads + threadIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int end = min((chunk + 1) * kChunk, rows);
  double sum = 0;
  int count = 0;
  for (int begin = chunk * kChunk; begin < end; begin += kThreads) {
    const int row = begin + threadIdx.x;
    const bool member = row < end && labels[row] == centre;
    const unsigned votes = __ballot_sync(kAllLanes, member);
    if (lane == 0) found[warp] = __popc(votes);
    __syncthreads();
    int place = __popc(votes & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) place += found[w];
      all += found[w];
    }
    if (member) members[place] = row;
    __syncthreads();
    if (d < width)
      for (int m = 0; m < all; ++m) sum += x[size_t(members[m]) * width + d];
    count += all;
  }
  const size_t cell = size_t(chunk) * clusters + centre;
  if (d < width) partial[cell * width + d] = sum;
  if (d == 0) partial_counts[cell] = count;
}

// A thread an element: chunks in their order.
__global__ void add_chunks(const double* partial, const int* partial_counts, int chunks,
                           int clusters, int width, double* sums, int* counts, int* empty) {
  const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x, all = size_t(clusters) * width;
  if (i >= all) return;
  double sum = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * all + i];
  sums[i] = sum;
  if (i % width != 0) return;
  const int centre = static_cast<int>(i / width);
  int count = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) count += partial_counts[chunk * clusters + centre];
  counts[centre] = count;
  if (count == 0) *empty = 1;
}

// A block a centre. from: whose sums a centre takes, null where each takes its own.
__global__ void __launch_bounds__(kThreads)
    move_centres(const double* sums, const int* counts, const int* from, const float* centres,
                 int width, KMeansMetric metric, float* next, int* moved) {
  double* const shared = dynamic_shared<double>();  // [kThreads]
  const int centre = blockIdx.x, source = from == nullptr ? centre : from[centre];
  const double* const sum = sums + size_t(source) * width;
  double scale = 1.0 / counts[source];
  if (metric == KMeansMetric::spherical) {
    double square = 0;
    for (int d = threadIdx.x; d < width; d += kThreads) square += sum[d] * sum[d];
    shared[threadIdx.x] = square;
    __syncthreads();
    square = 0;
    for (int i = 0; i < kThreads; ++i) square += shared[i];
    scale = square > 0 ? 1 / sqrt(square) : 0;
  }
  for (int d = threadIdx.x; d < width; d += kThreads) {
    const float before = centres[size_t(centre) * width + d];
    const float now = scale > 0 ? static_cast<float>(sum[d] * scale)
                                : centres[size_t(source) * width + d];  // members cancel
    next[size_t(centre) * width + d] = now;
    if (now != before) *moved = 1;
  }
}

// A warp a row: |x − c|², or x·c, of its own centre.
enum class Measure { distance, cosine };
__global__ void measure_rows(const float* x, int rows, int width, const float* centres,
                             const int* labels, Measure measure, double* out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0;
  for (int d = lane; d < width; d += 32) {
    const double a = x[size_t(row) * width + d];
    const double b = centres[size_t(labels[row]) * width + d];
    sum += measure == Measure::cosine ? a * b : (a - b) * (a - b);
  }
  sum = sum_over_lanes<32>(sum);
  if (lane == 0) out[row] = sum;
}

// ---- Lloyd's rounds -------------------------------------------------------------------------

struct Flags {
  int changed, empty, moved;
};

struct Room {
  Flags* flags;
  float* next;          // [clusters, width]
  float* half_squares;  // [clusters]
  double* partial;      // [chunks, clusters, width]
  int* partial_counts;  // [chunks, clusters]
  double* sums;         // [clusters, width]
  int* counts;          // [clusters]
  int* from;            // [clusters]
  double* measures;     // [rows]
};

Room room_in(void* workspace, int rows, int width, int clusters, size_t* bytes) {
  size_t offset = 0;
  const auto take = [&](auto*& part, size_t count) {
    using Part = std::remove_reference_t<decltype(*part)>;
    part = workspace == nullptr ? nullptr
                                : reinterpret_cast<Part*>(static_cast<char*>(workspace) + offset);
    offset += (count * sizeof(Part) + 15) / 16 * 16;
  };
  const size_t chunks = ceil_div(rows, kChunk), elements = size_t(clusters) * width;
  Room room;
  take(room.flags, 1);
  take(room.next, elements);
  take(room.half_squares, clusters);
  take(room.partial, chunks * elements);
  take(room.partial_counts, chunks * clusters);
  take(room.sums, elements);
  take(room.counts, clusters);
  take(room.from, clusters);
  take(room.measures, rows);
  *bytes = offset;
  return room;
}

class Lloyd {
 public:
  Lloyd(const KMeansProblem& problem, void* workspace, cudaStream_t stream)
      : p_(problem), stream_(stream), centres_(problem.centres) {
    size_t bytes = 0;
    room_ = room_in(workspace, p_.rows, p_.width, p_.clusters, &bytes);
    next_ = room_.next;
  }

  cudaError_t run(KMeansOutcome* outcome) {
    GH_CUDA_TRY(cudaMemsetAsync(p_.labels, 0xff, p_.rows * sizeof(int), stream_));  // none
    GH_CUDA_TRY(cudaMemsetAsync(room_.half_squares, 0, p_.clusters * sizeof(float), stream_));
    int round = 0;
    for (bool done = false; !done;) {
      if (round == p_.iterations) {  // labels of the last centres
        GH_CUDA_TRY(find_labels());
        break;
      }
      GH_CUDA_TRY(one_round(&done));
      ++round;
    }
    outcome->iterations = round;
    GH_CUDA_TRY(find_objective(&outcome->objective));
    if (centres_ == p_.centres) return cudaSuccess;
    return cudaMemcpyAsync(p_.centres, centres_, bytes_of_centres(), cudaMemcpyDeviceToDevice,
                           stream_);
  }

 private:
  // done: labels repeat, or no centre moved.
  cudaError_t one_round(bool* done) {
    GH_CUDA_TRY(cudaMemsetAsync(room_.flags, 0, sizeof(Flags), stream_));
    GH_CUDA_TRY(find_labels());
    GH_CUDA_TRY(find_sums());
    GH_CUDA_TRY(find_next(nullptr));
    Flags flags;
    GH_CUDA_TRY(read(&flags, room_.flags, 1));
    *done = !flags.changed;
    if (*done) return cudaSuccess;
    if (flags.empty) {
      GH_CUDA_TRY(fill_empty());
      GH_CUDA_TRY(cudaMemsetAsync(room_.flags, 0, sizeof(Flags), stream_));
      GH_CUDA_TRY(find_next(room_.from));
      GH_CUDA_TRY(read(&flags, room_.flags, 1));
    }
    std::swap(centres_, next_);
    *done = !flags.moved;
    return cudaSuccess;
  }

  cudaError_t find_labels() {
    if (p_.metric == KMeansMetric::euclidean)
      GH_CUDA_TRY(launch(halve_squares, blocks(p_.clusters, kWarps), kThreads, 0, stream_, centres_,
                         p_.clusters, p_.width, room_.half_squares));
    return launch(assign, blocks(p_.rows, kTile), kSide * kSide,
                  2 * kDepth * kStride * sizeof(float), stream_, p_.x, p_.rows, p_.width, centres_,
                  room_.half_squares, p_.clusters, p_.labels, &room_.flags->changed);
  }

  cudaError_t find_sums() {
    const int chunks = static_cast<int>(ceil_div(p_.rows, kChunk));
    const dim3 grid(p_.clusters, chunks, static_cast<unsigned>(ceil_div(p_.width, kThreads)));
    GH_CUDA_TRY(launch(sum_members, grid, kThreads, (kThreads + kWarps) * sizeof(int), stream_,
                       p_.x, p_.rows, p_.width, p_.labels, p_.clusters, room_.partial,
                       room_.partial_counts));
    return launch(add_chunks, blocks(int64_t{p_.clusters} * p_.width, kThreads), kThreads, 0,
                  stream_, room_.partial, room_.partial_counts, chunks, p_.clusters, p_.width,
                  room_.sums, room_.counts, &room_.flags->empty);
  }

  cudaError_t find_next(const int* from) {
    return launch(move_centres, dim3(p_.clusters), kThreads, kThreads * sizeof(double), stream_,
                  room_.sums, room_.counts, from, centres_, p_.width, p_.metric, next_,
                  &room_.flags->moved);
  }

  cudaError_t measure(Measure what, std::vector<double>* out) {
    GH_CUDA_TRY(launch(measure_rows, blocks(p_.rows, kWarps), kThreads, 0, stream_, p_.x, p_.rows,
                       p_.width, centres_, p_.labels, what, room_.measures));
    out->resize(p_.rows);
    return read(out->data(), room_.measures, p_.rows);
  }

  cudaError_t find_objective(double* sum) {
    std::vector<double> values;
    GH_CUDA_TRY(measure(p_.metric == KMeansMetric::spherical ? Measure::cosine : Measure::distance,
                        &values));
    *sum = std::accumulate(values.begin(), values.end(), 0.0);
    return cudaSuccess;
  }

  // The rule is in gh/ops/kmeans.hpp. It is rare and small: the host does it.
  cudaError_t fill_empty() {
    std::vector<double> distances, sums(size_t(p_.clusters) * p_.width);
    std::vector<int> labels(p_.rows), counts(p_.clusters), from(p_.clusters), far(p_.rows);
    GH_CUDA_TRY(measure(Measure::distance, &distances));
    GH_CUDA_TRY(read(sums.data(), room_.sums, sums.size()));
    GH_CUDA_TRY(read(labels.data(), p_.labels, labels.size()));
    GH_CUDA_TRY(read(counts.data(), room_.counts, counts.size()));
    std::vector<int> empty;
    for (int j = 0; j < p_.clusters; ++j)
      if (counts[j] == 0) empty.push_back(j);
    std::iota(far.begin(), far.end(), 0);
    const size_t taken = std::min(empty.size(), far.size());
    std::partial_sort(far.begin(), far.begin() + taken, far.end(), [&](int a, int b) {
      return distances[a] != distances[b] ? distances[a] > distances[b] : a < b;
    });
    std::vector<float> row(p_.width);
    for (size_t e = 0; e < taken && distances[far[0]] > 0; ++e) {
      const int i = far[e], to = empty[e], old = labels[i];
      GH_CUDA_TRY(read(row.data(), p_.x + size_t(i) * p_.width, row.size()));
      for (int d = 0; d < p_.width; ++d) {
        sums[size_t(old) * p_.width + d] -= row[d];
        sums[size_t(to) * p_.width + d] = row[d];
      }
      --counts[old];
      counts[to] = 1;
    }
    const int largest =
        static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    for (int j = 0; j < p_.clusters; ++j) from[j] = counts[j] > 0 ? j : largest;
    GH_CUDA_TRY(write(room_.sums, sums));
    GH_CUDA_TRY(write(room_.counts, counts));
    GH_CUDA_TRY(write(room_.from, from));
    return cudaStreamSynchronize(stream_);  // before the vectors go
  }

  template <class T>
  cudaError_t read(T* to, const T* from, size_t count) {
    GH_CUDA_TRY(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    return cudaStreamSynchronize(stream_);
  }
  template <class T>
  cudaError_t write(T* to, const std::vector<T>& from) {
    return cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice,
                           stream_);
  }

  static dim3 blocks(int64_t work, int each) {
    return dim3(static_cast<unsigned>(ceil_div(work, each)));
  }
  size_t bytes_of_centres() const { return size_t(p_.clusters) * p_.width * sizeof(float); }

  KMeansProblem p_;
  cudaStream_t stream_;
  Room room_;
  float *centres_, *next_;
};

}  // namespace

size_t kmeans_workspace(int rows, int width, int clusters) {
  size_t bytes = 0;
  room_in(nullptr, rows, width, clusters, &bytes);
  return bytes;
}

cudaError_t kmeans(const KMeansProblem& problem, void* workspace, cudaStream_t stream,
                   KMeansOutcome* outcome) {
  return Lloyd(problem, workspace, stream).run(outcome);
}

}  // namespace cuda
}  // namespace v1
}  // namespace gh
