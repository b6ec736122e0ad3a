// The contract of an allocator: which point of the structure each sample is asked to move to.
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/params.hpp"
#include "gh/random.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

namespace gh {
inline namespace v1 {

// Known before anything is built. Host to plugin; later minors append.
struct AllocatorFacts {
  // K, of the structure.
  int64_t points = 0;
  // Dimensions of the embedding.
  int64_t width = 0;
  // Rows that assign() sees: all ranks, one call of step().
  int64_t batch = 0;
  // In the training set.
  int64_t samples = 0;
  // 0 unless the component declares GH_SEES_LABELS.
  int64_t classes = 0;
#if GH_SDK_MINOR >= 1
  // Assignments will have AssignRequest::differentiable set. Since 1.1.
  bool differentiable = false;
#endif
};

// Host to plugin; later minors append.
struct AssignRequest {
  // [N, K] float, larger is closer: cosines of samples and points scaled to rows of unit length, or
  // what harmonize.logits and allocate make of them.
  at::Tensor logits;
  // [K] float64, sums to 1, entries may be zero; undefined: no preference.
  at::Tensor prior;
  // [N] int64, position in the training set.
  at::Tensor indices;
  // [N] int64; undefined unless the component declares GH_SEES_LABELS.
  at::Tensor labels;
  // Gradients must flow from targets to logits.
  bool differentiable = false;
#if GH_SDK_MINOR >= 1
  // Keyed by seed, stage, step and view; the same on all ranks. Since 1.1.
  Random random{0};
#endif
};

// Host to plugin; later minors append.
struct FitRequest {
  // [n, width] float32, CPU, as SslMethod::embed() gives them in evaluation mode; the same on all
  // ranks.
  at::Tensor embeddings;
  // [K, width] float64, CPU, as they stand.
  at::Tensor points;
  // As in AssignRequest.
  at::Tensor prior;
  // [n] int64, position of each row in the training set.
  at::Tensor indices;
  // [n] int64; undefined unless the component declares GH_SEES_LABELS.
  at::Tensor labels;
  // The same on all ranks.
  Random random{0};
  // [n, K] float32, CPU: tracked logits of each row, a momentum average of AssignRequest::logits;
  // zeros where nothing was tracked.
  at::Tensor table;
};

// Optional: query("gh.fits_table.v1") is not null when fit() reads the table only; the host then
// makes no pass over the data and leaves FitRequest::embeddings undefined.
inline constexpr const char* kFitsTable = "gh.fits_table.v1";

// What an assignment or a fit says about itself, for metrics and warnings.
class GH_API AssignReport {
 public:
  virtual ~AssignReport();
  // "residual", "iterations", …
  virtual void scalar(std::string_view name, double value) = 0;
};

// Training thread.
class GH_API Allocator {
 public:
  virtual ~Allocator();
  virtual void check(const AllocatorFacts& facts, Complaints& out) const;
  // Targets [N, K], same dtype and device as the logits, rows sum to 1. Logits of every rank are
  // already gathered.
  virtual at::Tensor assign(const AssignRequest& request, AssignReport& report) = 0;

  // Epochs between fits over the whole training set; 0: never. Before the first assign and then on
  // schedule.
  virtual int64_t fit_every() const;
  // Returns centres [K, width] that replace the structure's points, or undefined to leave them.
  virtual at::Tensor fit(const FitRequest& request, AssignReport& report);

  virtual void visit_state(State& state);
  virtual void* query(const char* interface_id);
};

// Optional, found by Allocator::query(PairedAllocator::kId): both views of a batch at once, for
// allocators that can share work or threads between them. Training thread.
class GH_API PairedAllocator {
 public:
  static constexpr const char* kId = "gh.paired_allocator.v1";
  virtual ~PairedAllocator();
  // Targets and reports of assign(first), then of assign(second).
  virtual std::pair<at::Tensor, at::Tensor> assign_both(const AssignRequest& first,
                                                        const AssignRequest& second,
                                                        AssignReport& report) = 0;
};

}  // namespace v1
}  // namespace gh
