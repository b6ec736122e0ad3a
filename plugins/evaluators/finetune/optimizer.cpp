#include "optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

namespace tuning {
namespace {

constexpr double kMomentum = 0.9;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

}  // namespace

Optimizer::Optimizer(std::vector<TrainedTensor> trained, double weight_decay)
    : trained_(std::move(trained)), weight_decay_(weight_decay) {}

void Optimizer::step(double rate) {
  at::NoGradGuard no_grad;
  begin_step();
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    TrainedTensor& t = trained_[i];
    if (!t.value.grad().defined()) continue;
    at::Tensor gradient = std::exchange(t.value.mutable_grad(), at::Tensor());
    if (weight_decay_ != 0) gradient = gradient.add(t.value, weight_decay_);
    move(i, t.value, std::move(gradient), rate * t.rate_factor);
  }
}

Sgd::Sgd(std::vector<TrainedTensor> trained, Momentum momentum, double weight_decay)
    : Optimizer(std::move(trained), weight_decay), momentum_(momentum), velocity_(size()) {}

void Sgd::move(std::size_t index, const at::Tensor& value, at::Tensor gradient, double rate) {
  at::Tensor& velocity = velocity_[index];
  if (!velocity.defined()) velocity = at::zeros_like(value);
  velocity.mul_(kMomentum).add_(gradient);
  value.add_(momentum_ == Momentum::nesterov ? gradient.add_(velocity, kMomentum) : velocity,
             -rate);
}

Adam::Adam(std::vector<TrainedTensor> trained, double weight_decay)
    : Optimizer(std::move(trained), weight_decay), mean_(size()), square_(size()) {}

void Adam::move(std::size_t index, const at::Tensor& value, at::Tensor gradient, double rate) {
  at::Tensor &mean = mean_[index], &square = square_[index];
  if (!mean.defined()) {
    mean = at::zeros_like(value);
    square = at::zeros_like(value);
  }
  mean.mul_(kBeta1).add_(gradient, 1 - kBeta1);
  square.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
  const double t = static_cast<double>(steps_);
  const at::Tensor spread = square.sqrt().div_(std::sqrt(1 - std::pow(kBeta2, t))).add_(kEpsilon);
  value.addcdiv_(mean, spread, -rate / (1 - std::pow(kBeta1, t)));
}

}  // namespace tuning
