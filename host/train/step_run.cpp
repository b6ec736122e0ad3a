#include "train/step_run.hpp"

#include "optimize/gradient_norm.hpp"
#include "plan/refusals.hpp"

#include "gh/error.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace gh::host {

void sum_votes(Ranks& ranks, std::span<double> votes) {
  at::Tensor sums = at::tensor(at::ArrayRef<double>(votes.data(), votes.size()), at::kDouble);
  ranks.sum_in_place(sums);
  std::copy_n(sums.data_ptr<double>(), votes.size(), votes.begin());
}

StepRun::StepRun(const Parts& parts, int64_t calls) : parts_(parts), calls_(calls) {
  parts_.optimizer.zero_grad();
  if (parts_.reducer) parts_.reducer->begin_step();
}

void StepRun::begin_call(const LoadedBatch& batch) {
  batch_ = &batch;
  called_ = projected_ = false;
}

void StepRun::end_call() const {
  require(called_, ErrorCode::internal, "the method's step() never called backward()");
  if (projects() && !projected_)  // in the warm-up, too: before anything was trained in vain
    throw PlanRefused("harmonize.apply",
                      parts_.method +
                          " never compares what GH makes of its embeddings (Step::project()), so "
                          "\"projector\" would change nothing; use \"loss\"");
}

void StepRun::backward(const at::Tensor& loss) {
  require(loss.dim() == 0, ErrorCode::shape, "backward() takes a scalar loss, got ", loss.sizes());
  require(!reduced_, ErrorCode::internal,
          "backward() between reduce_gradients() and discard_gradients()");
  const at::Tensor value = loss.detach() / static_cast<double>(calls_);
  total_ = total_.defined() ? total_ + value : value;
  const double factor = parts_.scaler.scale() / static_cast<double>(calls_);
  // Operators of the backward pass follow the types of the forward pass by themselves.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  (factor == 1 ? loss : loss * factor).backward();
  called_ = true;
}

at::Tensor StepRun::harmonize(const at::Tensor& z1, const at::Tensor& z2,
                              const HarmonizeOptions& options) {
  if (!parts_.harmonizer) return at::zeros({}, z1.options().requires_grad(false));
  return parts_.harmonizer->term(z1, z2, batch_->indices, options.track != 0, parts_.epoch,
                                 parts_.random ? parts_.random() : Random(0));
}

void StepRun::reduce_gradients() {
  require(parts_.plan.accumulate == 1, ErrorCode::unsupported,
          "reduce_gradients() with train.accumulate > 1");
  finish({});
}

void StepRun::discard_gradients() {
  require(parts_.plan.accumulate == 1, ErrorCode::unsupported,
          "discard_gradients() with train.accumulate > 1");
  parts_.optimizer.zero_grad();
  if (parts_.reducer) parts_.reducer->begin_step();
  reduced_ = false;
  total_.reset();
}

void* StepRun::query(const char* id) {
  return std::string_view(id) == Projection::kId && projects() ? static_cast<Projection*>(this)
                                                               : nullptr;
}

at::Tensor StepRun::project(const at::Tensor& z) {
  projected_ = true;
  return parts_.harmonizer->project(z, parts_.epoch);
}

bool StepRun::projects() const {
  return parts_.harmonizer && parts_.plan.harmonize->apply == HarmonizePlan::Apply::projector;
}

void StepRun::finish(std::span<double> votes) {
  if (reduced_) return sum_votes(parts_.ranks, votes);
  if (parts_.reducer) parts_.reducer->finish(votes);
  if (const double scale = parts_.scaler.scale(); scale != 1)
    scale_gradients(parts_.optimizer.parameters(), 1 / scale);
  reduced_ = true;
}

double StepRun::loss() const {
  return total_.defined() ? total_.item<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace gh::host
