#include "sinkhorn.hpp"

#include "launch.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gh {
inline namespace v1 {
namespace cuda {
namespace {

// exp(x/ε) with 1/ε in two parts: the product's rounding would be the largest error of all.
struct Exponential {
  float high, low;
  __device__ float operator()(float x) const {
    const float scaled = x * high;
    return expf(scaled) * (1 + fmaf(x, high, -scaled) + x * low);
  }
};

// r before the first iteration, where that of the logits as they are is 1/K.
__device__ float first_r(const SinkhornCase& problem, const Exponential& exponential) {
  return exponential(problem.middle) / problem.columns;
}

Exponential exponential(double epsilon) {
  const float high = static_cast<float>(1 / epsilon);
  return {high, static_cast<float>(1 / epsilon - high)};
}

// ---- One block, one matrix ------------------------------------------------------------------
//
// 512 threads are 64 groups of 8. Group g has rows g, g + 64, …; thread t of a group has columns
// t, t + 8, … of them. The first kHeld rows of a group lie in registers, the others in shared
// memory: 512×100 floats fill 200 of the 256 KB of a register file, which leaves too little to
// compute with. Half of them and what an update needs stay within the 128 registers of a thread.
//
// An iteration reads each element once: the sums of columns that an update of r needs are made as
// soon as the row's new c is there.

constexpr int kThreads = 512;
constexpr int kLanes = 8;
constexpr int kGroups = kThreads / kLanes;
constexpr int kWarps = kThreads / 32;
constexpr int kCasesAtOnce = 16;

struct Cases {
  SinkhornCase items[kCasesAtOnce];
};

// As a kernel takes them.
struct Settings {
  Exponential exponential;
  int iterations;
  float tolerance, relaxation;
};

// powf() would want fifteen registers more; near the fixed point the logarithm is small, and so is
// its error.
__device__ float relaxed(float before, float plain, float relaxation) {
  return before * exp2f(relaxation * log2f(plain / before));
}

// Where the parts of a block's shared memory begin, in floats.
template <int kColumns>
struct Layout {
  // Groups write their sums of columns one group after the other: 8 more than a multiple of 32, so
  // that the four groups of a warp, and the four readers of a column, use different banks.
  static constexpr int kStride = (kColumns * kLanes) | 8;
  static constexpr int kPartial = 0;              // [kGroups, kStride]
  static constexpr int kR = kGroups * kStride;    // [kStride]
  static constexpr int kPrior = kR + kStride;     // [kStride]
  static constexpr int kSums = kPrior + kStride;  // [kWarps]
  static constexpr int kC = kSums + kWarps;       // [rows of a group, kGroups]
};

// Sum over the block, the same in all threads. Two barriers.
__device__ float sum_over_block(float value, float* sums) {
  value = sum_over_lanes<32>(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < kWarps; ++i) total += sums[i];
  __syncthreads();
  return total;
}

__device__ float max_over_block(float value, float* sums) {
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) value = fmaxf(value, sums[i]);
  return value;
}

template <int kColumns>
__device__ float scaled_row(const float (&g)[kColumns], const float (&r)[kColumns]) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kColumns; ++k) sum = fmaf(g[k], r[k], sum);
  return sum_over_lanes<kLanes>(sum);
}

template <int kColumns>
__device__ void add_row(const float (&g)[kColumns], float c, float (&sums)[kColumns]) {
#pragma unroll
  for (int k = 0; k < kColumns; ++k) sums[k] = fmaf(g[k], c, sums[k]);
}

// The row of a group that is number i among those in shared memory.
template <int kColumns>
__device__ void load_row(const float* rest, int i, float (&g)[kColumns]) {
#pragma unroll
  for (int k = 0; k < kColumns; ++k) g[k] = rest[(i * kColumns + k) * kThreads + threadIdx.x];
}

// Zero where the matrix ends.
template <int kColumns>
__device__ void read_row(const SinkhornCase& problem, const Exponential& exponential, int row,
                         float (&g)[kColumns]) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int column = lane + k * kLanes;
    const bool inside = row < problem.rows && column < problem.columns;
    g[k] = inside ? exponential(problem.logits[row * problem.columns + column] - problem.middle)
                  : 0.0f;
  }
}

