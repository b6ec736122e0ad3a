// Classes on axes of their own are told apart by one sample; shuffled labels are not.
#include "gh/testing.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/one_hot.h>

#include <cstdio>

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);
  const auto accuracy = [&](bool shuffled) {
    const auto few_shot = plugins.make<gh::Evaluator>("few_shot", "shots = 1\ndraws = 4");
    const at::Tensor classes = at::arange(40, at::kLong).remainder(4);
    const at::Tensor x = at::one_hot(classes, 4).to(at::kFloat);
    gh::testing::RecordedEvaluation evaluation;
    evaluation.counts = classes.bincount();
    evaluation.give("train", x, classes);
    evaluation.give("test", x, shuffled ? (classes + 1).remainder(4) : classes);
    few_shot->evaluate(evaluation);
    return evaluation.metrics.at("accuracy");
  };
  const double right = accuracy(false), wrong = accuracy(true);
  std::printf("accuracy %g, with other labels %g\n", right, wrong);
  return right == 100 && wrong == 0 ? 0 : 1;
}
