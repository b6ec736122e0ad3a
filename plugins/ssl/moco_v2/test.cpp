#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

// Vectors have the queue column by column.
at::Tensor rows_of(const at::Tensor& columns) { return columns.t().contiguous(); }

TEST_CASE("moco_v2 makes the published steps: loss, gradients, key weights, queue and pointer",
          "[parity]") {
  const auto file = test::find_vector("mocov2_queue");
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const std::string suffix = dtype == at::kDouble ? "_f64" : "";
    const auto input = [&](const char* name) { return file->at(name).to(dtype); };
    const auto query = std::make_shared<test::LinearEncoder>(input("Wq"), input("bq"));
    MethodTrial trial("moco_v2",
                      "projector = \"none\"\nqueue = " + file->metadata.at("K") +
                          "\nmomentum = " + file->metadata.at("momentum") +
                          "\ntemperature = " + file->metadata.at("temperature"),
                      {input("x_q")[0], input("x_k")[0]});
    trial.host.encoders["encoder"] = query;
    trial.host.encoders["twin"] = std::make_shared<test::LinearEncoder>(input("Wk"), input("bk"));
    trial.build();
    test::NamedState start(true);
    start.tensors = {{"key.encoder.weight", input("Wk")},
                     {"key.encoder.bias", input("bk")},
                     {"queue.rows", rows_of(input("queue"))}};
    start.integers["queue.next"] = file->at("ptr").item<int64_t>();
    trial.method->visit_state(start);
    std::vector<double> losses;
    for (int64_t i = 0; i < file->at("loss").numel(); ++i) {
      trial.method->after_update(trial.host);  // published: before the key's forward
      losses.push_back(trial.step({input("x_q")[i], input("x_k")[i]}));
      test::NamedState now;
      trial.method->visit_state(now);
      const auto off = [&](const at::Tensor& found, const std::string& name) {
        return test::largest_difference(found, file->at(name + suffix)[i]);
      };
      CHECK(off(query->parameters()[0].tensor.grad(), "dW") < tolerance(dtype, 1e-6));
      CHECK(off(query->parameters()[1].tensor.grad(), "db") < tolerance(dtype, 1e-6));
      CHECK(off(now.tensors["key.encoder.weight"], "Wk_after") < tolerance(dtype, 1e-6));
      CHECK(off(now.tensors["queue.rows"].t(), "queue_after") < tolerance(dtype, 1e-6));
      CHECK(now.integers["queue.next"] == file->at("ptr_after")[i].item<int64_t>());
      for (NamedTensor& p : query->parameters()) p.tensor.mutable_grad().reset();
    }
    CHECK(deviation(*file, "loss", at::tensor(losses, dtype)) < tolerance(dtype, 5e-6));
  }
}

TEST_CASE("gradients of moco_v2 are those of finite differences") {
  const at::Tensor q = test::leaf(at::randn({4, 3}), at::kDouble);
  const at::Tensor k = at::randn({4, 3}, at::kDouble);
  const auto loss = [&] {
    MethodTrial trial("moco_v2", "projector = \"none\"\nqueue = 7", {q, k});
    return trial.build().step({q, k});
  };
  loss();
  CHECK(test::slope_error({q}, loss) < 1e-7);
}

TEST_CASE("moco_v2 shows GH the key, or a second query that learns") {
  for (const bool query : {false, true}) {
    const at::Tensor x1 = test::leaf(at::randn({4, 3}), at::kFloat);
    const at::Tensor x2 = test::leaf(at::randn({4, 3}), at::kFloat);
    struct Harmonized final : testing::FakeStep {
      using FakeStep::FakeStep;
      using FakeStep::harmonize;
      at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                           const HarmonizeOptions&) override {
        return (z1 * z2).sum();
      }
    };
    RunFacts facts = MethodTrial::facts_of({x1, x2});
    facts.harmonized = true;
    MethodTrial trial("moco_v2",
                      std::string("projector = \"none\"\nqueue = 7") +
                          (query ? "\nharmonize_second = \"query\"" : ""),
                      facts, 3);
    trial.build();
    const std::vector<at::Tensor> views = {x1, x2};
    Batch batch;
    batch.views = views;
    batch.global_size = 4;
    Harmonized step(trial.trained);
    trial.method->step(batch, step);
    CHECK(x2.grad().defined() == query);
  }
}

TEST_CASE("moco_v2 goes on from its state, key and queue included") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const char* toml = "hidden = 8\nembedding = 6\nqueue = 7";
  MethodTrial one("moco_v2", toml, views), two("moco_v2", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