template <int kColumns>
__device__ void write_row(const SinkhornCase& problem, int row, const float (&g)[kColumns],
                          const float (&r)[kColumns]) {
  const int lane = threadIdx.x % kLanes;
  const float inverse = 1 / scaled_row(g, r);
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int column = lane + k * kLanes;
    if (row < problem.rows && column < problem.columns)
      problem.targets[row * problem.columns + column] = g[k] * r[k] * inverse;
  }
}

// Sum of one column over all rows, for each column in four neighbouring threads: thread 4j has that
// of column j. One barrier, before it reads.
template <int kColumns>
__device__ float column_sum(const float (&sums)[kColumns], float* shared) {
  constexpr int kStride = Layout<kColumns>::kStride;
  float* const partial = shared + Layout<kColumns>::kPartial;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
#pragma unroll
  for (int k = 0; k < kColumns; ++k) partial[group * kStride + lane + k * kLanes] = sums[k];
  __syncthreads();
  const int column = threadIdx.x / 4;
  float total = 0;
  if (column < kColumns * kLanes)
    for (int g = threadIdx.x % 4; g < kGroups; g += 4) total += partial[g * kStride + column];
  return sum_over_lanes<4>(total);
}

template <int kColumns, int kHeld>
__global__ void __launch_bounds__(kThreads, 1)
    sinkhorn_block(const Cases cases, const Settings settings) {
  const SinkhornCase problem = cases.items[blockIdx.x];
  using Part = Layout<kColumns>;
  float* const shared = dynamic_shared<float>();
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const int group_rows = (problem.rows + kGroups - 1) / kGroups;
  const float share = 1.0f / problem.rows;
  float* const rest = shared + Part::kC + group_rows * kGroups;

  float held[kHeld][kColumns];
  float sums[kColumns] = {};
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    read_row(problem, settings.exponential, group + i * kGroups, held[i]);
    add_row(held[i], share, sums);
  }
#pragma unroll 1
  for (int i = kHeld; i < group_rows; ++i) {
    float g[kColumns];
    read_row(problem, settings.exponential, group + i * kGroups, g);
    add_row(g, share, sums);
#pragma unroll
    for (int k = 0; k < kColumns; ++k)
      rest[((i - kHeld) * kColumns + k) * kThreads + threadIdx.x] = g[k];
  }

  // Four threads work on a column, the first of them counts. What a column needs lies in shared
  // memory, since registers are for the rows.
  const int column = threadIdx.x / 4;
  const bool counts = threadIdx.x % 4 == 0 && column < problem.columns;
  if (threadIdx.x % 4 == 0 && column < kColumns * kLanes)
    shared[Part::kPrior + column] = column < problem.columns ? problem.prior[column] : 0;
  const bool watched = settings.tolerance > 0 || problem.trace != nullptr;
  float r[kColumns];
  int iteration = 0;
  for (bool last = false; !last;) {
    const float total = column_sum(sums, shared);
    float before = first_r(problem, settings.exponential), now = 0, change = 0;
    if (counts) {
      const float prior = shared[Part::kPrior + column];
      if (iteration > 0) before = shared[Part::kR + column];
      if (prior > 0) {
        now = prior / total;
        if (settings.relaxation != 1 && iteration > 0)
          now = relaxed(before, now, settings.relaxation);
        change = fabsf(now / before - 1);
      }
    }
    if (threadIdx.x % 4 == 0 && column < kColumns * kLanes) shared[Part::kR + column] = now;
    last = iteration + 1 == settings.iterations;
    if (watched || last) {
      change = sum_over_block(change, shared + Part::kSums);
      last = last || change < settings.tolerance;
      if (threadIdx.x == 0) {
        problem.report->change = change;
        problem.report->iterations = iteration + 1;
        if (problem.trace != nullptr) problem.trace[iteration] = change;
      }
    } else {
      __syncthreads();
    }

#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      r[k] = shared[Part::kR + lane + k * kLanes];
      sums[k] = 0;
    }
    const bool plain = settings.relaxation == 1 || iteration == 0 || last;
    const auto update = [&](int i, const float(&g)[kColumns]) {
      const int row = group + i * kGroups;
      const bool inside = row < problem.rows;
      const float sum = scaled_row(g, r);
      float c = inside ? share / sum : 0;
      if (inside && !plain) c = relaxed(shared[Part::kC + row], c, settings.relaxation);
      if (settings.relaxation != 1) {
        __syncwarp();  // all lanes have read the old one
        if (inside && lane == 0) shared[Part::kC + row] = c;
      }
      add_row(g, c, sums);
    };
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (i < group_rows) update(i, held[i]);
#pragma unroll 1
    for (int i = kHeld; i < group_rows; ++i) {
      float g[kColumns];
      load_row(rest, i - kHeld, g);
      update(i, g);
    }
    ++iteration;
  }

  const float total = column_sum(sums, shared);
  float residual = 0;
  if (counts) residual = fabsf(shared[Part::kR + column] * total - shared[Part::kPrior + column]);
  residual = max_over_block(residual, shared + Part::kSums);
  if (threadIdx.x == 0) problem.report->residual = residual;
