// Which optimiser a recipe asks for, and how one is made of that.
#pragma once

#include "optimize/optimizer.hpp"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace gh::host {

struct OptimizerPlan {
  std::variant<SgdPlan, LarsPlan, AdamPlan> rule;
  bool decay_bias_and_norm = false;  // parameters with at most one dimension, too

  int64_t moments() const;  // that are kept of each parameter
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerPlan& plan,
                                          std::vector<OptimizedParameter> parameters);

}  // namespace gh::host
