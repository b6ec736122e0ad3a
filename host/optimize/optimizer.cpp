#include "optimize/optimizer.hpp"

#include "optimize/dense.hpp"
#include "optimize/parallel.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

namespace gh::host {
namespace {

// The same elements in the parameter's type, place and order.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& other) {
  return at::empty_like(parameter).copy_(other);
}

}  // namespace

Optimizer::Optimizer(std::vector<OptimizedParameter> parameters, double base_rate,
                     double weight_decay)
    : parameters_(std::move(parameters)), base_rate_(base_rate), weight_decay_(weight_decay) {}
Optimizer::~Optimizer() = default;

Optimizer::Move Optimizer::plan_move(std::size_t index, double scheduled_rate) const {
  const OptimizedParameter& p = parameters_[index];
  return {.index = index,
          .parameter = p.tensor,
          .gradient = p.tensor.grad(),
          .rate = p.rate * (p.policy == Policy::fixed_rate ? base_rate_ : scheduled_rate),
          .decay = p.policy == Policy::no_decay ? 0 : weight_decay_,
          .layer_wise = p.policy != Policy::no_decay};
}

void Optimizer::step(double scheduled_rate) {
  const at::NoGradGuard no_grad;
  std::vector<Move> dense;
  std::vector<std::vector<Move>> groups;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Move move = plan_move(i, scheduled_rate);
    if (!move.gradient.defined()) continue;
    prepare(move);
    if (is_dense_on_cpu(move.parameter)) {
      if (!is_dense_on_cpu(move.gradient) || !same_order(move.parameter, move.gradient) ||
          move.gradient.scalar_type() != move.parameter.scalar_type())
        move.gradient = laid_out_like(move.parameter, move.gradient);
      dense.push_back(std::move(move));
      continue;
    }
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) {
      const Move& first = known.front();
      return first.rate == move.rate && first.decay == move.decay &&
             first.layer_wise == move.layer_wise;
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(std::move(move));
  }
  if (!dense.empty()) move_dense(dense);
  for (const std::vector<Move>& group : groups) move_together(group);
}

void Optimizer::move_dense(std::span<const Move> moves) {
  const std::vector<Pass> passes = dense_passes(moves);
  std::vector<int64_t> sizes;
  for (const Move& move : moves) sizes.push_back(move.parameter.numel());
  const std::vector<Chunk> chunks = cut_into_chunks(sizes);
  run_chunks(chunks,
             [&](std::size_t i) { passes[chunks[i].item](chunks[i].begin, chunks[i].end); });
  for (const Move& move : moves)  // written behind autograd's back
    move.parameter.unsafeGetTensorImpl()->bump_version();
}

Optimizer::Lists Optimizer::lists_of(std::span<const Move> moves) {
  Lists out;
  for (const Move& move : moves) {
    out.parameters.push_back(move.parameter);
    out.gradients.push_back(move.gradient);
  }
  return out;
}

void Optimizer::zero_grad() {
  for (OptimizedParameter& p : parameters_) p.tensor.mutable_grad().reset();
}

void Optimizer::visit_moment(State& state, const std::string& name, std::size_t index,
                             at::Tensor& moment) {
  state.tensor(name + "." + std::to_string(index), moment);
  if (!state.loading() || !moment.defined()) return;
  const at::Tensor& p = parameters_[index].tensor;
  require(moment.sizes() == p.sizes(), ErrorCode::io, "the saved state has ", name, ".", index,
          " of shape ", moment.sizes(), ", but the parameter has ", p.sizes());
  const at::NoGradGuard no_grad;
  moment = laid_out_like(p, moment);
}

}  // namespace gh::host