#pragma unroll
  for (int i = 0; i < kHeld; ++i)
    if (i < group_rows) write_row(problem, group + i * kGroups, held[i], r);
#pragma unroll 1
  for (int i = kHeld; i < group_rows; ++i) {
    float g[kColumns];
    load_row(rest, i - kHeld, g);
    write_row(problem, group + i * kGroups, g, r);
  }
}

struct Variant {
  void (*kernel)(Cases, Settings);
  int columns, held;  // of a thread
  int fixed_floats;   // of shared memory, whatever the number of rows

  size_t shared_bytes(int rows) const {
    const int group_rows = static_cast<int>(ceil_div(rows, kGroups));
    const int rest = std::max(0, group_rows - held) * columns * kThreads;
    return (fixed_floats + group_rows * kGroups + rest) * sizeof(float);
  }
};

template <int kColumns, int kHeld>
constexpr Variant variant() {
  return {sinkhorn_block<kColumns, kHeld>, kColumns, kHeld, Layout<kColumns>::kC};
}

// As many rows as leave nothing to spill (scripts/cuda_check.sh looks). Narrow ones first.
constexpr Variant kVariants[] = {variant<4, 16>(), variant<8, 8>(), variant<13, 4>(),
                                 variant<16, 3>()};

const Variant* variant_for(int rows, int columns, size_t shared_limit) {
  for (const Variant& v : kVariants)
    if (columns <= v.columns * kLanes && v.shared_bytes(rows) <= shared_limit) return &v;
  return nullptr;
}

// ---- Many blocks, matrix in device memory ---------------------------------------------------

struct Linear {
  using Potential = float;  // r and c themselves
  const float* weights;     // exp((logits − middle)/ε), in the place of the targets
  Exponential exponential;

  struct Sum {
    float total = 0;
    __device__ void add(const Sum& other) { total += other.total; }
    __device__ Sum from_lane(int step) const { return {__shfl_xor_sync(kAllLanes, total, step)}; }
  };
  __device__ void add(Sum& sum, size_t i, float potential) const {
    sum.total = fmaf(weights[i], potential, sum.total);
  }
  __device__ static float scale(float mass, const Sum& sum) {
    return mass > 0 ? mass / sum.total : 0.0f;
  }
  __device__ static float first_c(int rows) { return 1.0f / rows; }
  __device__ float first_r(const SinkhornCase& p) const { return cuda::first_r(p, exponential); }
  __device__ static float relax(float before, float plain, float relaxation) {
    return relaxed(before, plain, relaxation);
  }
  __device__ static float ratio(float now, float before) { return now / before; }
  __device__ static float mass(float potential, const Sum& sum) { return potential * sum.total; }
  __device__ float target(size_t i, float r, float c, int rows) const {
    return weights[i] * r * (c * rows);
  }
};

// Exponents and potentials in double: logits/ε of some thousands leave float32 few places behind
// the point. Their differences are small, and exponentials of those are float32.
struct Log {
  using Potential = double;  // logarithms of r and c
  const float* logits;
  double inverse_epsilon;

