#include "schedules.hpp"

#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"

#include "gh/ops/linear_classifier.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace gh;
using test::RecordedEvaluation;

constexpr int64_t kClasses = 6, kWidth = 12;

// Classes around their own middles; `spread` decides how much they overlap.
void give_classes(RecordedEvaluation& evaluation, const std::string& split, int64_t rows,
                  double spread, uint64_t key, int64_t classes = kClasses, int64_t width = kWidth) {
  const at::Tensor targets = at::arange(rows, at::kLong).remainder(classes);
  const at::Tensor middles = at::empty({classes, width}), noise = at::empty({rows, width});
  Random(1).fill_normal(middles, 0, 1);
  Random(key).fill_normal(noise, 0, spread);
  evaluation.give(split, middles.index_select(0, targets) + noise, targets);
}

struct Prepared : RecordedEvaluation {
  explicit Prepared(double spread, uint64_t seed = 0) {
    run.seed = seed;
    give_classes(*this, "train:full", 1500, spread, 2);
    give_classes(*this, "test", 600, spread, 3);
    counts = at::tensor({500, 400, 300, 200, 50, 50}, at::kLong);
  }
};

// More directions than the samples settle: the further a probe goes, the more it learns by heart.
// Many samples to test it on, so that little shows.
struct Overfitted : RecordedEvaluation {
  explicit Overfitted(uint64_t seed) {
    run.seed = seed;
    give_classes(*this, "train:full", 3000, 4, 2, 10, 128);
    give_classes(*this, "test", 20000, 4, 3, 10, 128);
    counts = at::full({10}, 300, at::kLong);
  }
};

Prepared evaluate(double spread, const std::string& toml) {
  Prepared evaluation(spread);
  test::load<Evaluator>("linear_probe", toml)->evaluate(evaluation);
  return evaluation;
}

TEST_CASE("linear_probe tells classes that a plane can tell, by every protocol") {
  for (const std::string protocol :
       {"gh\"\nbatch = 100", "sdclr\"", "fast\"", "logistic\"", "logistic\"\nl2 = 1e-4"}) {
    INFO(protocol);
    const Prepared out = evaluate(0.1, "protocol = \"" + protocol);
    CHECK(out.metrics.at("accuracy") == 100);
    CHECK(out.metrics.at("train_accuracy") == 100);
    CHECK(out.metrics.at("top5") == 100);
    CHECK(out.metrics.count("l2") == (protocol.starts_with("logistic") ? 1 : 0));
  }
}

TEST_CASE("linear_probe cannot tell what is not there") {
  const Prepared out = evaluate(1000, "protocol = \"logistic\"");
  CHECK(out.metrics.at("accuracy") == Approx(100.0 / kClasses).margin(6));
  CHECK(out.metrics.at("top5") == Approx(500.0 / kClasses).margin(6));
}

// What the operator gives with the numbers that the protocol has.
double expected_accuracy(RecordedEvaluation&& evaluation, const ops::LinearTraining& training) {
  const Features& train = evaluation.features({.split = "train:full"});
  const Features& test = evaluation.features({.split = "test"});
  const Random stream = evaluation.random("linear_probe");
  Random orders = stream.fork("orders");
  const ops::LinearClassifier start = ops::linear_start(evaluation.counts.numel(), train.x.size(1),
                                                        at::kFloat, stream.fork("start"));
  const ops::LinearClassifier probe =
      ops::train_linear(train.x, train.targets, start, training,
                        [&](int64_t) { return orders.permutation(train.x.size(0)); });
  return 100 * ops::linear_scores(test.x, probe)
                   .argmax(1)
                   .eq(test.targets)
                   .to(at::kDouble)
                   .mean()
                   .item<double>();
}

double accuracy(RecordedEvaluation&& evaluation, const std::string& toml) {
  test::load<Evaluator>("linear_probe", toml)->evaluate(evaluation);
  return evaluation.metrics.at("accuracy");
}

