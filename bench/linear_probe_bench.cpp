// What bench/linear_probe.py runs: linear classifiers of libghops.
//
//   linear_probe_bench THREADS ROWS TESTS WIDTH CLASSES X TARGETS X_TEST TARGETS_TEST
//
// Files of float32 [ROWS, WIDTH] and int64 [ROWS]. Reads commands from standard input, one a line,
// and answers each with a line of JSON:
//
//   train EPOCHS SEED    {"seconds", "accuracy", "epochs"}: the `gh` protocol with so many epochs
//   fast SEED            the same of the `fast` protocol
//   fit L2               {"seconds", "accuracy", "passes", "objective", "l2"}: the `logistic`
//                        protocol; an L2 of 0 is chosen
#include "frame.hpp"
#include "schedules.hpp"

#include "gh/ops/linear_classifier.hpp"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace gh::bench;
using namespace gh::ops;

int main(int count, char** arguments) {
  if (count != 10) return 64;
  at::set_num_threads(std::stoi(arguments[1]));
  const int64_t rows = std::stoll(arguments[2]), tests = std::stoll(arguments[3]),
                width = std::stoll(arguments[4]), classes = std::stoll(arguments[5]);
  const at::Tensor x = read(arguments[6], {rows, width}, at::kFloat),
                   y = read(arguments[7], {rows}, at::kLong),
                   x_test = read(arguments[8], {tests, width}, at::kFloat),
                   y_test = read(arguments[9], {tests}, at::kLong);
  const auto accuracy = [&](const LinearClassifier& probe) {
    return 100 *
           linear_scores(x_test, probe).argmax(1).eq(y_test).to(at::kDouble).mean().item<double>();
  };
  std::string command;
  while (std::cin >> command) {
    nlohmann::json answer;
    const double began = now();
    if (command == "train" || command == "fast") {
      const bool fast = command == "fast";
      int64_t epochs = 500;
      uint64_t seed = 0;
      if (!fast) std::cin >> epochs;
      std::cin >> seed;
      const std::vector<double> published = gh::probe::gh_rates(epochs, 1e-2);
      const LinearTraining training{
          .l2 = 5e-6, .batch = 1000, .rates = fast ? gh::probe::fast_rates(published) : published};
      const LinearClassifier probe = train_linear(
          x, y, linear_start(classes, width, at::kFloat, gh::Random(seed)), training,
          [&](int64_t epoch) {
            return gh::Random(seed, static_cast<uint64_t>(epoch) + 1).permutation(rows);
          });
      answer = {{"seconds", now() - began},
                {"accuracy", accuracy(probe)},
                {"epochs", training.rates.size()}};
    } else {
      double l2 = 0;
      std::cin >> l2;
      const LogisticRegression regression(x, y, classes);
      const LogisticFit fit =
          l2 > 0 ? regression.fit({.l2 = l2}) : fit_with_chosen_l2(regression, gh::Random(0));
      answer = {{"seconds", now() - began},
                {"accuracy", accuracy(fit.classifier)},
                {"passes", fit.passes},
                {"objective", fit.objective},
                {"l2", fit.l2}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
