#include "support/method_trial.hpp"

#include "gh/ops/kmeans.hpp"
#include "gh/parts/whitened_rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using test::MethodTrial;

at::Tensor labels_of(MethodTrial& trial) {
  test::NamedState state;
  trial.method->visit_state(state);
  return state.tensors["labels"];
}

// Lloyd's algorithm by plain loops, from the rows at `start`.
at::Tensor brute_force(const at::Tensor& x, const std::vector<int64_t>& start, int64_t rounds) {
  at::Tensor centres = x.index_select(0, at::tensor(start)).clone();
  at::Tensor labels;
  for (int64_t round = 0; round < rounds; ++round) {
    labels = (x.unsqueeze(1) - centres.unsqueeze(0)).square().sum(2).argmin(1);
    for (int64_t k = 0; k < centres.size(0); ++k) {
      const at::Tensor own = x.index_select(0, (labels == k).nonzero().squeeze(1));
      REQUIRE(own.size(0) > 0);  // else take other data
      centres[k] = own.mean(0);
    }
  }
  return (x.unsqueeze(1) - centres.unsqueeze(0)).square().sum(2).argmin(1);
}

TEST_CASE("deepcluster's labels are those of brute-force K-means of whitened rows") {
  constexpr int64_t kSamples = 90, kWidth = 5, kClusters = 4;
  const at::Tensor z = at::randn({kSamples, kWidth}, at::kDouble) *
                       at::tensor({5.0, 1.0, 0.2, 3.0, 0.01}, at::kDouble);
  for (const int64_t directions : {3, 256}) {
    INFO(directions);
    MethodTrial trial("deepcluster",
                      "projector = \"none\"\nclusters = 4\niterations = 6\ndirections = " +
                          std::to_string(directions),
                      {z});
    trial.host.encoders["encoder"] =
        std::make_shared<test::StandInEncoder>(kWidth, std::vector<at::Tensor>{z});
    trial.build();
    trial.method->begin_epoch(trial.host);

    // Left singular vectors are whitened; signs of directions change no distance.
    const at::Tensor u = std::get<0>(at::linalg_svd(z - z.mean(0, true), false));
    const at::Tensor rows = unit_rows(u.narrow(1, 0, std::min(directions, kWidth)));
    const at::Tensor own = parts::whitened_rows(z, directions);
    CHECK(test::largest_difference(own.matmul(own.t()), rows.matmul(rows.t())) < 1e-9);
    const at::Tensor start =
        ops::kmeans_start(own, kClusters, ops::KMeansStart::random, ops::KMeansMetric::euclidean,
                          trial.host.random("kmeans"));
    std::vector<int64_t> chosen;
    for (int64_t k = 0; k < kClusters; ++k)
      chosen.push_back((own - start[k]).square().sum(1).argmin().item<int64_t>());
    CHECK(labels_of(trial).equal(brute_force(rows, chosen, 6)));
  }
}

TEST_CASE("whitening leaves out directions in which rows do not differ") {
  const at::Tensor x = at::randn({40, 2}, at::kDouble);
  const at::Tensor flat = at::cat({x, 3 * x.narrow(1, 0, 1) + 7}, 1);
  const at::Tensor a = parts::whitened_rows(x, 256), b = parts::whitened_rows(flat, 256);
  CHECK(test::largest_difference(a.matmul(a.t()), b.matmul(b.t())) < 1e-9);
  CHECK(parts::whitened_rows(at::ones({5, 3}), 2).abs().max().item<double>() == 0);
}

constexpr const char* kPlain = "projector = \"none\"\nclusters = 4";

TEST_CASE("deepcluster's loss is the mean over clusters of the cross-entropy, its gradients true") {
  const at::Tensor x1 = test::leaf(at::randn({8, 3}), at::kDouble);
  const at::Tensor x2 = test::leaf(at::randn({8, 3}), at::kDouble);
  MethodTrial trial("deepcluster", kPlain, {x1, x2});
  trial.build();
  test::NamedState start(true);
  const std::vector<int64_t> labels = {0, 3, 0, 0, 1, 0, 1, 0};  // nobody in cluster 2
  start.tensors["labels"] = at::tensor(labels);
  trial.method->visit_state(start);
  const double loss = trial.step({x1, x2});
  const at::Tensor w = trial.trained.parameters.at(0), b = trial.trained.parameters.at(1);
  const double sizes[] = {5, 2, 0, 1};
  double sum = 0;
  for (const at::Tensor& x : {x1.detach(), x2.detach()})
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const at::Tensor logits = w.detach().matmul(x[static_cast<int64_t>(i)]) + b.detach();
      const double one = (logits.exp().sum().log() - logits[labels[i]]).item<double>();
      sum += one / sizes[labels[i]] / 3 / 2;  // three clusters, two views
    }
  CHECK(loss == Approx(sum).epsilon(1e-12));
  CHECK(test::slope_error({x1, x2, w, b}, [&] { return trial.step({x1, x2}); }) < 1e-7);
}