TEST_CASE("linear_probe trains as published, and as the recipe says instead") {
  std::vector<double> gh_rates;
  for (int e = 0; e < 500; ++e) gh_rates.push_back(1e-2 * std::pow(1e-4, e / 500.0));
  std::vector<double> sdclr_rates(30, 30.0), other_rates(6, 0.5);
  for (std::size_t e = 10; e < 30; ++e) sdclr_rates[e] = e < 20 ? 3 : 0.3;
  for (std::size_t e = 2; e < 6; ++e) other_rates[e] = e < 4 ? 0.05 : 0.005;
  using ops::LinearOptimizer;
  // SGD with a rate of 30 never settles, so that its accuracy tells the last digit of every number.
  for (const uint64_t seed : {0, 1, 2}) {
    const Prepared data(1.5, seed);
    CHECK(
        accuracy(Prepared(data), "") ==
        Approx(expected_accuracy(Prepared(data), {.l2 = 5e-6, .batch = 1000, .rates = gh_rates})));
    CHECK(accuracy(Prepared(data), "protocol = \"sdclr\"") ==
          Approx(expected_accuracy(
              Prepared(data),
              {.optimizer = LinearOptimizer::sgd, .batch = 512, .rates = sdclr_rates})));
    CHECK(accuracy(Prepared(data),
                   "protocol = \"sdclr\"\nepochs = 6\nbatch = 100\nrate = 0.5\nl2 = 0.1") ==
          Approx(expected_accuracy(
              Prepared(data),
              {.optimizer = LinearOptimizer::sgd, .l2 = 0.1, .batch = 100, .rates = other_rates})));
  }
}

TEST_CASE("linear_probe's fast follows the rate and the epochs of the gh that it stands for") {
  const auto sum = [](const std::vector<double>& rates) {
    return std::accumulate(rates.begin(), rates.end(), 0.0);
  };
  for (const auto& [epochs, first, expected] :
       {std::tuple{500, 1e-2, 58}, {500, 1.0, 58}, {1000, 1e-2, 113}, {10, 1e-2, 5}}) {
    INFO(epochs << " epochs from " << first);
    const std::vector<double> gh = probe::gh_rates(epochs, first), fast = probe::fast_rates(gh);
    CHECK(static_cast<int>(fast.size()) == expected);
    CHECK(sum(fast) == Approx(1.1 * sum(gh)));
    CHECK(std::is_sorted(fast.rbegin(), fast.rend()));
    CHECK(fast.back() == Approx(fast.front() / 81));
  }
}

TEST_CASE("linear_probe's fast goes as far as gh and a tenth, in 58 epochs") {
  // Sums by their closed forms: 54 epochs at one rate, then 1/3 + 1/9 + 1/27 + 1/81 of it.
  const double gh_sum = 1e-2 * (1 - 1e-4) / (1 - std::pow(1e-4, 1 / 500.0));
  const double rate = 1.1 * gh_sum / (54 + 40.0 / 81);
  std::vector<double> rates(54, rate);
  for (const double part : {3, 9, 27, 81}) rates.push_back(rate / part);
  for (const uint64_t seed : {0, 1, 2, 3, 4}) {
    const Overfitted data(seed);
    CHECK(accuracy(Overfitted(data), "protocol = \"fast\"") ==
          Approx(expected_accuracy(Overfitted(data), {.l2 = 5e-6, .batch = 1000, .rates = rates}))
              .margin(1e-9)
              .epsilon(0));
  }
}

TEST_CASE("linear_probe's fast agrees with gh where logistic regression does not") {
  double gh = 0, fast = 0, logistic = 0;
  for (const uint64_t seed : {0, 1, 2}) {
    const Overfitted data(seed);
    gh += accuracy(Overfitted(data), "") / 3;
    fast += accuracy(Overfitted(data), "protocol = \"fast\"") / 3;
    logistic += accuracy(Overfitted(data), "protocol = \"logistic\"") / 3;
  }
  CHECK(fast == Approx(gh).margin(0.3).epsilon(0));
  CHECK(logistic > gh + 2);
}

TEST_CASE("linear_probe says by which protocol, in how many epochs and from how many samples") {
  const auto definition = [](const std::string& toml) {
    return evaluate(1.5, toml).definitions.at("accuracy");
  };
  using Catch::Contains;
  CHECK_THAT(definition("epochs = 7"), Contains("protocol gh of 7 epochs, learnt from 1500 "));
  CHECK_THAT(definition("protocol = \"fast\""),
             Contains("protocol fast of 58 epochs in place of gh's 500, learnt from 1500 "));
  CHECK_THAT(definition("protocol = \"fast\"\nshots = 4"), Contains("learnt from 24 samples"));
  CHECK_THAT(definition("protocol = \"logistic\""), Contains("protocol logistic, learnt from"));
  CHECK_THAT(evaluate(1.5, "protocol = \"fast\"").said, Contains("epoch 44 of 58"));
}

TEST_CASE("linear_probe with shots learns from so many of each class, and drops its rate later") {
  const Prepared out = evaluate(1.5, "shots = 4\nprotocol = \"sdclr\"");
  CHECK_THAT(out.definitions.at("accuracy"),
             Catch::Contains("learnt from 24 samples of train:full"));
  CHECK_THAT(out.said, Catch::Contains("epoch 80 of 100"));
  CHECK_FALSE(out.metrics.at("accuracy") ==
              evaluate(1.5, "protocol = \"sdclr\"").metrics.at("accuracy"));
  CHECK(out.metrics.at("accuracy") ==
        evaluate(1.5, "shots = 4\nprotocol = \"sdclr\"").metrics.at("accuracy"));
}

