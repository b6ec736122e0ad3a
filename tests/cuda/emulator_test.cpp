#include "emulator.hpp"

#include "cuda/orders.hpp"

#include <catch2/catch.hpp>

namespace {

using gh::emulator::machine;
using gh::test::same_in_all_orders;

template <class... Expected, class... Given>
void run(void (*kernel)(Expected...), dim3 grid, dim3 block, size_t shared, Given... arguments) {
  cudaLaunchConfig_t config{grid, block, shared, nullptr};
  REQUIRE(cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess);
}

// What a kernel that must fail says.
template <class... Expected, class... Given>
std::string complaint(void (*kernel)(Expected...), dim3 block, Given... arguments) {
  cudaLaunchConfig_t config{1, block, 0, nullptr};
  try {
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
  } catch (const gh::emulator::Error& error) {
    return error.what();
  }
  return "nothing";
}

__global__ void sum_with_dynamic_memory(const int* x, int count, int* out) {
  int* const shared = static_cast<int*>(machine.shared());
  const int t = threadIdx.x, threads = blockDim.x;
  int sum = 0;
  for (int i = blockIdx.x * threads + t; i < count; i += threads * gridDim.x) sum += x[i];
  shared[t] = sum;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

// Only warp 0 takes part in the second stage.
__global__ void sum_with_shuffles(const int* x, int count, int* out) {
  __shared__ int warps[32];
  const int t = threadIdx.x, lane = t % 32;
  int sum = 0;
  for (int i = t; i < count; i += blockDim.x) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (lane == 0) warps[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = t < static_cast<int>(blockDim.x / 32) ? warps[t] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (t == 0) *out = sum;
}

__global__ void shuffle(int width, int amount, int* out) {
  const int lane = threadIdx.x % 32, t = threadIdx.x;
  int* const own = out + 4 * t;
  own[0] = __shfl_sync(0xffffffff, lane, amount, width);
  own[1] = __shfl_up_sync(0xffffffff, lane, amount, width);
  own[2] = __shfl_down_sync(0xffffffff, lane, amount, width);
  own[3] = __shfl_xor_sync(0xffffffff, lane, amount, width);
}

__global__ void shuffle_in_halves(double* out) {
  const unsigned mask = threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000;
  double sum = threadIdx.x;
  if (mask == 0xffff)  // the other half is elsewhere meanwhile
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
  else
    for (int step = 8; step > 0; step /= 2) sum -= __shfl_xor_sync(mask, sum, step);
  out[threadIdx.x] = sum;
}

__global__ void vote(unsigned* out) {
  out[threadIdx.x] = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
}

__global__ void leave_early(int first, int last, int* counts) {
  atomicAdd(&counts[0], 1);
  if (static_cast<int>(threadIdx.x) < first || static_cast<int>(threadIdx.x) >= last) return;
  __syncthreads();
  atomicAdd(&counts[1], 1);
  __syncthreads();
  counts[2 + threadIdx.x] = counts[1];
}

__global__ void wait_at_two_places() {
  if (threadIdx.x == 3)
    __syncthreads();
  else
    __syncwarp();
}

__global__ void wait_at_two_barriers() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

__global__ void use_masks_that_differ() {
  const unsigned mask = threadIdx.x == 5 ? 0x3f : 0xffffffff;
  __shfl_sync(mask, 1, 0);
}

__global__ void use_a_mask_of_others() { __syncwarp(0x2); }

__global__ void use_an_odd_width() { __shfl_sync(0xffffffff, 1, 0, 12); }

// The neighbour's value of before, or of after: a barrier is missing.
__global__ void race(int* out) {
  __shared__ int values[64];
  const int t = threadIdx.x;
  values[t] = 0;
  __syncthreads();
  values[t] = t + 1;
  out[t] = values[(t + 1) % 64];
}

__global__ void read_what_nobody_wrote(float* out) {
  __shared__ float values[32];
  if (blockIdx.x == 0) values[threadIdx.x] = 1;
  out[2 * threadIdx.x] = values[threadIdx.x];
  out[2 * threadIdx.x + 1] = static_cast<float*>(machine.shared())[threadIdx.x];
}

__global__ void read_from_absent_lane(float* out) {
  if (threadIdx.x == 7) return;
  out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1.0f, 1);
}

__global__ void fill_large_array(int* out) {
  int values[20000];
  for (int i = 0; i < 20000; ++i) values[i] = i + static_cast<int>(threadIdx.x);
  __syncthreads();
  int sum = 0;
  for (const int v : values) sum = (sum + v) % 1000003;
  out[threadIdx.x] = sum;
}

__global__ void note_index(int* out) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += block * 100 + thread;
}

std::vector<int> numbers(int count) {
  std::vector<int> out(count);
  for (int i = 0; i < count; ++i) out[i] = i * 37 % 101;
  return out;
}

}  // namespace

