#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::MethodTrial;

TEST_CASE("random leaves its encoder as it was drawn, whatever the optimiser does") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  MethodTrial trial("random", "", views);
  const auto encoder = std::make_shared<test::LinearEncoder>(at::randn({2, 3}), at::randn({2}));
  trial.host.encoders["encoder"] = encoder;
  trial.build();
  for (const NamedTensor& p : encoder->parameters())
    for (const at::Tensor& trained : trial.trained.parameters)
      CHECK_FALSE(trained.is_same(p.tensor));
  CHECK(trial.step(views) == 0.0);
  for (const NamedTensor& p : encoder->parameters()) CHECK_FALSE(p.tensor.grad().defined());
  CHECK(trial.host.values.contains("effective_rank"));
}

TEST_CASE("random's own number is trained at a rate of zero") {
  struct Rates final : Trainables {
    void add(const at::Tensor&, Policy policy, double rate) override {
      CHECK(policy == Policy::no_decay);
      CHECK(rate == 0.0);
      ++count;
    }
    int count = 0;
  } rates;
  MethodTrial trial("random", "", {at::randn({4, 3}), at::randn({4, 3})});
  trial.build().method->trainable(rates);
  CHECK(rates.count == 1);
}

TEST_CASE("random's state holds its encoder") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  MethodTrial one("random", "", views), two("random", "", views);
  for (MethodTrial* trial : {&one, &two}) {
    trial->host.encoders["encoder"] =
        std::make_shared<test::LinearEncoder>(at::randn({2, 3}), at::randn({2}));
    trial->build();
  }
  CHECK_FALSE(two.method->embed(views[0]).equal(one.method->embed(views[0])));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.method->embed(views[0]).equal(one.method->embed(views[0])));
}

}  // namespace
