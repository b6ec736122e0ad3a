// Optimisers on the parameters a method hands over, with PyTorch's arithmetic. On the CPU a step is
// one pass over memory: each thread reads a piece of gradient, parameter and moments, and writes it
// back. Elsewhere parameters of one rate move together, through LibTorch's operators on lists.
#pragma once

#include "gh/ssl.hpp"
#include "gh/state.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct OptimizedParameter {
  at::Tensor tensor = {};
  Policy policy = Policy::normal;
  double rate = 1;  // multiplies the learning rate
};

class Optimizer {
 public:
  virtual ~Optimizer();
  // A parameter without a gradient stays as it is, and so does what is remembered of it.
  void step(double scheduled_rate);
  void zero_grad();
  double base_rate() const { return base_rate_; }
  const std::vector<OptimizedParameter>& parameters() const { return parameters_; }
  virtual void visit_state(State& state) = 0;

 protected:
  Optimizer(std::vector<OptimizedParameter> parameters, double base_rate, double weight_decay);

  // What happens to one parameter in this step.
  struct Move {
    std::size_t index = 0;
    at::Tensor parameter = {}, gradient = {};
    double rate = 0, decay = 0;
    bool layer_wise = true;  // false under Policy::no_decay: no scaling by the layer's norms
  };
  // Moves elements begin … end-1 of one parameter, in the order in which they lie in memory.
  using Pass = std::function<void(int64_t begin, int64_t end)>;

  // Makes the moments that a move needs. Called first, once for each move of a step.
  virtual void prepare(const Move& move) = 0;
  // float32 or float64 on the CPU, dense; gradient and moments lie as the parameter does.
  // One pass for each move.
  virtual std::vector<Pass> dense_passes(std::span<const Move> moves) = 0;
  // Anything else; all of one rate, decay and layer_wise.
  virtual void move_together(std::span<const Move> moves) = 0;

  struct Lists {
    std::vector<at::Tensor> parameters, gradients;
  };
  static Lists lists_of(std::span<const Move> moves);

  // Visits a moment of parameter `index`, which lies in memory as the parameter does.
  void visit_moment(State& state, const std::string& name, std::size_t index, at::Tensor& moment);

 private:
  Move plan_move(std::size_t index, double scheduled_rate) const;
  void move_dense(std::span<const Move> moves);

  std::vector<OptimizedParameter> parameters_;
  double base_rate_;
  double weight_decay_;
};

struct SgdPlan {
  double lr = 0.1, momentum = 0.9, weight_decay = 0;
  bool nesterov = false;
};
std::unique_ptr<Optimizer> make_sgd(std::vector<OptimizedParameter> parameters,
                                    const SgdPlan& plan);

// Layer-wise adaptive rates (You, Gitman and Ginsburg, 2017), as Barlow Twins and MoCo-v3 have it:
// the decayed gradient of a parameter is scaled to eta times the parameter's norm, then SGD with
// momentum follows. Parameters under Policy::no_decay are neither decayed nor scaled.
struct LarsPlan {
  double lr = 0.2, momentum = 0.9, weight_decay = 1e-6, eta = 1e-3;
};
std::unique_ptr<Optimizer> make_lars(std::vector<OptimizedParameter> parameters,
                                     const LarsPlan& plan);

struct AdamPlan {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW: weights shrink by lr·weight_decay, gradients are left alone
};
std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters,
                                     const AdamPlan& plan);

}  // namespace gh::host
