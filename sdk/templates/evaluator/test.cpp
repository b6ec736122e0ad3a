// @NAME@: classes that are points have no spread; their length is that of the points.
#include "gh/testing.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/one_hot.h>

#include <cmath>
#include <cstdio>

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);  // the built library
  const auto evaluator = plugins.make<gh::Evaluator>("@NAME@");
  gh::testing::RecordedEvaluation evaluation;
  const at::Tensor classes = at::arange(12, at::kLong).remainder(3);
  evaluation.give("test", 2 * at::one_hot(classes, 3).to(at::kFloat), classes);
  evaluator->evaluate(evaluation);
  const double norm = evaluation.metrics.at("norm"), spread = evaluation.metrics.at("spread");
  std::printf("norm %g, spread %g\n", norm, spread);
  return std::abs(norm - 2) < 1e-6 && std::abs(spread) < 1e-6 ? 0 : 1;
}
