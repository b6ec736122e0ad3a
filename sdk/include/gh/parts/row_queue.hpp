// A ring of embeddings of earlier steps: MoCo's negatives, SwAV's codes. It may be shorter than a
// batch or longer than an epoch, and a multiple of neither. Every rank holds the rows of all.
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/rows.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace gh::parts {

class RowQueue {
 public:
  // Zeros, of which nothing counts as stored.
  void make(const RunFacts& facts, int64_t length, int64_t width) {
    require(length > 0 && width > 0, ErrorCode::internal, "a queue of ", length, " × ", width);
    rows_ = at::zeros({length, width}, at::TensorOptions(facts.device).dtype(facts.dtype));
    next_ = filled_ = 0;
  }
  // Random rows of unit length, which count as stored.
  void fill(Random random) {
    random.fill_normal(rows_, 0.0, 1.0);
    rows_.copy_(unit_rows(rows_));
    filled_ = rows_.size(0);
  }

  const at::Tensor& rows() const { return rows_; }  // [length, width]
  int64_t length() const { return rows_.size(0); }
  bool full() const { return filled_ == rows_.size(0); }

  // Stores the rows of all ranks, [B, width] of each, over the oldest ones. A collective. Written
  // in place: backward passes that need rows() come first.
  void push(Host& host, const at::Tensor& rows) {
    const at::NoGradGuard no_grad;
    const at::Tensor fresh = host.all_gather(rows.detach());
    const int64_t length = rows_.size(0), count = fresh.size(0);
    const int64_t skip = std::max<int64_t>(0, count - length);  // would be overwritten at once
    const at::Tensor slots =
        at::arange(next_ + skip, next_ + count, rows_.options().dtype(at::kLong)).remainder(length);
    rows_.index_copy_(0, slots, fresh.narrow(0, skip, count - skip).to(rows_.scalar_type()));
    next_ = (next_ + count) % length;
    filled_ = std::min(length, filled_ + count);
  }

  void visit_state(State& state, const std::string& prefix) {
    state.tensor(prefix + ".rows", rows_);
    state.integer(prefix + ".next", next_);
    state.integer(prefix + ".filled", filled_);
  }

 private:
  at::Tensor rows_;
  int64_t next_ = 0;    // where the next row goes
  int64_t filled_ = 0;  // rows stored, at most the length
};

}  // namespace gh::parts
