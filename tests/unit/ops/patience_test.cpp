// Operators whose loops may be long give up when somebody wants the program to stop.
#include "gh/error.hpp"
#include "gh/interrupt.hpp"
#include "gh/ops/kmeans.hpp"
#include "gh/ops/linear_classifier.hpp"
#include "gh/ops/sinkhorn.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <functional>
#include <vector>

namespace {

using namespace gh;

at::Tensor normal(std::vector<int64_t> shape, uint64_t seed) {
  at::Tensor out = at::empty(shape);
  Random(seed).fill_normal(out, 0, 1);
  return out;
}

// As a signal handler does, before the work begins.
class Wish {
 public:
  Wish() { set_interrupted(true); }
  ~Wish() { set_interrupted(false); }
};

bool gives_up(const std::function<void()>& work) {
  const Wish wish;
  try {
    work();
  } catch (const Error& error) {
    return error.code() == ErrorCode::interrupted;
  }
  return false;
}

// Each would go on for hours.
TEST_CASE("long loops give up when the program is to stop") {
  const at::Tensor x = normal({64, 8}, 1);
  CHECK(gives_up([&] {
    const std::vector<ops::SinkhornProblem> both = {{x, {}}, {normal({64, 8}, 2), {}}};
    ops::sinkhorn(both, {.iterations = int64_t{1} << 40});
  }));
  const at::Tensor targets = at::arange(64, at::kLong).remainder(4);
  const ops::LinearClassifier start{at::zeros({4, 8}), at::zeros({4})};
  CHECK(gives_up([&] {
    ops::train_linear(x, targets, start,
                      {.batch = 16, .rates = std::vector<double>(10'000'000, 1e-3)},
                      [](int64_t epoch) { return Random(7, epoch).permutation(64); });
  }));
}

TEST_CASE("a loop that is soon done is not cut off: it may be a part of a step") {
  const at::Tensor x = normal({64, 8}, 1);
  const auto targets = [&] {
    const std::vector<ops::SinkhornProblem> one = {{x, {}}};
    return ops::sinkhorn(one, {.iterations = 50}).front().targets;
  };
  const auto centres = [&] {
    return ops::kmeans(x, x.narrow(0, 0, 4), {.iterations = 10}).centres;
  };
  const at::Tensor t = targets(), c = centres();
  const Wish wish;
  CHECK(targets().equal(t));
  CHECK(centres().equal(c));
}

}  // namespace
