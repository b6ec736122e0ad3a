#include "train/optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <string>

namespace gh::host {

Optimizer::Optimizer(std::vector<OptimizedParameter> parameters, double base_rate,
                     double weight_decay)
    : parameters_(std::move(parameters)), base_rate_(base_rate), weight_decay_(weight_decay) {}
Optimizer::~Optimizer() = default;

void Optimizer::step(double scheduled_rate) {
  at::NoGradGuard no_grad;
  begin_step();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const OptimizedParameter& p = parameters_[i];
    at::Tensor gradient = p.tensor.grad();
    if (!gradient.defined()) continue;
    if (weight_decay_ != 0 && p.policy != Policy::no_decay)
      gradient = gradient.add(p.tensor, weight_decay_);
    const double rate = p.policy == Policy::fixed_rate ? base_rate_ : scheduled_rate;
    update(i, p.tensor, gradient, rate * p.rate);
  }
}

void Optimizer::zero_grad() {
  for (OptimizedParameter& p : parameters_) p.tensor.mutable_grad().reset();
}

namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<OptimizedParameter> parameters, const SgdPlan& plan)
      : Optimizer(std::move(parameters), plan.lr, plan.weight_decay),
        plan_(plan),
        velocity_(this->parameters().size()) {}

  void visit_state(State& state) override {
    for (std::size_t i = 0; i < velocity_.size(); ++i)
      state.tensor("velocity." + std::to_string(i), velocity_[i]);
  }

 private:
  void update(std::size_t i, const at::Tensor& p, const at::Tensor& gradient,
              double rate) override {
    at::Tensor direction = gradient;
    if (plan_.momentum != 0) {
      if (velocity_[i].defined())
        velocity_[i].mul_(plan_.momentum).add_(gradient);
      else
        velocity_[i] = gradient.clone();
      direction = plan_.nesterov ? gradient.add(velocity_[i], plan_.momentum) : velocity_[i];
    }
    p.add_(direction, -rate);
  }

  SgdPlan plan_;
  std::vector<at::Tensor> velocity_;
};

class Adam final : public Optimizer {
 public:
  Adam(std::vector<OptimizedParameter> parameters, const AdamPlan& plan)
      : Optimizer(std::move(parameters), plan.lr, plan.weight_decay),
        plan_(plan),
        mean_(this->parameters().size()),
        square_(this->parameters().size()) {}

  void visit_state(State& state) override {
    state.integer("steps", steps_);
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      state.tensor("mean." + std::to_string(i), mean_[i]);
      state.tensor("square." + std::to_string(i), square_[i]);
    }
  }

 private:
  void begin_step() override { ++steps_; }

  void update(std::size_t i, const at::Tensor& p, const at::Tensor& gradient,
              double rate) override {
    if (!mean_[i].defined()) {
      mean_[i] = at::zeros_like(p);
      square_[i] = at::zeros_like(p);
    }
    mean_[i].mul_(plan_.beta1).add_(gradient, 1 - plan_.beta1);
    square_[i].mul_(plan_.beta2).addcmul_(gradient, gradient, 1 - plan_.beta2);
    const double steps = static_cast<double>(steps_);
    const double mean_scale = 1 - std::pow(plan_.beta1, steps);
    const double square_scale = std::sqrt(1 - std::pow(plan_.beta2, steps));
    const at::Tensor spread = square_[i].sqrt().div_(square_scale).add_(plan_.epsilon);
    p.addcdiv_(mean_[i], spread, -rate / mean_scale);
  }

  AdamPlan plan_;
  int64_t steps_ = 0;
  std::vector<at::Tensor> mean_, square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<OptimizedParameter> parameters,
                                    const SgdPlan& plan) {
  return std::make_unique<Sgd>(std::move(parameters), plan);
}
std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters,
                                     const AdamPlan& plan) {
  return std::make_unique<Adam>(std::move(parameters), plan);
}

}  // namespace gh::host
