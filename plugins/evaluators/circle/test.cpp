#include "support/plugin_fixture.hpp"

#include <ATen/ops/empty.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <numbers>

namespace {

using namespace gh;

// Embeddings given as degrees and class; nothing behind them.
class FakeEvaluation final : public Evaluation {
 public:
  explicit FakeEvaluation(const std::vector<std::pair<double, int64_t>>& samples) {
    const auto n = static_cast<int64_t>(samples.size());
    features_.x = at::empty({n, 2});
    features_.targets = at::empty({n}, at::kLong);
    for (int64_t i = 0; i < n; ++i) {
      const double angle = samples[i].first * std::numbers::pi / 180;
      features_.x[i][0] = 3 * std::cos(angle);
      features_.x[i][1] = 3 * std::sin(angle);
      features_.targets[i] = samples[i].second;
    }
  }
  const RunFacts& facts() const override { return facts_; }
  Random random(std::string_view) const override { return Random(0); }
  const Features& features(const FeatureRequest&) override { return features_; }
  at::Tensor class_counts() override { return {}; }
  at::Tensor points() override { return {}; }
  at::Tensor prior() override { return {}; }
  std::shared_ptr<Encoder> clone_encoder() override { return nullptr; }
  void each_batch(const FeatureRequest&, int64_t, int64_t,
                  const std::function<bool(const at::Tensor&, const at::Tensor&)>&) override {}
  void metric(std::string_view name, double value, std::string_view) override {
    metrics[std::string(name)] = value;
  }
  void table(std::string_view, std::string_view, std::span<const std::string>,
             std::span<const std::vector<std::string>> rows) override {
    table_rows.assign(rows.begin(), rows.end());
  }
  void picture(std::string_view name, std::string_view, std::string_view,
               std::string_view bytes) override {
    pictures[std::string(name)] = bytes;
  }
  void say(Severity, std::string_view) override {}
  void* query(const char*) override { return nullptr; }

  std::map<std::string, double> metrics;
  std::map<std::string, std::string> pictures;
  std::vector<std::vector<std::string>> table_rows;

 private:
  RunFacts facts_;
  Features features_;
};

FakeEvaluation evaluate(const std::vector<std::pair<double, int64_t>>& samples) {
  FakeEvaluation evaluation(samples);
  test::load<Evaluator>("circle")->evaluate(evaluation);
  return evaluation;
}

TEST_CASE("circle: four classes on the axes share evenly, a right angle apart") {
  const auto out = evaluate({{0, 0}, {90, 1}, {180, 2}, {-90, 3}});
  CHECK(out.metrics.at("head_share") == Approx(0.25).margin(0.001));
  CHECK(out.metrics.at("smallest_angle") == Approx(90));
}

TEST_CASE("circle: a direction belongs to the nearest sample, across ±180° too") {
  // Class 0 at 180° and 170°, class 1 at -170°: class 1 holds from 5° beyond -175° round to the
  // middle of the far gap, 0°.
  const auto out = evaluate({{180, 0}, {170, 0}, {-170, 1}});
  CHECK(out.metrics.at("head_share") == Approx((180 + 5) / 360.0).margin(0.001));
  CHECK(out.metrics.at("smallest_angle") == Approx(15));
}

TEST_CASE("circle: the mean of a class is that of its directions") {
  const auto out = evaluate({{80, 0}, {100, 0}, {-60, 1}});
  CHECK(out.metrics.at("smallest_angle") == Approx(150));
  CHECK(out.table_rows.at(0).at(3) == "90.0");
}

TEST_CASE("circle: one class alone has no angle") {
  const auto out = evaluate({{10, 0}, {20, 0}});
  CHECK(out.metrics.at("head_share") == Approx(1));
  CHECK(std::isnan(out.metrics.at("smallest_angle")));
}

TEST_CASE("circle draws data and embedding") {
  const auto out = evaluate({{0, 0}, {90, 1}});
  CHECK(out.pictures.at("data").find("<svg") != std::string::npos);
  CHECK(out.pictures.at("embedding").find("</svg>") != std::string::npos);
}

TEST_CASE("circle refuses embeddings that are not flat, unlabelled data and unknown splits") {
  EvalFacts facts;
  facts.embedding_width = 128;
  facts.splits = {"test"};
  test::CollectedComplaints complaints;
  test::load<Evaluator>("circle")->check(facts, complaints);
  CHECK(complaints.text.find("width 2") != std::string::npos);
  CHECK(complaints.text.find("labels") != std::string::npos);
  CHECK(complaints.text.find("no split 'train'") != std::string::npos);
}

}  // namespace