  // Σ exp of what was added = exp(peak)·total
  struct Sum {
    double peak = -INFINITY;
    float total = 0;
    __device__ void add(const Sum& other) {
      const double top = fmax(peak, other.peak);
      if (top == -INFINITY) return;
      total = total * expf(static_cast<float>(peak - top)) +
              other.total * expf(static_cast<float>(other.peak - top));
      peak = top;
    }
    __device__ Sum from_lane(int step) const {
      return {__shfl_xor_sync(kAllLanes, peak, step), __shfl_xor_sync(kAllLanes, total, step)};
    }
    __device__ double value() const { return peak + log(static_cast<double>(total)); }
  };
  __device__ void add(Sum& sum, size_t i, double potential) const {
    sum.add({logits[i] * inverse_epsilon + potential, 1.0f});
  }
  __device__ static double scale(float mass, const Sum& sum) {
    return mass > 0 ? log(static_cast<double>(mass)) - sum.value() : -INFINITY;
  }
  __device__ static double first_c(int rows) { return -log(static_cast<double>(rows)); }
  __device__ double first_r(const SinkhornCase& p) const { return first_c(p.columns); }
  __device__ static double relax(double before, double plain, float relaxation) {
    return before + relaxation * (plain - before);
  }
  __device__ static float ratio(double now, double before) {
    return expf(static_cast<float>(now - before));
  }
  __device__ static float mass(double potential, const Sum& sum) {
    return potential == -INFINITY ? 0.0f : expf(static_cast<float>(potential + sum.value()));
  }
  __device__ float target(size_t i, double r, double c, int rows) const {
    return expf(static_cast<float>(logits[i] * inverse_epsilon + r + c + log(double(rows))));
  }
};

struct Progress {
  int iterations;  // done
  int last;        // the one that is done is the last one
};

constexpr int kTile = 32;       // columns of a block that sums columns
constexpr int kTileRows = 8;    // rows it works on at a time
constexpr int kRowsAtOnce = 8;  // warps of a block that works on rows
constexpr int kFinishThreads = 256;
constexpr int kPoints = 256;  // threads of a block of elementwise work

// Rows are cut into strips that depend on their number only, so do the sums.
int strip_rows(int rows) { return static_cast<int>(std::max<int64_t>(32, ceil_div(rows, 128))); }
int strips(int rows) { return static_cast<int>(ceil_div(rows, strip_rows(rows))); }

template <class Domain>
struct Arrays {
  Progress* progress;
  typename Domain::Potential* r;  // [columns]
  typename Domain::Potential* c;  // [rows]
  typename Domain::Sum* partial;  // [strips, columns]
};

// The larger domain's; parts begin at multiples of 16 bytes.
size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }

template <class Domain>
Arrays<Domain> arrays(void* workspace, int rows, int columns, size_t* bytes) {
  using Potential = typename Domain::Potential;
  char* const begin = static_cast<char*>(workspace);
  size_t offset = 0;
  const auto take = [&](size_t part) {
    char* const at = begin == nullptr ? nullptr : begin + offset;
    offset += padded(part);
    return at;
  };
  Arrays<Domain> out;
  out.progress = reinterpret_cast<Progress*>(take(sizeof(Progress)));
  out.r = reinterpret_cast<Potential*>(take(columns * sizeof(Potential)));
  out.c = reinterpret_cast<Potential*>(take(rows * sizeof(Potential)));
  out.partial = reinterpret_cast<typename Domain::Sum*>(
      take(size_t(strips(rows)) * columns * sizeof(typename Domain::Sum)));
  if (bytes != nullptr) *bytes = offset;
  return out;
}

__global__ void exponentiate(const SinkhornCase problem, Exponential exponential) {
  const size_t i = size_t(blockIdx.x) * kPoints + threadIdx.x;
  if (i < size_t(problem.rows) * problem.columns)
    problem.targets[i] = exponential(problem.logits[i] - problem.middle);
}

template <class Domain>
__global__ void begin(const SinkhornCase problem, const Domain domain, Arrays<Domain> arrays) {
  const int i = blockIdx.x * kPoints + threadIdx.x;
  if (i == 0) *arrays.progress = {0, 0};
  if (i < problem.rows) arrays.c[i] = Domain::first_c(problem.rows);
  if (i < problem.columns) arrays.r[i] = domain.first_r(problem);
}

// partial[strip, column] of 32 columns a block; iteration −1: whether or not it is over.
template <class Domain>
__global__ void sum_columns(const SinkhornCase problem, const Domain domain, Arrays<Domain> arrays,
                            int strip_rows, int iteration) {
  using Sum = typename Domain::Sum;
  if (iteration >= 0 && arrays.progress->last) return;
  Sum* const shared = dynamic_shared<Sum>();  // [kTileRows, kTile]
  const int column = blockIdx.x * kTile + threadIdx.x;
  const int begin = blockIdx.y * strip_rows;
  const int end = min(begin + strip_rows, problem.rows);
  Sum sum;
  if (column < problem.columns)
    for (int row = begin + threadIdx.y; row < end; row += kTileRows)
      domain.add(sum, size_t(row) * problem.columns + column, arrays.c[row]);
  shared[threadIdx.y * kTile + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= problem.columns) return;
  for (int i = 1; i < kTileRows; ++i) sum.add(shared[i * kTile + threadIdx.x]);
  arrays.partial[size_t(blockIdx.y) * problem.columns + column] = sum;
}

