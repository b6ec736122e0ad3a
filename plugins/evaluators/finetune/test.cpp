#include "class_loss.hpp"
#include "optimizer.hpp"
#include "shot_errors.hpp"

#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace {

using namespace gh;

// x·W + b, the identity at first; notes the sizes of batches it is trained on.
class Line final : public Encoder {
 public:
  explicit Line(int64_t width, at::ScalarType dtype = at::kFloat)
      : width_(width),
        weight_(add_parameter("weight", at::eye(width, dtype))),
        bias_(add_parameter("bias", at::zeros({width}, dtype))) {}
  at::Tensor forward(const at::Tensor& x) override {
    if (training()) trained_on.push_back(x.size(0));
    return x.flatten(1).matmul(weight_) + bias_;
  }
  int64_t features() const override { return width_; }
  at::Tensor bias() const { return bias_.detach(); }
  bool untouched() const {
    return weight_.equal(at::eye(width_, weight_.options())) && bias_.equal(at::zeros_like(bias_));
  }
  std::vector<int64_t> trained_on;

 private:
  int64_t width_;
  at::Tensor weight_, bias_;
};

class Fresh final : public EvaluationServices {
 public:
  std::string png(std::string_view, int64_t, int) override { return {}; }
  at::Tensor positions(std::string_view, std::string_view) override { return {}; }
  std::shared_ptr<Encoder> fresh_encoder(std::string_view) override { return encoder; }
  std::shared_ptr<Line> encoder = std::make_shared<Line>(1);
};

// Two classes on a line at ±1, spread evenly over the quantiles of N(±1, 1); 950 to 50 for
// training, 200 each for the test.
struct TwoBells : test::RecordedEvaluation {
  TwoBells() {
    fill("train", 950, 50);
    fill("test", 200, 200);
    counts = at::tensor({950, 50}, at::kLong);
    line = std::make_shared<Line>(1);
    encoder = line;
    run.view_shapes = {{1}, {1}};
  }
  void fill(const std::string& split, int64_t first, int64_t second) {
    const auto bell = [](int64_t n, double mean) {
      return (at::arange(n) + 0.5).div(static_cast<double>(n)).mul(2).sub(1).erfinv() *
                 std::sqrt(2.0) +
             mean;
    };
    give(split, at::cat({bell(first, -1), bell(second, 1)}).unsqueeze(1),
         at::cat({at::zeros({first}, at::kLong), at::ones({second}, at::kLong)}), {"head", "tail"});
  }
  std::shared_ptr<Line> line;
};

double above(double threshold) { return 50 * std::erfc(threshold / std::sqrt(2.0)); }

const std::string kQuick = "groups = \"shots(100,100)\"\nepochs = 20\n";

TEST_CASE("logit-adjusted cross entropy and its gradients equal the published", "[parity]") {
  const auto file = test::find_vector("logit_adjusted_ce");
  if (!file) return;
  int compared = 0;
  for (const std::string& tau : test::endings(*file, "loss_tau")) {
    if (tau.ends_with("_f64")) continue;
    const at::Tensor prior = tuning::log_prior(file->at("counts"), std::stod(tau));
    const auto compare = [&](at::ScalarType dtype, const std::string& suffix, double loss_bound,
                             double gradient_bound) {
      at::Tensor logits = file->at("logits").to(dtype).clone().set_requires_grad(true);
      const at::Tensor loss = tuning::class_loss(logits, file->at("label"), prior);
      loss.backward();
      INFO("tau " << tau << suffix);
      CHECK(test::largest_difference(loss.detach(), file->at("loss_tau" + tau + suffix)) <
            loss_bound);
      CHECK(test::largest_difference(logits.grad(), file->at("dlogits_tau" + tau + suffix)) <
            gradient_bound);
    };
    compare(at::kFloat, "", 2e-6, 1e-7);
    compare(at::kDouble, "_f64", 1e-12, 1e-14);
    ++compared;
  }
  CHECK(compared == 3);
  CHECK(file->at("counts").min().item<int64_t>() == 0);
}

