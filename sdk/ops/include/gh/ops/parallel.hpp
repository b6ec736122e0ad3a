// LibTorch's threads for loops of our own. at::parallel_for is a template: in code compiled without
// OpenMP, as ours and most plugins are, it runs on one thread. These loops lie in libghops and go
// through LibTorch. Inside another such loop they run on the calling thread.
#pragma once

#include "gh/export.hpp"

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace gh {
inline namespace v1 {
namespace ops {

// Calls work(i) once for every i in 0 … count-1, on up to at::get_num_threads() threads, each
// taking neighbours; returns when all are done. What one of them throws is thrown here.
GH_API void parallel_indices(int64_t count, c10::function_ref<void(int64_t index)> work);

// The same where pieces of work differ: each worker has a share of neighbours, about the one that
// parallel_indices() would give it, and whoever is done with it helps the others. Workers are
// numbered 0 … workers-1 (at least one), so that each can have scratch memory of its own; two calls
// with the same number never overlap. Which worker takes which piece is not determined.
GH_API void parallel_pieces(int64_t count, int64_t workers,
                            c10::function_ref<void(int64_t index, int64_t worker)> work);

}  // namespace ops
}  // namespace v1
}  // namespace gh