template <class Domain>
__device__ typename Domain::Sum column_total(const Arrays<Domain>& arrays, int columns, int strips,
                                             int column) {
  typename Domain::Sum sum = arrays.partial[column];
  for (int i = 1; i < strips; ++i) sum.add(arrays.partial[size_t(i) * columns + column]);
  return sum;
}

// One block: r, and whether the change is small enough.
template <class Domain>
__global__ void __launch_bounds__(kFinishThreads)
    scale_columns(const SinkhornCase problem, const Settings settings, Arrays<Domain> arrays,
                  int strips, int iteration) {
  using Potential = typename Domain::Potential;
  if (arrays.progress->last) return;
  float* const shared = dynamic_shared<float>();  // [kFinishThreads]
  float change = 0;
  for (int column = threadIdx.x; column < problem.columns; column += kFinishThreads) {
    const Potential before = arrays.r[column];
    const float prior = problem.prior[column];
    Potential now = Domain::scale(prior, column_total(arrays, problem.columns, strips, column));
    if (prior > 0) {
      if (settings.relaxation != 1 && iteration > 0)
        now = Domain::relax(before, now, settings.relaxation);
      change += fabsf(Domain::ratio(now, before) - 1);
    }
    arrays.r[column] = now;
  }
  shared[threadIdx.x] = change;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < kFinishThreads; ++i) change += shared[i];
  arrays.progress->iterations = iteration + 1;
  arrays.progress->last = iteration + 1 == settings.iterations || change < settings.tolerance;
  problem.report->change = change;
  problem.report->iterations = iteration + 1;
  if (problem.trace != nullptr) problem.trace[iteration] = change;
}

// A warp a row.
template <class Domain>
__global__ void scale_rows(const SinkhornCase problem, const Settings settings, const Domain domain,
                           Arrays<Domain> arrays, int iteration) {
  const int row = blockIdx.x * kRowsAtOnce + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= problem.rows || arrays.progress->iterations != iteration + 1) return;
  typename Domain::Sum sum;
  for (int column = lane; column < problem.columns; column += 32)
    domain.add(sum, size_t(row) * problem.columns + column, arrays.r[column]);
  for (int step = 16; step > 0; step /= 2) sum.add(sum.from_lane(step));
  if (lane > 0) return;
  typename Domain::Potential c = Domain::scale(1.0f / problem.rows, sum);
  if (settings.relaxation != 1 && iteration > 0 && !arrays.progress->last)
    c = Domain::relax(arrays.c[row], c, settings.relaxation);
  arrays.c[row] = c;
}

template <class Domain>
__global__ void write_targets(const SinkhornCase problem, const Domain domain,
                              Arrays<Domain> arrays) {
  const size_t i = size_t(blockIdx.x) * kPoints + threadIdx.x;
  if (i >= size_t(problem.rows) * problem.columns) return;
  problem.targets[i] =
      domain.target(i, arrays.r[i % problem.columns], arrays.c[i / problem.columns], problem.rows);
}

// One block.
template <class Domain>
__global__ void __launch_bounds__(kFinishThreads)
    find_residual(const SinkhornCase problem, Arrays<Domain> arrays, int strips) {
  float* const shared = dynamic_shared<float>();  // [kFinishThreads]
  float worst = 0;
  for (int column = threadIdx.x; column < problem.columns; column += kFinishThreads) {
    const float mass =
        Domain::mass(arrays.r[column], column_total(arrays, problem.columns, strips, column));
    worst = fmaxf(worst, fabsf(mass - problem.prior[column]));
  }
  shared[threadIdx.x] = worst;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < kFinishThreads; ++i) worst = fmaxf(worst, shared[i]);
  problem.report->residual = worst;
}