TEST_CASE("the floor of the prior stands outside the power, and is all an empty class has") {
  const at::Tensor prior = tuning::log_prior(at::tensor({3, 1, 0}, at::kLong), 2);
  CHECK(prior[0].item<double>() == Approx(std::log(9.0 / 16)));
  CHECK(prior[1].item<double>() == Approx(std::log(1.0 / 16)));
  CHECK(prior[2].item<double>() == Approx(std::log(1e-12)));
}

// The values after each of some steps on f = curvature·x²/2.
template <class Optimizer, class... Rest>
std::vector<double> walk(int steps, double factor, double rate, const Rest&... rest) {
  at::Tensor x = at::ones({1}, at::kDouble).set_requires_grad(true);
  Optimizer optimizer({{x, factor}}, rest...);
  std::vector<double> out;
  for (int i = 0; i < steps; ++i) {
    (x.square() * 1.5).sum().backward();
    optimizer.step(rate);
    CHECK_FALSE(x.grad().defined());
    out.push_back(x.item<double>());
  }
  return out;
}

TEST_CASE("SGD's momentum, Nesterov's form, weight decay and a tensor's own rate are as defined") {
  for (const auto momentum : {tuning::Momentum::plain, tuning::Momentum::nesterov}) {
    const auto found = walk<tuning::Sgd>(4, 2.0, 0.05, momentum, 0.3);
    double x = 1, v = 0;
    for (const double value : found) {
      const double g = 3 * x + 0.3 * x;
      v = 0.9 * v + g;
      x -= 2 * 0.05 * (momentum == tuning::Momentum::nesterov ? g + 0.9 * v : v);
      CHECK(value == Approx(x).epsilon(1e-12));
    }
  }
}

TEST_CASE("Adam's moments are corrected for their start at zero") {
  const auto found = walk<tuning::Adam>(5, 0.5, 0.1, 0.2);
  double x = 1, m = 0, s = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double g = 3 * x + 0.2 * x, t = static_cast<double>(i + 1);
    m = 0.9 * m + 0.1 * g;
    s = 0.999 * s + 0.001 * g * g;
    x -= 0.05 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(s / (1 - std::pow(0.999, t))) + 1e-8);
    CHECK(found[i] == Approx(x).epsilon(1e-10));
  }
}

TEST_CASE("finetune cuts where Bayes does: by frequency with plain loss, in the middle adjusted") {
  // p(head | x) = p(tail | x) at x = log(19)/2 with the training frequencies, at 0 without.
  const double cut = std::log(19.0) / 2;
  TwoBells plain;
  test::load<Evaluator>("finetune", kQuick)->evaluate(plain);
  CHECK(plain.metrics.at("many") == Approx(100 - above(cut + 1)).margin(1.5));
  CHECK(plain.metrics.at("few") == Approx(above(cut - 1)).margin(6));
  CHECK_FALSE(plain.line->untouched());

  TwoBells adjusted;
  test::load<Evaluator>("finetune", kQuick + "loss = \"logit-adjusted\"")->evaluate(adjusted);
  CHECK(adjusted.metrics.at("many") == Approx(above(-1)).margin(4));
  CHECK(adjusted.metrics.at("few") == Approx(above(-1)).margin(4));

  TwoBells none;
  test::load<Evaluator>("finetune", kQuick + "loss = \"logit-adjusted\"\ntau = 0.0")
      ->evaluate(none);
  CHECK(none.metrics.at("few") == Approx(plain.metrics.at("few")).margin(0.01));
}

TEST_CASE("the prior is that of the split that is trained on") {
  // A balanced split, though the training set's counts are not: adjusted and plain agree.
  TwoBells plain, adjusted;
  for (TwoBells* e : {&plain, &adjusted}) e->fill("even", 300, 300);
  const std::string toml = kQuick + "train_split = \"even\"\n";
  test::load<Evaluator>("finetune", toml)->evaluate(plain);
  test::load<Evaluator>("finetune", toml + "loss = \"logit-adjusted\"")->evaluate(adjusted);
  CHECK(adjusted.metrics.at("few") == Approx(plain.metrics.at("few")).margin(0.01));
}

