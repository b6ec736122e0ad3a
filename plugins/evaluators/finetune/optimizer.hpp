// Two small optimisers for networks of an evaluator; the host's belong to the run. Updates are
// those of torch.optim, weight decay is added to the gradient.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <vector>

namespace tuning {

struct TrainedTensor {
  at::Tensor value;        // its grad() is what a step follows
  double rate_factor = 1;  // its rate is this times that of the step
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Moves every tensor that has a gradient, and takes the gradients away.
  void step(double rate);

 protected:
  Optimizer(std::vector<TrainedTensor> trained, double weight_decay);
  std::size_t size() const { return trained_.size(); }

 private:
  virtual void begin_step() {}
  // `gradient` is the callee's to change.
  virtual void move(std::size_t index, const at::Tensor& value, at::Tensor gradient,
                    double rate) = 0;

  std::vector<TrainedTensor> trained_;
  double weight_decay_;
};

enum class Momentum { plain, nesterov };

// v ← 0.9·v + g, and a step along v, or along g + 0.9·v (Nesterov).
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<TrainedTensor> trained, Momentum momentum, double weight_decay);

 private:
  void move(std::size_t index, const at::Tensor& value, at::Tensor gradient, double rate) override;

  Momentum momentum_;
  std::vector<at::Tensor> velocity_;
};

// Kingma and Ba 2015, with β = (0.9, 0.999) and ε = 1e-8.
class Adam final : public Optimizer {
 public:
  Adam(std::vector<TrainedTensor> trained, double weight_decay);

 private:
  void begin_step() override { ++steps_; }
  void move(std::size_t index, const at::Tensor& value, at::Tensor gradient, double rate) override;

  int64_t steps_ = 0;
  std::vector<at::Tensor> mean_, square_;
};

}  // namespace tuning
