// The contract of an allocator: which point of the structure each sample is asked to move to.
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/params.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string_view>

namespace gh {
inline namespace v1 {

// Host to plugin; later minors append.
struct AssignRequest {
  at::Tensor logits;            // [N, K] float, cosines between samples and points (rows of unit length)
  at::Tensor prior;             // [K] float64, sums to 1, entries may be zero; undefined: no preference
  at::Tensor indices;           // [N] int64
  at::Tensor labels;            // [N] int64; undefined unless the component declares GH_SEES_LABELS
  bool differentiable = false;  // gradients must flow from targets to logits
};

// What an assignment says about itself, for metrics and warnings.
class GH_API AssignReport {
 public:
  virtual ~AssignReport();
  virtual void scalar(std::string_view name, double value) = 0;  // "residual", "iterations", …
};

// Training thread.
class GH_API Allocator {
 public:
  virtual ~Allocator();
  virtual void check(int64_t points, int64_t batch, Complaints& out) const;
  // Targets [N, K], same dtype and device as the logits, rows sum to 1. Logits of every rank are already gathered.
  virtual at::Tensor assign(const AssignRequest& request, AssignReport& report) = 0;

  // Epochs between fits over the whole training set; 0: never. Before the first assign and then on schedule.
  virtual int64_t fit_every() const;
  // `embeddings` [samples, width]; returns centres [K, width] that replace the structure's points, or undefined.
  virtual at::Tensor fit(const at::Tensor& embeddings, Random random);

  virtual void visit_state(State& state);
  virtual void* query(const char* interface_id);
};

}  // namespace v1
}  // namespace gh