TEST_CASE("finetune says what was done and draws how it went") {
  TwoBells evaluation;
  test::load<Evaluator>("finetune", kQuick + "loss = \"logit-adjusted\"")->evaluate(evaluation);
  CHECK(evaluation.definitions.at("accuracy").find("logit-adjusted") != std::string::npos);
  CHECK(evaluation.pictures.at("training_loss").find("<polyline") != std::string::npos);
  CHECK(evaluation.pictures.at("training_accuracy").find("<polyline") != std::string::npos);
  CHECK(evaluation.tables.at("groups").columns ==
        std::vector<std::string>{"many", "medium", "few", "std", "avg"});
  CHECK(evaluation.said.empty());
}

TEST_CASE("finetune gives the same numbers every time, others with another seed") {
  const auto run = [](uint64_t seed) {
    TwoBells evaluation;
    evaluation.run.seed = seed;
    test::load<Evaluator>("finetune", "epochs = 2\nrate = 0.01")->evaluate(evaluation);
    return evaluation.pictures.at("training_loss");
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("a frozen encoder is not moved and not in training mode") {
  TwoBells evaluation;
  test::load<Evaluator>("finetune", kQuick + "frozen = true")->evaluate(evaluation);
  CHECK(evaluation.line->untouched());
  CHECK(evaluation.line->trained_on.empty());
  CHECK(evaluation.metrics.at("many") > 90);
}

TEST_CASE("from scratch trains a new encoder and asks for none of the run's") {
  Fresh fresh;
  TwoBells evaluation;
  auto scratch = test::load<Evaluator>("finetune", kQuick + "from = \"scratch\"");
  CHECK_THROWS_WITH(scratch->evaluate(evaluation), Catch::Contains("no new encoders"));
  evaluation.services = &fresh;
  evaluation.encoder = nullptr;
  scratch->evaluate(evaluation);
  CHECK_FALSE(fresh.encoder->untouched());
}

TEST_CASE("training views follow the size of images, tests see plain ones") {
  const auto views = [](const std::vector<int64_t>& shape, const std::string& toml) {
    TwoBells evaluation;
    evaluation.run.view_shapes = {shape};
    test::load<Evaluator>("finetune", "epochs = 1\n" + toml)->evaluate(evaluation);
    std::string trained, tested;
    for (const auto& [split, name, draw] : evaluation.asked)
      if (split == "train")
        trained = name;
      else
        tested = name;
    CHECK(tested == "plain");
    return trained;
  };
  CHECK(views({2}, "") == "plain");
  CHECK(views({3, 32, 32}, "") == "probe-32");
  CHECK(views({3, 224, 224}, "") == "probe-224");
  CHECK(views({3, 64, 64}, "") == "plain");
  CHECK(views({3, 32, 32}, "train_views = \"train\"") == "train");
}

TEST_CASE("a last batch of one sample is not trained on") {
  TwoBells evaluation;
  evaluation.give("train", at::linspace(-1, 1, 9).unsqueeze(1),
                  at::tensor({0, 0, 0, 0, 0, 1, 1, 1, 1}, at::kLong));
  test::load<Evaluator>("finetune", "epochs = 1\nbatch = 4")->evaluate(evaluation);
  CHECK(evaluation.line->trained_on == std::vector<int64_t>{4, 4});
}

TEST_CASE("a cosine takes the rate to zero, step by step") {
  // With a rate so small that the gradient stays what it is, a bias moves by g·Σ rate·velocity.
  const auto moved = [](const std::string& cosine) {
    TwoBells evaluation;
    evaluation.run.dtype = at::kDouble;
    evaluation.line = std::make_shared<Line>(1, at::kDouble);
    evaluation.encoder = evaluation.line;
    evaluation.give("train", at::linspace(-1, 1, 8).unsqueeze(1).to(at::kDouble),
                    at::tensor({0, 0, 0, 0, 0, 0, 1, 1}, at::kLong));
    evaluation.give("test", at::zeros({2, 1}, at::kDouble), at::tensor({0, 1}, at::kLong));
    test::load<Evaluator>("finetune",
                          "epochs = 3\nrate = 1e-9\nweight_decay = 0.0\nbatch = 8\n"
                          "nesterov = false\ncosine = " +
                              cosine)
        ->evaluate(evaluation);
    return evaluation.line->bias().item<double>();
  };
  const double v1 = 1, v2 = 1.9, v3 = 1 + 0.9 * v2;
  // Half a cosine at 0, 1/3 and 2/3 of its length is 1, 3/4 and 1/4.
  CHECK(moved("true") / moved("false") ==
        Approx((v1 + 0.75 * v2 + 0.25 * v3) / (v1 + v2 + v3)).epsilon(1e-6));
}

TEST_CASE("a loss that is not finite ends the evaluation and names the epoch") {
  TwoBells evaluation;
  try {
    test::load<Evaluator>("finetune", "rate = 1e30\nepochs = 5")->evaluate(evaluation);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::numeric);
    CHECK(std::string(error.what()).find("in epoch 1 of 5") != std::string::npos);
  }
}

TEST_CASE("finetune refuses labels beyond the classes and splits without samples") {
  TwoBells evaluation;
  evaluation.fill("none", 0, 0);
  CHECK_THROWS_WITH(
      test::load<Evaluator>("finetune", "train_split = \"none\"")->evaluate(evaluation),
      Catch::Contains("'none' has no samples"));
  CHECK_THROWS_WITH(
      test::load<Evaluator>("finetune", "epochs = 1\nsplit = \"none\"")->evaluate(evaluation),
      Catch::Contains("'none' has no samples"));
  evaluation.counts = at::tensor({950}, at::kLong);
  CHECK_THROWS_WITH(test::load<Evaluator>("finetune")->evaluate(evaluation),
                    Catch::Contains("label 1"));
}

std::string complaints_of(const std::string& id, const std::string& toml, const EvalFacts& facts) {
  test::CollectedComplaints complaints;
  test::load<Evaluator>(id, toml)->check(facts, complaints);
  return complaints.text;
}

TEST_CASE("finetune and regression refuse before training what cannot work") {
  EvalFacts facts;
  facts.splits = {"train", "test"};
  facts.sample_shape = {3, 64, 64};
  for (const std::string id : {"finetune", "regression"}) {
    CHECK(complaints_of(id, "", facts).find(".data: ") != std::string::npos);
    facts.class_targets = facts.real_targets = true;
    CHECK(complaints_of(id, "", facts).empty());
    CHECK(complaints_of(id, "train_split = \"val\"", facts).find("no split 'val'") !=
          std::string::npos);
    CHECK(complaints_of(id, "split = \"val\"", facts).find("split: ") != std::string::npos);
    CHECK(complaints_of(id, "train_views = \"probe-32\"", facts).find("32 pixels") !=
          std::string::npos);
    CHECK(complaints_of(id, "groups = \"halves\"", facts).find("groups: ") != std::string::npos);
    facts.class_targets = facts.real_targets = false;
  }
  facts.real_targets = true;
  CHECK(complaints_of("regression", "validation = \"val\"", facts).find("validation: ") !=
        std::string::npos);
  CHECK(complaints_of("regression", "groups = \"lists(0;1)\"", facts).find("no labels") !=
        std::string::npos);
}

at::Tensor doubles(std::vector<double> values) { return at::tensor(values, at::kDouble); }

TEST_CASE("errors are averaged over the samples of each group of target values") {
  // Three training samples round to 1, one to 2, none to 5.
  const auto errors = tuning::shot_errors("shots(2,1)", 1, doubles({1.2, 0.8, 1.4, 1.6}),
                                          doubles({1, 0.6, 2.4, 5}), doubles({3, 1.1, 2.4, 1}));
  CHECK(errors.names == std::vector<std::string>{"many", "medium", "few"});
  CHECK(errors.all.mean == Approx((2 + 0.5 + 0 + 4) / 4));
  CHECK(errors.all.geometric_mean == Approx(std::pow(2 * 0.5 * 1e-6 * 4, 0.25)));
  CHECK(errors.groups[0].mean == Approx(1.25));
  CHECK(errors.groups[0].geometric_mean == Approx(1));
  CHECK(errors.groups[1].mean == 0);
  CHECK(errors.groups[1].geometric_mean == Approx(1e-6));
  CHECK(errors.groups[2].mean == Approx(4));
  CHECK(errors.bins.size() == 3);
  CHECK(errors.bins[0].trained == 3);
  const auto coarse = tuning::shot_errors("shots(3,1)", 10, doubles({1.2, 0.8, 1.4, 1.6}),
                                          doubles({1, 0.6, 2.4}), doubles({3, 1.1, 2.4}));
  CHECK(coarse.groups[0].samples == 3);
  CHECK(coarse.groups[1].samples == 0);
}

// Targets 3x + 10 over a line, the width of a network's input.
struct OnALine : test::RecordedEvaluation {
  OnALine() {
    for (const std::string split : {"train", "test"}) {
      const at::Tensor x = at::linspace(-2, 2, split == "train" ? 401 : 50);
      give(split, x.unsqueeze(1), x.to(at::kDouble) * 3 + 10);
    }
    line = std::make_shared<Line>(1);
    encoder = line;
    run.view_shapes = {{1}, {1}};
  }
  std::shared_ptr<Line> line;
};

TEST_CASE("regression learns a line; a group without samples is a dash") {
  OnALine evaluation;
  test::load<Evaluator>("regression",
                        "standardize = true\nrate = 0.02\nepochs = 20\ndrops = [12, 17]\n"
                        "batch = 16\ngroups = \"shots(1000,20)\"")
      ->evaluate(evaluation);
  CHECK(evaluation.metrics.at("mae") < 0.05);
  CHECK(evaluation.metrics.at("gm") <= evaluation.metrics.at("mae"));
  CHECK(evaluation.metrics.at("mae_medium") < 0.05);
  CHECK(std::isnan(evaluation.metrics.at("mae_many")));
  const auto& table = evaluation.tables.at("groups");
  REQUIRE(table.rows.size() == 1);
  CHECK(table.columns[1] == "mae_many");
  CHECK(table.rows[0][1] == "—");
  CHECK(table.rows[0][5] == "—");
  CHECK(evaluation.pictures.at("errors").find("<polyline") != std::string::npos);
  CHECK(evaluation.definitions.at("gm").find("1e-06") != std::string::npos);
}

TEST_CASE("regression learns targets as they are unless told to standardise") {
  // A tiny rate leaves the network at its start, where it says its bias for the middle sample: in
  // units of the targets, or of their spread around the mean, which is that sample's target.
  const auto error = [](const std::string& standardize) {
    OnALine evaluation;
    evaluation.give("test", at::zeros({1, 1}), at::full({1}, 10, at::kDouble));
    test::load<Evaluator>("regression", "epochs = 1\nrate = 1e-9\nstandardize = " + standardize)
        ->evaluate(evaluation);
    return evaluation.metrics.at("mae");
  };
  const at::Tensor x = at::linspace(-6, 6, 401, at::kDouble);
  const double spread = x.square().mean().sqrt().item<double>();
  CHECK(error("true") == Approx(std::abs(10 - error("false")) * spread).epsilon(1e-4));
}

TEST_CASE("the rate of a regression is a tenth after each drop") {
  // Far below its targets the sign of every gradient stays: Adam moves by the rate each step.
  OnALine evaluation;
  evaluation.give("train", at::full({8, 1}, 1e-3), at::full({8}, 1e3, at::kDouble));
  evaluation.give("test", at::zeros({1, 1}), at::zeros({1}, at::kDouble));
  test::load<Evaluator>("regression", "epochs = 6\nrate = 1e-5\ndrops = [2, 4]")
      ->evaluate(evaluation);
  CHECK(std::abs(evaluation.line->bias().item<double>()) ==
        Approx(1e-5 * (2 + 0.2 + 0.02)).epsilon(0.01));
}

TEST_CASE("a validation split chooses the epoch, and its network is what is tested") {
  // Predictions climb from 0 to beyond 0.5, where the validation targets lie.
  OnALine evaluation;
  evaluation.give("train", at::ones({64, 1}), at::full({64}, 10, at::kDouble));
  evaluation.give("val", at::ones({4, 1}), at::full({4}, 2, at::kDouble));
  test::load<Evaluator>("regression",
                        "epochs = 60\nrate = 0.05\nvalidation = \"val\"\nsplit = \"val\"")
      ->evaluate(evaluation);
  const double best = evaluation.metrics.at("best_epoch");
  CHECK(best > 1);
  CHECK(best < 60);
  CHECK(evaluation.metrics.at("mae") < 0.5);
  CHECK(evaluation.pictures.count("validation_error") == 1);
}

}  // namespace
