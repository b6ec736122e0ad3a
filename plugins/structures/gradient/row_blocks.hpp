// The rows of a matrix in blocks of a size that depends on their number only, spread over
// LibTorch's threads. Each block is worked on by one thread, so results have the same bits for any
// number of threads.
#pragma once

#include "gh/ops/parallel.hpp"

#include <algorithm>
#include <cstdint>

namespace gradient {

struct RowBlocks {
  explicit RowBlocks(int64_t rows)
      // At least two: a single block would run outside the loop, where LibTorch uses all threads.
      : rows(rows), size(std::min<int64_t>(64, (rows + 1) / 2)), count((rows + size - 1) / size) {}

  // work(block, first row, number of rows)
  template <class Work>
  void each(const Work& work) const {
    gh::ops::parallel_indices(count, [&](int64_t block) {
      const int64_t first = block * size;
      work(block, first, std::min(size, rows - first));
    });
  }

  const int64_t rows, size, count;
};

}  // namespace gradient