template <class Domain>
cudaError_t solve_in_grid(const SinkhornCase& problem, const Settings& settings,
                          const Domain& domain, void* workspace, cudaStream_t stream) {
  const auto blocks = [](int64_t work, int each) {
    return dim3(static_cast<unsigned>(ceil_div(work, each)));
  };
  const Arrays<Domain> room = arrays<Domain>(workspace, problem.rows, problem.columns, nullptr);
  const int strip = strip_rows(problem.rows), count = strips(problem.rows);
  const auto sums = [&](int iteration) {
    const dim3 grid(static_cast<unsigned>(ceil_div(problem.columns, kTile)), count);
    return launch(sum_columns<Domain>, grid, dim3(kTile, kTileRows),
                  kTile * kTileRows * sizeof(typename Domain::Sum), stream, problem, domain, room,
                  strip, iteration);
  };
  const size_t finish_bytes = kFinishThreads * sizeof(float);

  GH_CUDA_TRY(launch(begin<Domain>, blocks(std::max(problem.rows, problem.columns), kPoints),
                     kPoints, 0, stream, problem, domain, room));
  for (int i = 0; i < settings.iterations; ++i) {
    GH_CUDA_TRY(sums(i));
    GH_CUDA_TRY(launch(scale_columns<Domain>, 1, kFinishThreads, finish_bytes, stream, problem,
                       settings, room, count, i));
    GH_CUDA_TRY(launch(scale_rows<Domain>, blocks(problem.rows, kRowsAtOnce), 32 * kRowsAtOnce, 0,
                       stream, problem, settings, domain, room, i));
  }
  GH_CUDA_TRY(sums(-1));
  GH_CUDA_TRY(
      launch(find_residual<Domain>, 1, kFinishThreads, finish_bytes, stream, problem, room, count));
  return launch(write_targets<Domain>, blocks(int64_t{problem.rows} * problem.columns, kPoints),
                kPoints, 0, stream, problem, domain, room);
}

Settings for_kernels(const SinkhornSettings& s) {
  return {exponential(s.epsilon), s.iterations, static_cast<float>(s.tolerance),
          static_cast<float>(s.relaxation)};
}

}  // namespace

bool sinkhorn_fits_block(int rows, int columns, size_t shared_limit) {
  return variant_for(rows, columns, shared_limit) != nullptr;
}

cudaError_t sinkhorn_in_blocks(std::span<const SinkhornCase> cases,
                               const SinkhornSettings& settings, size_t shared_limit,
                               cudaStream_t stream) {
  for (; !cases.empty(); cases = cases.subspan(std::min<size_t>(cases.size(), kCasesAtOnce))) {
    const auto group = cases.first(std::min<size_t>(cases.size(), kCasesAtOnce));
    Cases packed{};
    int rows = 0, columns = 0;
    for (size_t i = 0; i < group.size(); ++i) {
      packed.items[i] = group[i];
      rows = std::max(rows, group[i].rows);
      columns = std::max(columns, group[i].columns);
    }
    const Variant* const variant = variant_for(rows, columns, shared_limit);
    if (variant == nullptr) return cudaErrorInvalidValue;
    const size_t bytes = variant->shared_bytes(rows);
    GH_CUDA_TRY(cudaFuncSetAttribute(variant->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
    GH_CUDA_TRY(launch(variant->kernel, dim3(static_cast<unsigned>(group.size())), kThreads, bytes,
                       stream, packed, for_kernels(settings)));
  }
  return cudaSuccess;
}

size_t sinkhorn_workspace(int rows, int columns) {
  size_t bytes = 0;
  arrays<Log>(nullptr, rows, columns, &bytes);  // the larger one
  return bytes;
}

cudaError_t sinkhorn_in_grid(const SinkhornCase& problem, const SinkhornSettings& settings,
                             SinkhornScale scale, void* workspace, cudaStream_t stream) {
  const Settings given = for_kernels(settings);
  if (scale == SinkhornScale::log)
    return solve_in_grid(problem, given, Log{problem.logits, 1 / settings.epsilon}, workspace,
                         stream);
  const int64_t elements = int64_t{problem.rows} * problem.columns;
  GH_CUDA_TRY(launch(exponentiate, dim3(static_cast<unsigned>(ceil_div(elements, kPoints))),
                     kPoints, 0, stream, problem, given.exponential));
  return solve_in_grid(problem, given, Linear{problem.targets, given.exponential}, workspace,
                       stream);
}

cudaError_t shared_memory_limit(size_t* bytes) {
  int device = 0, limit = 0;
  GH_CUDA_TRY(cudaGetDevice(&device));
  GH_CUDA_TRY(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  *bytes = limit;
  return cudaSuccess;
}

}  // namespace cuda
}  // namespace v1
}  // namespace gh
