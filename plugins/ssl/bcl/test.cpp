#include "support/method_trial.hpp"

#include "gh/parts/loss_memory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;

RunFacts facts_of(int64_t samples, at::ScalarType dtype = at::kDouble) {
  RunFacts facts = test::MethodTrial::facts_of(
      {at::zeros({4, 3}, at::TensorOptions(dtype)), at::zeros({4, 3}, at::TensorOptions(dtype))});
  facts.samples = samples;
  facts.per_sample = {"strength"};
  return facts;
}

// What is published.
class Listener final : public testing::FakeHost {
 public:
  using FakeHost::FakeHost;
  std::shared_ptr<Encoder> make_backbone(std::string_view, LayerFactory*) override {
    return std::make_shared<test::StandInEncoder>(3);
  }
  void publish_per_sample(std::string_view name, const at::Tensor& values) override {
    FakeHost::publish_per_sample(name, values);
    strength = values.clone();
  }
  at::Tensor strength;
};

TEST_CASE("the memory of losses and the weights made of it are the published ones", "[parity]") {
  const auto file = test::find_vector("bcl_memory");
  if (!file) return;
  const at::Tensor losses = file->at("loss"), order = file->at("order");
  const int64_t samples = losses.size(1);
  const auto batch = static_cast<int64_t>(test::number(*file, "batch"));
  testing::FakeHost host(facts_of(samples));
  parts::LossMemory memory(test::number(*file, "beta"));
  memory.make(host.facts());
  for (int64_t epoch = 0; epoch < losses.size(0); ++epoch) {
    for (int64_t at = 0; at < samples; at += batch) {
      const at::Tensor indices = order[epoch].narrow(0, at, std::min(batch, samples - at));
      memory.see(host, indices, losses[epoch].index_select(0, indices));
    }
    test::NamedState state;
    memory.visit_state(state, "memory");
    CHECK(test::largest_difference(state.tensors["memory"], file->at("memory")[epoch]) < 2e-6);
    CHECK(test::largest_difference(memory.weights(), file->at("weight")[epoch]) < 5e-6);
    CHECK(test::largest_difference(memory.weights(), file->at("weight_gh_port")[epoch]) < 5e-6);
  }
}

TEST_CASE("bcl publishes the published weights of its memory", "[parity]") {
  const auto file = test::find_vector("bcl_memory");
  if (!file) return;
  const at::Tensor memory = file->at("memory");
  Listener host(facts_of(memory.size(1)));
  const auto method = test::load<SslMethod>("bcl", "projector = \"none\"");
  method->build(host);
  for (int64_t epoch = 0; epoch < memory.size(0); ++epoch) {
    test::NamedState state(true);
    state.tensors["memory"] = memory[epoch].to(at::kDouble);
    method->visit_state(state);
    method->end_epoch(host);
    CHECK(test::largest_difference(host.strength, file->at("weight")[epoch]) < 5e-6);
  }
}

// One step on samples 1, 3, 5 and 7 of nine.
std::vector<double> remembered_after_two_steps(SslMethod& method, Listener& host,
                                               const std::vector<at::Tensor>& views) {
  method.build(host);
  method.train(true);
  method.begin_epoch(host);
  testing::TrainableList trained;
  method.trainable(trained);
  Batch batch;
  batch.views = views;
  batch.indices = at::arange(1, 8, 2, at::kLong);
  batch.global_size = 4;
  std::vector<double> losses;
  for (int i = 0; i < 2; ++i) {
    testing::FakeStep step(trained);
    method.step(batch, step);
    losses.push_back(step.losses.at(0));
  }
  return losses;
}

TEST_CASE("bcl remembers each sample's own contrastive loss, which is simclr's") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}, at::kDouble),
                                         at::randn({4, 3}, at::kDouble)};
  test::MethodTrial plain("simclr", "projector = \"none\"", views);
  const double expected = plain.build().step(views);
  Listener host(facts_of(9));
  const auto method = test::load<SslMethod>("bcl", "projector = \"none\"\nmomentum = 0.75");
  CHECK(remembered_after_two_steps(*method.component, host, views) ==
        std::vector<double>{expected, expected});
  test::NamedState state;
  method->visit_state(state);
  const at::Tensor memory = state.tensors["memory"];
  double sum = 0;
  for (int64_t i = 0; i < 9; ++i) {
    CHECK(std::isnan(memory[i].item<double>()) == (i % 2 == 0));
    if (i % 2 == 1) sum += memory[i].item<double>() / 4;
  }
  CHECK(sum == Approx(expected).epsilon(1e-12));  // the same losses twice
  method->end_epoch(host);
  for (int64_t i = 0; i < 9; i += 2) CHECK(host.strength[i].item<double>() == 0.5);  // never seen
  CHECK(host.strength.min().item<double>() >= 0);
  CHECK(host.strength.max().item<double>() <= 1);
  CHECK((host.strength - 0.5).abs().max().item<double>() == Approx(0.5));
}

TEST_CASE("gradients of bcl are those of finite differences") {
  const std::vector<at::Tensor> views = {test::leaf(at::randn({4, 3}), at::kDouble),
                                         test::leaf(at::randn({4, 3}), at::kDouble)};
  Listener host(facts_of(4));
  const auto method = test::load<SslMethod>("bcl", "projector = \"none\"\ntemperature = 0.5");
  method->build(host);
  method->train(true);
  testing::TrainableList trained;
  Batch batch;
  batch.views = views;
  batch.indices = at::arange(4, at::kLong);
  batch.global_size = 4;
  const auto loss = [&] {
    testing::FakeStep step(trained);
    method->step(batch, step);
    return step.losses.at(0);
  };
  loss();
  CHECK(test::slope_error(views, loss) < 1e-7);
}

TEST_CASE("bcl and bcl_d go on from their state, memory included, and refuse views without boost") {
  for (const std::string id : {"bcl", "bcl_d"}) {
    INFO(id);
    test::CollectedComplaints complaints;
    RunFacts facts = facts_of(9, at::kFloat);
    facts.view_shapes.assign(2, {3, 16, 16});
    const auto method = test::load<SslMethod>(id);
    method->check(facts, complaints);
    CHECK(complaints.text.empty());
    facts.per_sample.clear();
    method->check(facts, complaints);
    CHECK(complaints.text.starts_with(".views: "));
  }
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  RunFacts facts = facts_of(9, at::kFloat), other = facts;
  other.seed = 1;
  Listener one_host(facts), two_host(other);
  const auto one = test::load<SslMethod>("bcl", "embedding = 3");
  const auto two = test::load<SslMethod>("bcl", "embedding = 3");
  remembered_after_two_steps(*one.component, one_host, views);
  two->build(two_host);
  testing::StateMap saved, again;
  one->visit_state(saved);
  testing::StateMap loader = testing::StateMap::loader_of(saved);
  two->visit_state(loader);
  two->visit_state(again);
  CHECK(loader.faults.empty());
  CHECK(saved.difference(again).empty());
  one->end_epoch(one_host);
  two->end_epoch(two_host);
  CHECK(two_host.strength.equal(one_host.strength));
}

}  // namespace
