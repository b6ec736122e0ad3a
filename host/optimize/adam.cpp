// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
#include "optimize/optimizer.hpp"

#include "gh/error.hpp"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace gh::host {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(std::vector<OptimizedParameter> parameters, const AdamPlan& plan)
      : Optimizer(std::move(parameters), plan.lr, plan.weight_decay),
        plan_(plan),
        steps_(at::zeros({static_cast<int64_t>(this->parameters().size())}, at::kLong)),
        mean_(this->parameters().size()),
        square_(this->parameters().size()) {}

  void visit_state(State& state) override {
    state.tensor("steps", steps_);
    require(steps_.dim() == 1 && steps_.numel() == static_cast<int64_t>(mean_.size()),
            ErrorCode::io, "the saved state counts steps of ", steps_.numel(), " parameters, not ",
            mean_.size());
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      visit_moment(state, "mean", i, mean_[i]);
      visit_moment(state, "square", i, square_[i]);
    }
  }

 private:
  void prepare(const Move& move) override {
    ++steps_.mutable_data_ptr<int64_t>()[move.index];
    if (mean_[move.index].defined()) return;
    mean_[move.index] = at::zeros_like(move.parameter);
    square_[move.index] = at::zeros_like(move.parameter);
  }

  // p −= rate·(mean/(1−β1ᵗ)) / (√(square/(1−β2ᵗ)) + ε), with t the steps of this parameter.
  struct Correction {
    double rate;    // −rate/(1−β1ᵗ)
    double spread;  // 1/√(1−β2ᵗ)
  };
  Correction correction(const Move& move) const {
    const double t = static_cast<double>(steps_.const_data_ptr<int64_t>()[move.index]);
    return {.rate = -move.rate / (1 - std::pow(plan_.beta1, t)),
            .spread = 1 / std::sqrt(1 - std::pow(plan_.beta2, t))};
  }

  std::vector<Pass> dense_passes(std::span<const Move> moves) override {
    std::vector<Pass> out;
    for (const Move& move : moves)
      out.push_back(move.parameter.scalar_type() == at::kFloat ? typed_pass<float>(move)
                                                               : typed_pass<double>(move));
    return out;
  }

  template <class T>
  Pass typed_pass(const Move& move) {
    T* const p = move.parameter.mutable_data_ptr<T>();
    const T* const g = move.gradient.const_data_ptr<T>();
    T* const m = mean_[move.index].mutable_data_ptr<T>();
    T* const s = square_[move.index].mutable_data_ptr<T>();
    const Correction corrected = correction(move);
    const T rate = static_cast<T>(corrected.rate), spread = static_cast<T>(corrected.spread);
    const T beta1 = static_cast<T>(plan_.beta1), beta2 = static_cast<T>(plan_.beta2);
    const T new1 = static_cast<T>(1 - plan_.beta1), new2 = static_cast<T>(1 - plan_.beta2);
    const T epsilon = static_cast<T>(plan_.epsilon);
    const T penalty = static_cast<T>(plan_.decoupled ? 0 : move.decay);
    const T keep = static_cast<T>(plan_.decoupled ? 1 - move.rate * move.decay : 1);
    return [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T gradient = g[i] + penalty * p[i];
        const T mean = beta1 * m[i] + new1 * gradient;
        const T square = beta2 * s[i] + new2 * gradient * gradient;
        m[i] = mean;
        s[i] = square;
        p[i] = keep * p[i] + rate * (mean / (std::sqrt(square) * spread + epsilon));
      }
    };
  }

  void move_together(std::span<const Move> moves) override {
    auto [parameters, gradients] = lists_of(moves);
    std::vector<at::Tensor> means, squares;
    std::vector<at::Scalar> rates, spreads;
    for (const Move& move : moves) {
      means.push_back(mean_[move.index]);
      squares.push_back(square_[move.index]);
      rates.emplace_back(correction(move).rate);
      spreads.emplace_back(correction(move).spread);
    }
    const Move& first = moves.front();
    if (plan_.decoupled && first.decay != 0)
      at::_foreach_mul_(parameters, 1 - first.rate * first.decay);
    else if (first.decay != 0)
      gradients = at::_foreach_add(gradients, parameters, first.decay);
    at::_foreach_mul_(means, plan_.beta1);
    at::_foreach_add_(means, gradients, 1 - plan_.beta1);
    at::_foreach_mul_(squares, plan_.beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - plan_.beta2);
    const std::vector<at::Tensor> spread = at::_foreach_sqrt(squares);
    at::_foreach_mul_(spread, spreads);
    at::_foreach_add_(spread, plan_.epsilon);
    at::_foreach_addcdiv_(parameters, means, spread, rates);
  }

  AdamPlan plan_;
  at::Tensor steps_;  // [parameters] int64: a parameter without a gradient takes none
  std::vector<at::Tensor> mean_, square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters,
                                     const AdamPlan& plan) {
  return std::make_unique<Adam>(std::move(parameters), plan);
}

}  // namespace gh::host
