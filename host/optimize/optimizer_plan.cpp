#include "optimize/optimizer_plan.hpp"

namespace gh::host {
namespace {

int64_t moments_of(const SgdPlan& plan) { return plan.momentum > 0 ? 1 : 0; }
int64_t moments_of(const LarsPlan& plan) { return plan.momentum > 0 ? 1 : 0; }
int64_t moments_of(const AdamPlan&) { return 2; }

using Parameters = std::vector<OptimizedParameter>;

std::unique_ptr<Optimizer> make(const SgdPlan& plan, Parameters parameters) {
  return make_sgd(std::move(parameters), plan);
}
std::unique_ptr<Optimizer> make(const LarsPlan& plan, Parameters parameters) {
  return make_lars(std::move(parameters), plan);
}
std::unique_ptr<Optimizer> make(const AdamPlan& plan, Parameters parameters) {
  return make_adam(std::move(parameters), plan);
}

}  // namespace

int64_t OptimizerPlan::moments() const {
  return std::visit([](const auto& plan) { return moments_of(plan); }, rule);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerPlan& plan, Parameters parameters) {
  if (!plan.decay_bias_and_norm)
    for (OptimizedParameter& p : parameters)
      if (p.tensor.dim() <= 1 && p.policy == Policy::normal) p.policy = Policy::no_decay;
  return std::visit([&](const auto& rule) { return make(rule, std::move(parameters)); }, plan.rule);
}

}  // namespace gh::host