TEST_CASE("emulator: reductions of blocks are right for any number of warps") {
  const std::vector<int> x = numbers(10007);
  const int expected = std::accumulate(x.begin(), x.end(), 0);
  for (const int threads : {32, 64, 128, 512, 1024}) {
    CHECK(expected == same_in_all_orders([&] {
            std::vector<int> out(3, -1);
            run(sum_with_dynamic_memory, 3, threads, threads * sizeof(int), x.data(), 10007,
                out.data());
            return out[0] + out[1] + out[2];
          }));
    CHECK(expected == same_in_all_orders([&] {
            int out = -1;
            run(sum_with_shuffles, 1, threads, 0, x.data(), 10007, &out);
            return out;
          }));
  }
}

TEST_CASE("emulator: shuffles of every kind and width") {
  for (const int width : {1, 2, 4, 8, 16, 32})
    for (const int amount : {0, 1, 2, 3, 5, 16, 31}) {
      const std::vector<int> out = same_in_all_orders([&] {
        std::vector<int> values(4 * 64, -1);
        run(shuffle, 1, 64, 0, width, amount, values.data());
        return values;
      });
      bool right = true;
      for (int t = 0; t < 64; ++t) {
        const int lane = t % 32, begin = lane / width * width, end = begin + width;
        const int up = lane - amount, down = lane + amount, other = lane ^ amount;
        right = right && out[4 * t] == begin + amount % width;
        right = right && out[4 * t + 1] == (up >= begin ? up : lane);
        right = right && out[4 * t + 2] == (down < end ? down : lane);
        right = right && out[4 * t + 3] == (other < end ? other : lane);
      }
      INFO("width " << width << ", amount " << amount);
      CHECK(right);
    }
}

TEST_CASE("emulator: lanes outside of a mask are not waited for") {
  const std::vector<double> out = same_in_all_orders([] {
    std::vector<double> values(64);
    run(shuffle_in_halves, 1, 64, 0, values.data());
    return values;
  });
  CHECK(out[3] == 120);   // 0 + … + 15
  CHECK(out[40] == 632);  // 32 + … + 47
  CHECK(out[16] == 0);    // 16 − 24 − …: differences of differences
}

TEST_CASE("emulator: a vote has a bit for each lane that is there") {
  std::vector<unsigned> out(40);
  run(vote, 1, 40, 0, out.data());
  CHECK(out[0] == 0x49249249);
  CHECK(out[39] == 0x92);  // lanes 33, 36 and 39
}

TEST_CASE("emulator: threads that ended are not waited for") {
  // The last ones leave, thread 0 leaves, all but one leave.
  for (const auto& [first, last] : {std::pair{0, 100}, {1, 128}, {77, 78}}) {
    std::vector<int> counts(2 + 128, -1);
    counts[0] = counts[1] = 0;
    run(leave_early, 1, 128, 0, first, last, counts.data());
    CHECK(counts[0] == 128);
    CHECK(counts[1] == last - first);
    for (int t = 0; t < 128; ++t)
      CHECK(counts[2 + t] == (t >= first && t < last ? last - first : -1));
  }
}

