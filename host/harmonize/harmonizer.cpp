#include "harmonize/harmonizer.hpp"

#include "plugins/component_call.hpp"

#include "gh/error.hpp"
#include "gh/rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_pinv.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <utility>

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

// Of numbers whose sum cannot overflow: logits.
bool all_finite(const at::Tensor& x) { return std::isfinite(x.detach().sum().item<double>()); }

}  // namespace

Harmonizer::Harmonizer(HarmonizePlan plan, const at::Tensor& points, Allocator& allocator,
                       Labels labels, int64_t samples, at::TensorOptions options, Log log)
    : plan_(std::move(plan)),
      points_(points.to(options, /*non_blocking=*/false, /*copy=*/true)),
      allocator_(allocator),
      labels_(std::move(labels)),
      tracker_(samples, points.size(0), plan_.tracker),
      history_(at::zeros({0, points.size(0)}, at::kLong)),
      log_(std::move(log)) {
  points_.set_requires_grad(plan_.learnable);
}

void Harmonizer::share(int64_t rank, Gather gather) {
  rank_ = rank;
  gather_ = std::move(gather);
}

at::Tensor Harmonizer::of_all_ranks(const at::Tensor& rows) const {
  return gather_ ? gather_(rows) : rows;
}

// ---- fitting ----

bool Harmonizer::wants_fit(int64_t epoch) const {
  const int64_t every = allocator_.fit_every();
  const int64_t since = epoch - plan_.tracker.warm_up;
  return every > 0 && since >= 0 && since % every == 0;
}

bool Harmonizer::fits_table() const { return allocator_.query(kFitsTable) != nullptr; }

void Harmonizer::fit(const at::Tensor& embeddings, const at::Tensor& samples, Random random) {
  // Who fits the table can only be shown samples that were seen.
  at::Tensor indices = samples;
  if (fits_table())
    indices = samples.masked_select(tracker_.labels().index_select(0, samples).ge(0));
  FitRequest request;
  request.embeddings = embeddings;
  request.points = points_.detach().to(at::kCPU, at::kDouble).clone();  // as they were
  if (plan_.prior != HarmonizePlan::Prior::uniform) request.prior = prior();
  request.indices = indices;
  if (labels_.for_allocator.defined())
    request.labels = labels_.for_allocator.index_select(0, indices);
  request.random = random;
  if (indices.size(0) > 0) request.table = tracker_.table().index_select(0, indices);
  LoggedReport report(log_);
  const at::Tensor centres =
      call_component(plan_.allocator_name, "fit", [&] { return allocator_.fit(request, report); });
  if (!centres.defined()) return;
  require(centres.sizes() == points_.sizes(), ErrorCode::shape, "the allocator fitted centres ",
          centres.sizes(), " for points ", points_.sizes());
  at::NoGradGuard no_grad;
  points_.copy_(centres);
  // What is remembered was measured from the old points. Logits hold the embedding as far as the
  // points span its space, z = M⁺t, and are measured anew; a softmax does not hold it.
  if (plan_.track == HarmonizePlan::Track::softmax) return tracker_.forget();
  const at::Tensor now = points_.detach().to(at::kCPU, at::kDouble);
  const at::Tensor turn = now.matmul(at::linalg_pinv(request.points, 1e-6)).t().to(at::kFloat);
  tracker_.rewrite([&](const at::Tensor& table) { return unit_rows(table.matmul(turn)); });
}

// ---- the loss ----

double Harmonizer::weight(int64_t epoch) const {
  const int64_t number = epoch - plan_.tracker.warm_up + 1;  // of the epochs with GH, from 1
  if (number <= 0 || plan_.apply == HarmonizePlan::Apply::projector) return 0;
  if (plan_.ramp == 0) return plan_.weight;
  return plan_.weight *
         std::min(1.0, static_cast<double>(number) / static_cast<double>(plan_.ramp));
}

at::Tensor Harmonizer::prior() const {
  if (plan_.prior == HarmonizePlan::Prior::given) return plan_.given_prior;
  if (plan_.prior == HarmonizePlan::Prior::tracked) return tracker_.prior();
  const int64_t points = points_.size(0);
  return at::full({points}, 1.0 / static_cast<double>(points), at::kDouble);
}

at::Tensor Harmonizer::logits(const at::Tensor& z) const {
  require(z.dim() == 2 && z.size(1) == points_.size(1), ErrorCode::shape,
          "harmonize() expects embeddings [batch, ", points_.size(1), "], got ", z.sizes());
  return plan_.logits == HarmonizePlan::Logits::unit ? unit_rows(z.matmul(points_.t()))
                                                     : unit_rows(z).matmul(points_.t());
}