TEST_CASE("deepcluster weighs a sample by what even sampling of clusters would draw it") {
  // A batch of some samples; labels of all count.
  const at::Tensor x = at::randn({8, 3}, at::kDouble);
  MethodTrial trial("deepcluster", kPlain, {x});
  trial.build();
  test::NamedState start(true);
  start.tensors["labels"] = at::tensor({1, 0, 1, 1, 2, 1, 1, 1}, at::kLong);
  trial.method->visit_state(start);
  const double loss = trial.step({x.narrow(0, 0, 2)});
  const at::Tensor log_p = at::log_softmax(
      x.matmul(trial.trained.parameters.at(0).detach().t()) + trial.trained.parameters.at(1), 1);
  // 8/(3·6) and 8/(3·1)
  const double expected =
      -(log_p[0][1].item<double>() * 8 / 18 + log_p[1][0].item<double>() * 8 / 3);
  CHECK(loss == Approx(expected / 2).epsilon(1e-12));
}

TEST_CASE("deepcluster makes labels and a new classifier on schedule only") {
  const at::Tensor x = at::randn({300, 3});
  MethodTrial trial("deepcluster", "embedding = 64\nclusters = 4\nevery = 2", {x});
  trial.build();
  const at::Tensor top = trial.trained.parameters.at(trial.trained.parameters.size() - 2);
  const at::Tensor bias = trial.trained.parameters.back();
  at::Tensor last;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    trial.host.progress().epoch = trial.host.progress().step = epoch;
    {
      const at::NoGradGuard no_grad;
      bias.fill_(1);
    }
    const at::Tensor weight = top.detach().clone(), labels = labels_of(trial);
    trial.method->begin_epoch(trial.host);
    const bool due = epoch % 2 == 0;
    CHECK(top.detach().equal(weight) != due);
    CHECK(bias.detach().abs().max().item<double>() == (due ? 0 : 1));
    CHECK(labels_of(trial).equal(labels) != due);
    if (due) CHECK(std::abs(top.detach().std().item<double>() - 0.01) < 0.003);
  }
  CHECK(trial.host.values["clusters_objective"].size() == 2);
}

// Of a rank behind one whose labels are the next ones.
struct SecondRank final : testing::FakeHost {
  using FakeHost::FakeHost;
  at::Tensor all_gather(const at::Tensor& rows) override {
    return at::cat({(rows + 1).remainder(4), rows});
  }
};

at::Tensor first_labels(testing::FakeHost& host) {
  auto method = test::load<SslMethod>("deepcluster", kPlain);
  method->build(host);
  method->begin_epoch(host);
  test::NamedState state;
  method->visit_state(state);
  return state.tensors["labels"];
}

TEST_CASE("deepcluster's labels are those of rank 0") {
  RunFacts facts;
  facts.samples = facts.batch = 24;
  facts.view_shapes = {{3, 8, 8}};
  testing::FakeHost one(facts);
  SecondRank second(facts);
  CHECK(first_labels(second).equal((first_labels(one) + 1).remainder(4)));
}

TEST_CASE("deepcluster refuses more clusters than samples, and GH on one view") {
  RunFacts facts = MethodTrial::facts_of({at::randn({24, 3})});
  facts.harmonized = true;
  test::CollectedComplaints complaints;
  test::load<SslMethod>("deepcluster", "clusters = 25")->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains(".views: ") && Catch::Contains("clusters: at most"));
}

TEST_CASE("deepcluster goes on from its state, labels and weights included") {
  const std::vector<at::Tensor> views = {at::randn({24, 3}), at::randn({24, 3})};
  const char* toml = "embedding = 6\nclusters = 4";
  MethodTrial one("deepcluster", toml, views), two("deepcluster", toml, views, 1);
  one.build();
  one.method->begin_epoch(one.host);
  one.step(views);
  one.finish_step();
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