TEST_CASE("emulator: waiting for threads that wait elsewhere is an error that names both") {
  using Catch::Contains;
  const std::string mixed = complaint(wait_at_two_places, 32);
  CHECK_THAT(mixed, Contains("thread (0, 0, 0) of block (0, 0, 0) waits for __syncwarp"));
  CHECK_THAT(mixed, Contains("thread (3, 0, 0) of block (0, 0, 0) waits for __syncthreads"));
  CHECK_THAT(mixed, Contains("emulator_test.cpp:"));
  CHECK_THAT(complaint(wait_at_two_barriers, 64), Contains("thread (32, 0, 0)"));
  CHECK_THAT(complaint(use_masks_that_differ, 32), Contains("with mask 3f"));
  CHECK_THAT(complaint(use_a_mask_of_others, 32), Contains("is not in the mask"));
  CHECK_THAT(complaint(use_an_odd_width, 32), Contains("power of two"));
  int sum = 0;  // and the machine still works
  const std::vector<int> x(100, 1);
  run(sum_with_shuffles, 1, 64, 0, x.data(), 100, &sum);
  CHECK(sum == 100);
}

TEST_CASE("emulator: a missing barrier shows as a difference between orders") {
  std::vector<int> forward(64), reverse(64);
  run(race, 1, 64, 0, forward.data());
  machine.order = gh::emulator::Order::reverse;
  run(race, 1, 64, 0, reverse.data());
  machine.order = gh::emulator::Order::forward;
  CHECK(forward != reverse);
}

TEST_CASE("emulator: shared memory and absent lanes hold NaN") {
  std::vector<float> out(64);
  run(read_what_nobody_wrote, 2, 32, 32 * sizeof(float), out.data());
  for (const float x : out) CHECK(std::isnan(x));
  std::vector<float> lanes(32);
  run(read_from_absent_lane, 1, 32, 0, lanes.data());
  CHECK(std::isnan(lanes[6]));
  CHECK(lanes[5] == 1);
}

TEST_CASE("emulator: threads have room for large arrays") {
  std::vector<int> out(96);
  run(fill_large_array, 1, 96, 0, out.data());
  for (int64_t t = 0; t < 96; ++t)
    CHECK(out[t] == (int64_t{20000} * 19999 / 2 + 20000 * t) % 1000003);
}

TEST_CASE("emulator: every thread of every block runs once and knows its place") {
  std::vector<int> out(2 * 3 * 2 * 4 * 3 * 2);
  run(note_index, dim3(2, 3, 2), dim3(4, 3, 2), 0, out.data());
  for (int i = 0; i < static_cast<int>(out.size()); ++i) CHECK(out[i] == i / 24 * 100 + i % 24);
}

TEST_CASE("emulator: what a device refuses is refused") {
  std::vector<int> out(2048);
  const auto status = [&](dim3 grid, dim3 block, size_t shared) {
    cudaLaunchConfig_t config{grid, block, shared, nullptr};
    return cudaLaunchKernelEx(&config, note_index, out.data());
  };
  CHECK(status(1, 1025, 0) != cudaSuccess);
  CHECK(status(0, 32, 0) != cudaSuccess);
  CHECK(status(1, 0, 0) != cudaSuccess);
  CHECK(status(dim3(1, 65536), 1, 0) != cudaSuccess);
  CHECK(status(1, 32, 50 << 10) != cudaSuccess);
  const auto ask = [](int bytes) {
    return cudaFuncSetAttribute(note_index, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  CHECK(ask(50 << 10) == cudaSuccess);
  CHECK(status(1, 32, 50 << 10) == cudaSuccess);
  CHECK(ask(200 << 10) != cudaSuccess);
}
