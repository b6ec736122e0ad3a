#include "optimize/parallel.hpp"

#include "gh/ops/parallel.hpp"

#include <algorithm>

namespace gh::host {

std::vector<Chunk> cut_into_chunks(std::span<const int64_t> sizes) {
  std::vector<Chunk> out;
  for (std::size_t item = 0; item < sizes.size(); ++item)
    for (int64_t begin = 0; begin < sizes[item]; begin += kChunk)
      out.push_back({item, begin, std::min(sizes[item], begin + kChunk)});
  return out;
}

void run_chunks(std::span<const Chunk> chunks, c10::function_ref<void(std::size_t index)> work) {
  int64_t elements = 0;
  for (const Chunk& chunk : chunks) elements += chunk.end - chunk.begin;
  if (elements > kChunk)
    return ops::parallel_indices(static_cast<int64_t>(chunks.size()),
                                 [&](int64_t i) { work(static_cast<std::size_t>(i)); });
  for (std::size_t i = 0; i < chunks.size(); ++i) work(i);
}

std::vector<double> chunked_sums(
    std::span<const int64_t> sizes,
    c10::function_ref<double(std::size_t item, int64_t begin, int64_t end)> part) {
  const std::vector<Chunk> chunks = cut_into_chunks(sizes);
  std::vector<double> parts(chunks.size());
  run_chunks(chunks, [&](std::size_t i) {
    parts[i] = part(chunks[i].item, chunks[i].begin, chunks[i].end);
  });
  std::vector<double> sums(sizes.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) sums[chunks[i].item] += parts[i];
  return sums;
}

}  // namespace gh::host
