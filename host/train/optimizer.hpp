// Optimisers on the parameters a method hands over, with PyTorch's arithmetic.
#pragma once

#include "gh/ssl.hpp"
#include "gh/state.hpp"

#include <memory>
#include <vector>

namespace gh::host {

struct OptimizedParameter {
  at::Tensor tensor;
  Policy policy = Policy::normal;
  double rate = 1;  // multiplies the learning rate
};

class Optimizer {
 public:
  virtual ~Optimizer();
  void step(double scheduled_rate);  // parameters without a gradient stay as they are
  void zero_grad();
  double base_rate() const { return base_rate_; }
  const std::vector<OptimizedParameter>& parameters() const { return parameters_; }
  virtual void visit_state(State& state) = 0;

 protected:
  Optimizer(std::vector<OptimizedParameter> parameters, double base_rate, double weight_decay);
  // One parameter; `gradient` has weight decay added.
  virtual void update(std::size_t index, const at::Tensor& parameter, const at::Tensor& gradient,
                      double rate) = 0;
  virtual void begin_step() {}

 private:
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

struct AdamPlan {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};
std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters,
                                     const AdamPlan& plan);

}  // namespace gh::host
