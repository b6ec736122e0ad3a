// Loops over the elements of many tensors, on LibTorch's threads.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gh::host {

// Elements begin … end-1 of one of several items, small enough for three streams of them to fit
// into a core's second cache.
struct Chunk {
  std::size_t item = 0;
  int64_t begin = 0, end = 0;
};
inline constexpr int64_t kChunk = 16384;

// Every element of every item, given their sizes, in order.
std::vector<Chunk> cut_into_chunks(std::span<const int64_t> sizes);

// Calls work(index of the chunk) for each; on this thread alone where it is not worth waking
// others.
void run_chunks(std::span<const Chunk> chunks, c10::function_ref<void(std::size_t index)> work);

// For each item the sum of part(item, begin, end) over its chunks, made on all threads and added up
// in order: the number of threads changes no bit.
std::vector<double> chunked_sums(
    std::span<const int64_t> sizes,
    c10::function_ref<double(std::size_t item, int64_t begin, int64_t end)> part);

}  // namespace gh::host
