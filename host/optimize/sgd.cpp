// Stochastic gradient descent with momentum, and LARS, which is that with scaled gradients.
#include "optimize/dense.hpp"
#include "optimize/optimizer.hpp"
#include "optimize/parallel.hpp"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace gh::host {
namespace {

class Sgd final : public Optimizer {
 public:
  // With eta > 0: LARS.
  Sgd(std::vector<OptimizedParameter> parameters, const SgdPlan& plan, double eta)
      : Optimizer(std::move(parameters), plan.lr, plan.weight_decay),
        plan_(plan),
        eta_(eta),
        velocity_(this->parameters().size()) {}

  void visit_state(State& state) override {
    for (std::size_t i = 0; i < velocity_.size(); ++i)
      visit_moment(state, "velocity", i, velocity_[i]);
  }

 private:
  // PyTorch begins with velocity = gradient, which is one step from zero.
  void prepare(const Move& move) override {
    if (plan_.momentum != 0 && !velocity_[move.index].defined())
      velocity_[move.index] = at::zeros_like(move.parameter);
  }

  std::vector<Pass> dense_passes(std::span<const Move> moves) override {
    const std::vector<double> scales = layer_scales(moves);
    std::vector<Pass> out;
    for (std::size_t i = 0; i < moves.size(); ++i)
      out.push_back(moves[i].parameter.scalar_type() == at::kFloat
                        ? typed_pass<float>(moves[i], scales[i])
                        : typed_pass<double>(moves[i], scales[i]));
    return out;
  }

  // The direction is own·gradient + carried·velocity: no branch inside the loop.
  template <class T>
  Pass typed_pass(const Move& move, double layer_scale) {
    T* const p = move.parameter.mutable_data_ptr<T>();
    const T* const g = move.gradient.const_data_ptr<T>();
    const T decay = static_cast<T>(move.decay), rate = static_cast<T>(-move.rate);
    const T scale = static_cast<T>(layer_scale);
    if (plan_.momentum == 0)
      return [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) p[i] += rate * (scale * (g[i] + decay * p[i]));
      };
    T* const v = velocity_[move.index].mutable_data_ptr<T>();
    const T momentum = static_cast<T>(plan_.momentum);
    const T own = plan_.nesterov ? T(1) : T(0), carried = plan_.nesterov ? momentum : T(1);
    return [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T gradient = scale * (g[i] + decay * p[i]);
        const T velocity = momentum * v[i] + gradient;
        v[i] = velocity;
        p[i] += rate * (own * gradient + carried * velocity);
      }
    };
  }

  // For each move eta·|p| / |g + decay·p|, or 1 where one of the norms is zero.
  std::vector<double> layer_scales(std::span<const Move> moves) const {
    std::vector<double> out(moves.size(), 1.0);
    std::vector<std::size_t> scaled;
    std::vector<int64_t> sizes;  // twice: for the norms of weights and of gradients
    for (std::size_t i = 0; i < moves.size(); ++i) {
      if (eta_ == 0 || !moves[i].layer_wise) continue;
      scaled.push_back(i);
      sizes.insert(sizes.end(), 2, moves[i].parameter.numel());
    }
    const std::vector<double> sums =
        chunked_sums(sizes, [&](std::size_t item, int64_t begin, int64_t end) {
          const Move& move = moves[scaled[item / 2]];
          return move.parameter.scalar_type() == at::kFloat
                     ? squares<float>(move, item % 2 == 1, begin, end)
                     : squares<double>(move, item % 2 == 1, begin, end);
        });
    for (std::size_t k = 0; k < scaled.size(); ++k)
      if (sums[2 * k] > 0 && sums[2 * k + 1] > 0)
        out[scaled[k]] = eta_ * std::sqrt(sums[2 * k] / sums[2 * k + 1]);
    return out;
  }

  // Σ(g + decay·p)² of the gradient, or Σp².
  template <class T>
  static double squares(const Move& move, bool of_gradient, int64_t begin, int64_t end) {
    const T* const p = move.parameter.const_data_ptr<T>();
    const auto square = [](double x) { return x * x; };
    if (!of_gradient) return sum_lanes(begin, end, [=](int64_t i) { return square(p[i]); });
    const T* const g = move.gradient.const_data_ptr<T>();
    const double decay = move.decay;
    return sum_lanes(begin, end, [=](int64_t i) { return square(g[i] + decay * p[i]); });
  }

  void move_together(std::span<const Move> moves) override {
    auto [parameters, gradients] = lists_of(moves);
    const Move& first = moves.front();
    if (first.decay != 0) gradients = at::_foreach_add(gradients, parameters, first.decay);
    if (eta_ != 0 && first.layer_wise)
      gradients = at::_foreach_mul(gradients, scales_on_device(parameters, gradients));
    if (plan_.momentum != 0) {
      std::vector<at::Tensor> velocities;
      for (const Move& move : moves) velocities.push_back(velocity_[move.index]);
      at::_foreach_mul_(velocities, plan_.momentum);
      at::_foreach_add_(velocities, gradients);
      gradients =
          plan_.nesterov ? at::_foreach_add(gradients, velocities, plan_.momentum) : velocities;
    }
    at::_foreach_add_(parameters, gradients, -first.rate);
  }

  // Scalars on the parameters' device, so that nothing waits for it.
  std::vector<at::Tensor> scales_on_device(at::TensorList parameters,
                                           at::TensorList gradients) const {
    const at::Tensor weight = at::stack(at::_foreach_norm(parameters, 2));
    const at::Tensor gradient = at::stack(at::_foreach_norm(gradients, 2));
    const at::Tensor scale = weight * eta_ / gradient;
    return at::where((weight > 0).logical_and(gradient > 0), scale, at::ones_like(scale)).unbind();
  }

  SgdPlan plan_;
  double eta_;
  std::vector<at::Tensor> velocity_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<OptimizedParameter> parameters,
                                    const SgdPlan& plan) {
  return std::make_unique<Sgd>(std::move(parameters), plan, 0);
}
std::unique_ptr<Optimizer> make_lars(std::vector<OptimizedParameter> parameters,
                                     const LarsPlan& plan) {
  return std::make_unique<Sgd>(
      std::move(parameters),
      SgdPlan{.lr = plan.lr, .momentum = plan.momentum, .weight_decay = plan.weight_decay},
      plan.eta);
}

}  // namespace gh::host
