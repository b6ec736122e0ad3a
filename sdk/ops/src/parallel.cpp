#include "gh/ops/parallel.hpp"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <vector>

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
  // Neighbours, so that what a core wrote in one loop it finds in its own cache in the next.
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  workers = std::min(count, std::max<int64_t>(workers, 1));
  std::vector<Share> shares(workers);
  for (int64_t w = 0; w < workers; ++w) {
    shares[w].next = count * w / workers;
    shares[w].end = count * (w + 1) / workers;
  }
  parallel_indices(workers, [&](int64_t worker) {
    for (int64_t i = 0; i < workers; ++i) {
      Share& share = shares[(worker + i) % workers];
      for (int64_t p; (p = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        work(p, worker);
    }
  });
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
