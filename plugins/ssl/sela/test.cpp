#include "support/method_trial.hpp"

#include "gh/parts/balanced_labels.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using test::MethodTrial;

at::Tensor labels_of(testing::MethodTrial& trial) {
  test::NamedState state;
  trial.method->visit_state(state);
  return state.tensors["labels"];
}

// The first head hands on logits which are log p: its labels are those of p. To the second one they
// come the other way round.
void check_labels(const host::TensorFile& file, const std::string& which) {
  INFO(which);
  const at::Tensor p = file.at("probabilities");
  const int64_t labels = p.size(1);
  const std::string toml =
      "projector = \"none\"\nheads = 2\nturns = false\nclusters = " + std::to_string(labels) +
      "\npower = " + file.metadata.at("power") +
      "\ntolerance = " + file.metadata.at("tolerance_" + which);
  MethodTrial trial("sela", toml, {p});
  constexpr int64_t kAtOnce = 1024;  // of FakeHost
  trial.host.encoders["encoder"] =
      std::make_shared<test::StandInEncoder>(labels, p.log().split(kAtOnce));
  trial.build();
  test::NamedState start(true);
  const at::Tensor same = at::eye(labels, at::kDouble);
  start.tensors["classifiers.0.weight"] = at::cat({same, same.flip(0)});
  start.tensors["classifiers.0.bias"] = at::zeros({2 * labels}, at::kDouble);
  trial.method->visit_state(start);
  trial.method->begin_epoch(trial.host);
  const at::Tensor expected = file.at("labels_" + which), found = labels_of(trial);
  CHECK(found.select(1, 0).equal(expected));
  CHECK(found.select(1, 1).equal(labels - 1 - expected));
  CHECK(static_cast<int64_t>(trial.host.values["labels_rounds"].back()) ==
        file.at("iterations_" + which).item<int64_t>());
  if (file.has("cost_" + which))
    CHECK(std::abs(trial.host.values["labels_cost"].back() -
                   file.at("cost_" + which).item<double>()) < 1e-10);
}

TEST_CASE("sela's labels, rounds and cost are the published ones", "[parity]") {
  const auto file = test::find_vector("sela_labels");
  if (!file) return;
  check_labels(*file, "cifar");
  check_labels(*file, "main");
}

TEST_CASE("the plan behind sela's labels is the published one", "[parity]") {
  const auto file = test::find_vector("sela_labels");
  if (!file) return;
  at::Tensor plan = file->at("probabilities").log();
  parts::balance(plan, {.power = test::number(*file, "power"),
                        .tolerance = test::number(*file, "tolerance_main")});
  CHECK(((plan.t() - file->at("plan_main")).abs() / file->at("plan_main").abs().max())
            .max()
            .item<double>() < 1e-12);
  const at::Tensor best = std::get<0>(plan.log().topk(2, 1));
  CHECK(test::largest_difference(best.select(1, 0) - best.select(1, 1),
                                 file->at("log_margin_main")) < 1e-9);
}

constexpr const char* kTwoHeads = "projector = \"none\"\nclusters = 4\nheads = 2\nturns = false";

TEST_CASE("sela's loss is the mean cross-entropy of views and heads, its gradients true") {
  const at::Tensor x1 = test::leaf(at::randn({8, 3}), at::kDouble);
  const at::Tensor x2 = test::leaf(at::randn({8, 3}), at::kDouble);
  MethodTrial trial("sela", kTwoHeads, {x1, x2});
  trial.build();
  trial.method->begin_epoch(trial.host);
  const double loss = trial.step({x1, x2});
  const at::Tensor w = trial.trained.parameters.at(0), b = trial.trained.parameters.at(1);
  const at::Tensor labels = labels_of(trial);
  double sum = 0;
  for (const at::Tensor& x : {x1.detach(), x2.detach()})
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t h = 0; h < 2; ++h) {
        const at::Tensor logits = (w.detach().matmul(x[i]) + b.detach()).narrow(0, 4 * h, 4);
        const int64_t label = labels[i][h].item<int64_t>();
        sum += (logits.exp().sum().log() - logits[label]).item<double>() / (2 * 8 * 2);
      }
  CHECK(loss == Approx(sum).epsilon(1e-12));
  CHECK(test::slope_error({x1, x2, w, b}, [&] { return trial.step({x1, x2}); }) < 1e-7);
}

TEST_CASE("sela starts from random labels, as many of each") {
  MethodTrial trial("sela", "projector = \"none\"\nclusters = 4\nheads = 3", {at::randn({24, 3})});
  const at::Tensor labels = labels_of(trial.build());
  for (int64_t h = 0; h < 3; ++h)
    CHECK(labels.select(1, h).bincount({}, 4).eq(6).all().item<bool>());
  CHECK(!labels.select(1, 0).equal(labels.select(1, 1)));
}