TEST_CASE("linear_probe sees training samples with the views of its protocol") {
  const auto asked = [](std::vector<int64_t> shape, const std::string& toml) {
    Prepared evaluation(1);
    if (!shape.empty()) evaluation.run.view_shapes = {shape, shape};
    test::load<Evaluator>("linear_probe", "protocol = \"logistic\"\nl2 = 0.1\n" + toml)
        ->evaluate(evaluation);
    std::string out;
    for (const auto& [split, views, draw] : evaluation.asked) out += split + " " + views + "; ";
    return out;
  };
  CHECK(asked({3, 32, 32}, "") == "train:full probe-32; test plain; ");
  CHECK(asked({3, 224, 224}, "") == "train:full probe-224; test plain; ");
  CHECK(asked({3, 48, 48}, "") == "train:full plain; test plain; ");
  CHECK(asked({2}, "") == "train:full plain; test plain; ");
  CHECK(asked({3, 32, 32}, "train_views = \"train\"") == "train:full train; test plain; ");
}

TEST_CASE("linear_probe's l2 is given or chosen, and pulls weights towards zero") {
  CHECK(evaluate(1.5, "protocol = \"logistic\"\nl2 = 0.25").metrics.at("l2") == 0.25);
  const Prepared chosen = evaluate(1.5, "protocol = \"logistic\"");
  CHECK_THAT(chosen.definitions.at("l2"), Catch::Contains("chosen"));
  // With next to no weights the largest of equal classes is as good as any.
  CHECK(evaluate(1.5, "protocol = \"logistic\"\nl2 = 1e6").metrics.at("train_accuracy") <
        chosen.metrics.at("train_accuracy"));
}

TEST_CASE("linear_probe gives the same numbers on any number of threads") {
  const int before = at::get_num_threads();
  for (const char* toml : {"epochs = 20", "protocol = \"fast\"", "protocol = \"logistic\""}) {
    at::set_num_threads(1);
    const Prepared one = evaluate(1.5, toml);
    at::set_num_threads(2);
    const Prepared two = evaluate(1.5, toml);
    at::set_num_threads(before);
    CHECK(one.metrics == two.metrics);
  }
}

TEST_CASE("linear_probe refuses what does not go together") {
  EvalFacts facts;
  facts.splits = {"train", "test", "train:full"};
  facts.class_targets = true;
  const auto complaints = [&](const std::string& toml) {
    test::CollectedComplaints out;
    test::load<Evaluator>("linear_probe", toml)->check(facts, out);
    return out.text;
  };
  CHECK(complaints("") == "");
  CHECK(complaints("epochs = 5\nbatch = 5\nrate = 5\nl2 = 5") == "");
  CHECK(complaints("protocol = \"sdclr\"\nepochs = 5\nbatch = 5\nrate = 5\nl2 = 5") == "");
  CHECK(complaints("protocol = \"fast\"\nshots = 50") == "");
  CHECK(complaints("protocol = \"logistic\"\nl2 = 0\nshots = 50") == "");
  for (const std::string key : {"epochs", "batch", "rate", "l2"})
    CHECK_THAT(complaints("protocol = \"fast\"\n" + key + " = 5"),
               Catch::StartsWith(key + ": ") && Catch::Contains("choose \"gh\""));
  for (const std::string key : {"epochs", "batch", "rate"})
    CHECK_THAT(complaints("protocol = \"logistic\"\n" + key + " = 5"),
               Catch::StartsWith(key + ": ") && Catch::Contains("choose \"gh\" or \"sdclr\""));
  CHECK_THAT(complaints("shots = 5\nlist = \"some.txt\""), Catch::Contains("drawn or listed"));
  CHECK_THAT(complaints("train_split = \"trian\""), Catch::Contains("no split 'trian'"));
  CHECK_THAT(complaints("train_split = \"test\""), Catch::Contains("tested on"));
  CHECK_THAT(complaints("split = \"val\""), Catch::Contains("no split 'val'"));
  facts.class_targets = false;
  CHECK_THAT(complaints(""), Catch::Contains("labels"));
  for (const char* bad :
       {"protocol = \"svm\"", "shots = -1", "epochs = 0", "batch = 0", "rate = 0", "l2 = -1"})
    CHECK_THROWS(test::load<Evaluator>("linear_probe", bad));
}

}  // namespace
