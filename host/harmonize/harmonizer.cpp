#include "harmonize/harmonizer.hpp"

#include "plugins/component_call.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

namespace gh::host {
namespace {

class LoggedReport final : public AssignReport {
 public:
  explicit LoggedReport(const Harmonizer::Log& log) : log_(log) {}
  void scalar(std::string_view name, double value) override {
    log_("allocator_" + std::string(name), value);
  }

 private:
  const Harmonizer::Log& log_;
};

// An allocator chooses names without knowing the harmonizer's.
class PrefixedState final : public State {
 public:
  PrefixedState(State& state, std::string prefix) : state_(state), prefix_(std::move(prefix)) {}
  bool loading() const override { return state_.loading(); }
  void tensor(std::string_view name, at::Tensor& value) override {
    state_.tensor(prefix_ + std::string(name), value);
  }
  void integer(std::string_view name, int64_t& value) override {
    state_.integer(prefix_ + std::string(name), value);
  }
  void real(std::string_view name, double& value) override {
    state_.real(prefix_ + std::string(name), value);
  }
  void text(std::string_view name, std::string& value) override {
    state_.text(prefix_ + std::string(name), value);
  }

 private:
  State& state_;
  std::string prefix_;
};

at::Tensor cross_entropy(const at::Tensor& targets, const at::Tensor& logits, double temperature) {
  return -(targets * at::log_softmax(logits / temperature, 1)).sum(1).mean();
}

}  // namespace

Harmonizer::Harmonizer(HarmonizePlan plan, const at::Tensor& points, Allocator& allocator,
                       at::Tensor labels, int64_t samples, at::TensorOptions options, Log log)
    : plan_(plan),
      points_(points.to(options, /*non_blocking=*/false, /*copy=*/true)),
      allocator_(allocator),
      labels_(std::move(labels)),
      tracker_(samples, points.size(0), plan.tracker),
      log_(std::move(log)) {
  points_.set_requires_grad(plan.learnable);
}

bool Harmonizer::wants_fit(int64_t epoch) const {
  const int64_t every = allocator_.fit_every();
  const int64_t since = epoch - plan_.tracker.warm_up;
  return every > 0 && since >= 0 && since % every == 0;
}

void Harmonizer::fit(const at::Tensor& embeddings, const at::Tensor& indices, Random random) {
  FitRequest request;
  request.embeddings = embeddings;
  request.points = points_.detach().to(at::kCPU, at::kDouble);
  if (plan_.track_prior) request.prior = tracker_.prior();
  request.indices = indices;
  if (labels_.defined()) request.labels = labels_.index_select(0, indices);
  request.random = random;
  LoggedReport report(log_);
  const at::Tensor centres =
      call_component(plan_.allocator_name, "fit", [&] { return allocator_.fit(request, report); });
  if (!centres.defined()) return;
  require(centres.sizes() == points_.sizes(), ErrorCode::shape, "the allocator fitted centres ",
          centres.sizes(), " for points ", points_.sizes());
  at::NoGradGuard no_grad;
  points_.copy_(centres);
}

double Harmonizer::weight(int64_t epoch) const {
  const int64_t number = epoch - plan_.tracker.warm_up + 1;  // of the epochs with GH, from 1
  if (number <= 0) return 0;
  if (plan_.ramp == 0) return plan_.weight;
  return plan_.weight *
         std::min(1.0, static_cast<double>(number) / static_cast<double>(plan_.ramp));
}

at::Tensor Harmonizer::logits(const at::Tensor& z) const {
  require(z.dim() == 2 && z.size(1) == points_.size(1), ErrorCode::shape,
          "harmonize() expects embeddings [batch, ", points_.size(1), "], got ", z.sizes());
  const at::Tensor s = z.matmul(points_.t());
  return s / s.norm(2, {1}, true).clamp_min(1e-12);
}

void Harmonizer::share(int64_t rank, Gather gather) {
  rank_ = rank;
  gather_ = std::move(gather);
}

at::Tensor Harmonizer::everybodys(const at::Tensor& rows) const {
  return gather_ ? gather_(rows) : rows;
}

void Harmonizer::track(const at::Tensor& t, const at::Tensor& indices, int64_t epoch) {
  tracker_.update(everybodys(t.detach()), everybodys(indices), epoch);
}

at::Tensor Harmonizer::targets(const at::Tensor& t, const at::Tensor& indices) {
  AssignRequest request;
  request.logits = everybodys(t.detach());
  if (plan_.track_prior) request.prior = tracker_.prior();
  request.indices = everybodys(indices);
  if (labels_.defined()) request.labels = labels_.index_select(0, request.indices);
  LoggedReport report(log_);
  const at::Tensor q = call_component(plan_.allocator_name, "assign",
                                      [&] { return allocator_.assign(request, report); });
  require(q.sizes() == request.logits.sizes(), ErrorCode::shape, "the allocator returned targets ",
          q.sizes(), " for logits ", request.logits.sizes());
  return q.detach().narrow(0, rank_ * t.size(0), t.size(0));
}

at::Tensor Harmonizer::term(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& indices,
                            bool track, int64_t epoch) {
  const double w = weight(epoch);
  if (w == 0) {
    at::NoGradGuard no_grad;
    if (track) this->track(logits(z1), indices, epoch);
    return at::zeros({}, z1.options().requires_grad(false));
  }
  const at::Tensor t1 = logits(z1);
  const at::Tensor t2 = logits(z2);
  const at::Tensor loss = cross_entropy(targets(t1, indices), t2, plan_.temperature) +
                          cross_entropy(targets(t2, indices), t1, plan_.temperature);
  log_("loss_gh", loss.item<double>());
  log_("gh_weight", w);
  if (track) this->track(t1, indices, epoch);
  return w * loss;
}

void Harmonizer::trainable(Trainables& out) const {
  if (plan_.learnable) out.add(points_, Policy::no_decay, 1.0);
}

void Harmonizer::after_update() {
  if (!plan_.learnable) return;
  at::NoGradGuard no_grad;
  points_.div_(points_.norm(2, {1}, true).clamp_min(1e-12));
}

void Harmonizer::visit_state(State& state) {
  state.tensor("points", points_);
  tracker_.visit_state(state);
  PrefixedState own(state, "allocator.");
  call_component(plan_.allocator_name, "visit_state", [&] { allocator_.visit_state(own); });
}

}  // namespace gh::host