TEST_CASE("sela's refreshes are due at the published times, and its heads take turns") {
  for (const bool early : {false, true})
    for (const int64_t refreshes : {1, 2, 5, 11, 40})
      for (const int64_t epochs : {1, 3, 12}) {
        INFO(early << " " << refreshes << " in " << epochs);
        MethodTrial trial("sela",
                          "projector = \"none\"\nclusters = 4\nheads = 3\nrefreshes = " +
                              std::to_string(refreshes) +
                              (early ? "\nspread = \"early\"" : "\nspread = \"even\""),
                          {at::randn({24, 3})});
        trial.build();
        trial.host.progress().epochs = epochs;
        std::size_t made = 0;
        for (int64_t epoch = 0; epoch < epochs; ++epoch) {
          // i = 0 … refreshes−1: (epochs + 1)·i/(refreshes − 1), or of its square.
          bool due = epoch == 0;
          for (int64_t i = 1; i < refreshes; ++i) {
            const double part = static_cast<double>(i) / static_cast<double>(refreshes - 1);
            const double time = static_cast<double>(epochs + 1) * (early ? part * part : part);
            due |= time > static_cast<double>(epoch - 1) + 1e-6 &&
                   time <= static_cast<double>(epoch) + 1e-6;
          }
          const at::Tensor before = labels_of(trial);
          trial.host.progress().epoch = trial.host.progress().step = epoch;
          trial.method->begin_epoch(trial.host);
          const at::Tensor after = labels_of(trial);
          for (int64_t h = 0; h < 3; ++h)
            if (!due || h != static_cast<int64_t>(made) % 3)
              CHECK(after.select(1, h).equal(before.select(1, h)));
          made += due ? 1 : 0;
          CHECK(trial.host.values["labels_rounds"].size() == made);
        }
      }
}

// Of a rank behind one whose labels are the next ones.
struct SecondRank final : testing::FakeHost {
  using FakeHost::FakeHost;
  at::Tensor all_gather(const at::Tensor& rows) override {
    return at::cat({(rows + 1).remainder(4), rows});
  }
};

at::Tensor first_labels(testing::FakeHost& host) {
  auto method = test::load<SslMethod>("sela", kTwoHeads);
  method->build(host);
  method->begin_epoch(host);
  test::NamedState state;
  method->visit_state(state);
  return state.tensors["labels"];
}

TEST_CASE("sela's labels are those of rank 0") {
  RunFacts facts;
  facts.samples = facts.batch = 24;
  facts.view_shapes = {{3, 8, 8}};
  testing::FakeHost one(facts);
  SecondRank second(facts);
  CHECK(first_labels(second).equal((first_labels(one) + 1).remainder(4)));
}

TEST_CASE("sela says when labels are not balanced, and refuses what it cannot do") {
  MethodTrial trial("sela", std::string(kTwoHeads) + "\nrounds = 1\ntolerance = 1e-12",
                    {at::randn({24, 3})});
  trial.build();
  trial.method->begin_epoch(trial.host);
  CHECK_THAT(trial.host.said, Catch::Contains("not balanced after 1 rounds"));

  RunFacts facts = MethodTrial::facts_of({at::randn({24, 3})});
  facts.harmonized = true;
  test::CollectedComplaints complaints;
  test::load<SslMethod>("sela", "clusters = 25")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains(".views: ") && Catch::Contains("clusters: at most"));
  auto sharp = test::load<SslMethod>("sela", "power = 200.0\nclusters = 128");
  complaints.text.clear();
  test::bundled_plugins()
      .info(GH_KIND_SSL, "sela")
      .validate(sharp.params.get(), static_cast<Complaints*>(&complaints));
  CHECK_THAT(complaints.text, Catch::StartsWith("power: ") && Catch::Contains("ln(clusters)"));
}

TEST_CASE("sela goes on from its state, labels and turn included") {
  const std::vector<at::Tensor> views = {at::randn({24, 3}), at::randn({24, 3})};
  const char* toml = "embedding = 6\nclusters = 4\nheads = 3";
  MethodTrial one("sela", toml, views), two("sela", toml, views, 1);
  one.build();
  one.method->begin_epoch(one.host);
  one.step(views);
  one.finish_step();
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
  // The second head's turn.
  two.host.progress() = one.host.progress();
  const at::Tensor before = labels_of(one);
  one.method->begin_epoch(one.host);
  CHECK(labels_of(one).select(1, 0).equal(before.select(1, 0)));
  CHECK(!labels_of(one).select(1, 1).equal(before.select(1, 1)));
  two.method->begin_epoch(two.host);
  CHECK(labels_of(two).select(1, 0).equal(before.select(1, 0)));
}

}  // namespace
