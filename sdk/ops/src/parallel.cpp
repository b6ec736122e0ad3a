#include "gh/ops/parallel.hpp"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>

namespace gh {
inline namespace v1 {
namespace ops {

void parallel_indices(int64_t count, c10::function_ref<void(int64_t index)> work) {
  if (count <= 0) return;
  if (count == 1) return work(0);
  // Elements are never touched; their addresses count.
  at::Tensor places = at::empty({count}, at::kByte);
  const char* const begin = static_cast<const char*>(places.data_ptr());
  at::TensorIterator loop = at::TensorIterator::nullary_op(places);
  loop.for_each(
      [&](char** data, const int64_t*, int64_t inner, int64_t outer) {
        const int64_t first = data[0] - begin;
        for (int64_t i = first; i < first + inner * outer; ++i) work(i);
      },
      /*grain_size=*/1);
}

void parallel_pieces(int64_t count, int64_t workers,
                     c10::function_ref<void(int64_t index, int64_t worker)> work) {
  std::atomic<int64_t> next = 0;
  parallel_indices(std::min(count, std::max<int64_t>(workers, 1)), [&](int64_t worker) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) work(i, worker);
  });
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