AssignRequest Harmonizer::request_for(const at::Tensor& logits, const at::Tensor& indices,
                                      const Random& random) const {
  AssignRequest request;
  request.random = random;
  request.differentiable = plan_.targets == HarmonizePlan::Targets::joint;
  const at::Tensor shown = plan_.allocate == HarmonizePlan::Allocate::logits
                               ? logits
                               : at::log_softmax(logits / plan_.temperature, 1);
  request.logits = of_all_ranks(request.differentiable ? shown : shown.detach());
  if (plan_.prior != HarmonizePlan::Prior::uniform) request.prior = prior();
  request.indices = of_all_ranks(indices);
  if (labels_.for_allocator.defined())
    request.labels = labels_.for_allocator.index_select(0, request.indices);
  return request;
}

at::Tensor Harmonizer::own_rows(const at::Tensor& targets, const AssignRequest& request,
                                int64_t rows) const {
  require(targets.sizes() == request.logits.sizes(), ErrorCode::shape,
          "the allocator returned targets ", targets.sizes(), " for logits ",
          request.logits.sizes());
  return (request.differentiable ? targets : targets.detach()).narrow(0, rank_ * rows, rows);
}

bool Harmonizer::allocate(View& first, View& second, const at::Tensor& indices,
                          const Random& random) {
  const int64_t rows = first.logits.size(0);
  const bool both = plan_.directions == HarmonizePlan::Directions::both;
  AssignRequest of_first;
  if (both) of_first = request_for(first.logits, indices, random.fork("first"));
  const AssignRequest of_second = request_for(second.logits, indices, random.fork("second"));
  if (!all_finite(of_second.logits) || (both && !all_finite(of_first.logits))) return false;

  LoggedReport report(log_);
  const auto assign = [&](const AssignRequest& request) {
    return call_component(plan_.allocator_name, "assign",
                          [&] { return allocator_.assign(request, report); });
  };
  std::pair<at::Tensor, at::Tensor> targets;
  if (!both)
    targets.second = assign(of_second);
  else if (void* paired = allocator_.query(PairedAllocator::kId))
    targets = call_component(plan_.allocator_name, "assign_both", [&] {
      return static_cast<PairedAllocator*>(paired)->assign_both(of_first, of_second, report);
    });
  else
    targets = {assign(of_first), assign(of_second)};
  if (both) first.targets = own_rows(targets.first, of_first, rows);
  second.targets = own_rows(targets.second, of_second, rows);
  return true;
}

at::Tensor Harmonizer::term(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& indices,
                            bool track, int64_t epoch, const Random& random) {
  const double w = weight(epoch);
  if (w == 0) {
    at::NoGradGuard no_grad;
    if (track) this->track(logits(z1), indices, epoch);
    return at::zeros({}, z1.options().requires_grad(false));
  }
  View first{.logits = logits(z1), .targets = {}};
  View second{.logits = logits(z2), .targets = {}};
  // The step then fails as one with a loss that is not finite, which leaves a record of it.
  if (!allocate(first, second, indices, random))
    return at::full({}, std::numeric_limits<double>::quiet_NaN(), z1.options());
  at::Tensor loss = cross_entropy(second.targets, first.logits, plan_.temperature);
  if (first.targets.defined())
    loss = cross_entropy(first.targets, second.logits, plan_.temperature) + loss;
  log_("loss_gh", loss.item<double>());
  log_("gh_weight", w);
  if (track) this->track(first.logits, indices, epoch);
  return w * loss;
}

bool Harmonizer::projects(int64_t epoch) const {
  return plan_.apply == HarmonizePlan::Apply::projector && epoch >= plan_.tracker.warm_up;
}

at::Tensor Harmonizer::project(const at::Tensor& z, int64_t epoch) const {
  return projects(epoch) ? logits(z) : z;
}

// ---- what is remembered ----

void Harmonizer::track(const at::Tensor& t, const at::Tensor& indices, int64_t epoch) {
  const at::Tensor row = plan_.track == HarmonizePlan::Track::logits
                             ? t.detach()
                             : at::softmax(t.detach() / plan_.temperature, 1);
  const at::Tensor rows = of_all_ranks(row);
  if (all_finite(rows)) tracker_.update(rows, of_all_ranks(indices), epoch);
}

SurrogateStatistics Harmonizer::end_epoch(int64_t epoch) {
  tracker_.end_epoch(epoch);
  history_ = at::cat({history_, tracker_.counts().unsqueeze(0)});
  SurrogateStatistics now = statistics();
  log_statistics(now, log_);
  return now;
}

SurrogateStatistics Harmonizer::statistics() const {
  return measure_surrogates(tracker_.table(), tracker_.labels(), tracker_.counts(), prior(),
                            labels_.for_statistics);
}

void Harmonizer::trainable(Trainables& out) const {
  if (plan_.learnable) out.add(points_, Policy::no_decay, 1.0);
}

void Harmonizer::after_update() {
  if (!plan_.learnable) return;
  at::NoGradGuard no_grad;
  points_.copy_(unit_rows(points_));
}

void Harmonizer::visit_state(State& state) {
  state.tensor("points", points_);
  state.tensor("share_history", history_);
  tracker_.visit_state(state);
  PrefixedState own(state, "allocator.");
  call_component(plan_.allocator_name, "visit_state", [&] { allocator_.visit_state(own); });
}

}  // namespace gh::host
