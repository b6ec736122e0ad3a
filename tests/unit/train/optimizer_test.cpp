#include "train/optimizer.hpp"

#include "train/state_archive.hpp"

#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using namespace gh::host;

// Minimises (x − 3)²/2 from x = 1 and returns x after each step.
std::vector<double> descend(Optimizer& optimizer, at::Tensor x, int steps, double rate) {
  std::vector<double> path;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    ((x - 3) * (x - 3) / 2).sum().backward();
    optimizer.step(rate);
    path.push_back(x.item<double>());
  }
  return path;
}

at::Tensor start() { return at::full({1}, 1.0, at::kDouble).set_requires_grad(true); }

TEST_CASE("sgd with momentum, decay and Nesterov follows the recurrence") {
  for (const bool nesterov : {false, true}) {
    const at::Tensor x = start();
    const auto sgd =
        make_sgd({{.tensor = x, .policy = Policy::normal, .rate = 1}},
                 {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov});
    const std::vector<double> path = descend(*sgd, x, 5, 0.1);
    double value = 1, velocity = 0;
    for (int i = 0; i < 5; ++i) {
      const double gradient = value - 3 + 0.01 * value;
      velocity = i == 0 ? gradient : 0.9 * velocity + gradient;
      value -= 0.1 * (nesterov ? gradient + 0.9 * velocity : velocity);
      CHECK(path[i] == Approx(value).epsilon(1e-12));
    }
  }
}

TEST_CASE("adam follows the recurrence with bias correction") {
  const at::Tensor x = start();
  const auto adam = make_adam({{.tensor = x, .policy = Policy::normal, .rate = 1}}, {.lr = 0.01});
  const std::vector<double> path = descend(*adam, x, 6, 0.01);
  double value = 1, m = 0, v = 0;
  for (int i = 1; i <= 6; ++i) {
    const double g = value - 3;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    value -= 0.01 * (m / (1 - std::pow(0.9, i))) / (std::sqrt(v / (1 - std::pow(0.999, i))) + 1e-8);
    CHECK(path[i - 1] == Approx(value).epsilon(1e-10));
  }
}

TEST_CASE("policies: no decay, fixed rate, rate factor") {
  const at::Tensor a = start(), b = start(), c = start();
  const auto sgd = make_sgd({{.tensor = a, .policy = Policy::no_decay, .rate = 1},
                             {.tensor = b, .policy = Policy::fixed_rate, .rate = 1},
                             {.tensor = c, .policy = Policy::normal, .rate = 10}},
                            {.lr = 0.5, .momentum = 0, .weight_decay = 0.1, .nesterov = false});
  for (const at::Tensor& t : {a, b, c}) t.sum().backward();
  sgd->step(0.01);
  CHECK(a.item<double>() == Approx(1 - 0.01 * 1));
  CHECK(b.item<double>() == Approx(1 - 0.5 * 1.1));
  CHECK(c.item<double>() == Approx(1 - 0.1 * 1.1));
}

TEST_CASE("an optimiser continues from its saved state as if never stopped") {
  const auto make = [](const at::Tensor& x) {
    return make_adam({{.tensor = x, .policy = Policy::normal, .rate = 1}}, {.lr = 0.01});
  };
  const at::Tensor whole = start();
  descend(*make(whole), whole, 8, 0.01);

  const at::Tensor first = start();
  const auto before = make(first);
  descend(*before, first, 3, 0.01);
  TensorFile file;
  StateSaver saver(file, "optimizer");
  before->visit_state(saver);
  const at::Tensor second = first.detach().clone().set_requires_grad(true);
  const auto after = make(second);
  StateLoader loader(file, "optimizer");
  after->visit_state(loader);
  descend(*after, second, 5, 0.01);
  CHECK(second.equal(whole));
}

TEST_CASE("a state name used twice is refused") {
  TensorFile file;
  StateSaver saver(file, "x");
  int64_t value = 1;
  saver.integer("count", value);
  CHECK_THROWS_WITH(saver.integer("count", value), Catch::Contains("used twice"));
}

}  // namespace
