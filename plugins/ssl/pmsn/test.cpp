#include "support/method_trial.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

struct Variant {
  const char* name;      // of the loss in the file
  const char* kl_first;  // direction that its source takes
  bool sinkhorn, power_law;
};

// Every view of the file is an anchor; all have the same targets.
void check_vector(const host::TensorFile& file, const Variant& variant, at::ScalarType dtype) {
  INFO(variant.name);
  const auto value = [&](const std::string& key) { return file.metadata.at(key); };
  const std::string rounds = variant.sinkhorn ? "3" : "0";
  const std::string weight = variant.power_law ? value("regularisation_weight_sk" + rounds) : "1.0";
  const at::Tensor anchors = test::leaf(file.at("anchors"), dtype);
  std::vector<at::Tensor> views = anchors.split(std::stoll(value("B")));
  REQUIRE(views.size() == std::stoull(value("views")));
  if (views.size() == 1) views.push_back(views[0]);  // the same means
  MethodTrial trial(
      "pmsn",
      "projector = \"none\"\nprototypes = " + value("K") +
          "\ntemperature = " + value("temperature") +
          "\nsharpening = " + value("sharpen_temperature") + "\niterations = " + rounds +
          "\nexponent = " + (variant.power_law ? value("power_law_exponent") : "0.0") +
          "\nweight = " + weight + "\nkl_first = \"" + variant.kl_first + "\"",
      views);
  const at::Tensor targets = file.at("targets").to(dtype);
  trial.host.encoders["twin"] = std::make_shared<test::StandInEncoder>(
      targets.size(1), std::vector<at::Tensor>{at::cat({targets, targets})});
  trial.build();
  test::NamedState start(true);
  start.tensors["prototypes"] = file.at("prototypes").to(dtype);
  trial.method->visit_state(start);
  const std::string name = variant.name;
  const double loss = trial.step(views);
  CHECK(deviation(file, name + "_loss", loss, dtype) < tolerance(dtype, 5e-6));
  CHECK(deviation(file, name + "_danchors", anchors.grad()) < tolerance(dtype, 1e-6));
  CHECK(deviation(file, name + "_dprototypes", trial.trained.parameters.back().grad()) <
        tolerance(dtype, 1e-6));
}

TEST_CASE("pmsn equals the published losses and their gradients", "[parity]") {
  const auto file = test::find_vector("pmsn_loss");
  if (!file) return;
  constexpr Variant kVariants[] = {{"pmsn_sk3", "prior", true, true},
                                   {"pmsn_sk0", "prior", false, true},
                                   {"msn_sk3", "mean", true, false}};  // log K − entropy
  for (const Variant& variant : kVariants)
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble})
      check_vector(*file, variant, dtype);
}

// A trial whose targets stand still, in float64.
struct Still {
  std::vector<at::Tensor> views;
  at::Tensor targets;  // embeddings of both large views by the twin
  MethodTrial trial;

  Still(const std::string& toml, int64_t count)
      : views([&] {
          std::vector<at::Tensor> out;
          for (int64_t i = 0; i < count; ++i)
            out.push_back(test::leaf(at::randn({6, 3}), at::kDouble));
          return out;
        }()),
        targets(at::randn({12, 3}, at::kDouble)),
        trial("pmsn", "projector = \"none\"\nprototypes = 5\n" + toml, views) {
    trial.host.encoders["twin"] =
        std::make_shared<test::StandInEncoder>(3, std::vector<at::Tensor>{targets});
    trial.build();
  }
};

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const at::Tensor& x) {
  Rows out;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (out.emplace_back(); out[i].size() < static_cast<std::size_t>(x.size(1));)
      out[i].push_back(x[i][static_cast<int64_t>(out[i].size())].item<double>());
  return out;
}

// softmax of cosines / temperature, then to the power of `power`, rows of sum 1.
Rows shares(const at::Tensor& z, const Rows& points, double temperature, double power) {
  Rows out = rows_of(z);
  for (std::vector<double>& row : out) {
    std::vector<double> p;
    double sum = 0;
    for (const std::vector<double>& point : points) {
      double product = 0, a = 0, b = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        product += row[i] * point[i];
        a += row[i] * row[i];
        b += point[i] * point[i];
      }
      p.push_back(std::pow(std::exp(product / std::sqrt(a * b) / temperature), power));
      sum += p.back();
    }
    for (double& share : p) share /= sum;
    row = p;
  }
  return out;
}

TEST_CASE("pmsn's small views predict the mean of both targets, in either direction of KL") {
  for (const std::string first : {"mean", "prior"}) {
    Still still("iterations = 0\nexponent = 0.5\nweight = 2.0\nkl_first = \"" + first + "\"", 4);
    test::NamedState state;
    still.trial.method->visit_state(state);
    const Rows points = rows_of(state.tensors.at("prototypes"));
    const Rows target = shares(still.targets, points, 0.1, 4);
    const std::size_t batch = 6, count = points.size();
    double loss = 0;
    std::vector<double> mean(count), law(count);
    for (std::size_t v = 0; v < 4; ++v) {
      const Rows p = shares(still.views[v], points, 0.1, 1);
      for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t k = 0; k < count; ++k) {
          const double t1 = target[b][k], t2 = target[batch + b][k];
          const double t = v == 0 ? t2 : v == 1 ? t1 : (t1 + t2) / 2;
          loss -= t * std::log(p[b][k]) / (4 * batch);
          mean[k] += p[b][k] / (4 * batch);
        }
    }
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += law[k] = 1 / std::sqrt(k + 1.0);
    for (std::size_t k = 0; k < count; ++k) {
      const double share = law[k] / sum;
      loss += 2 * (first == "mean" ? mean[k] * std::log(mean[k] / share)
                                   : share * std::log(share / mean[k]));
    }
    CHECK(still.trial.step(still.views) == Approx(loss).epsilon(1e-10));
  }
}

TEST_CASE("gradients of pmsn's views are those of finite differences") {
  for (const char* first : {"mean", "prior"}) {
    Still still(std::string("kl_first = \"") + first + "\"", 3);
    still.trial.step(still.views);
    CHECK(test::slope_error(still.views, [&] { return still.trial.step(still.views); }) < 1e-7);
  }
}

TEST_CASE("pmsn's prototypes return to unit length, and its twin follows a rising momentum") {
  const std::vector<at::Tensor> views(2, at::randn({6, 3}));
  MethodTrial trial("pmsn", "hidden = 5\nembedding = 4\nprototypes = 5\nmomentum = 0.9", views);
  trial.build();
  trial.host.progress().steps = 2;
  test::NamedState before;
  trial.method->visit_state(before);
  trial.trained.parameters.back().detach().mul_(3);
  trial.trained.parameters.front().detach().add_(1);
  trial.finish_step();
  test::NamedState after;
  trial.method->visit_state(after);
  CHECK(test::largest_difference(after.tensors["prototypes"], before.tensors["prototypes"]) < 1e-6);
  const std::string weight = "twin.projector.0.weight";
  CHECK(test::largest_difference(after.tensors[weight], before.tensors[weight] + 0.1) < 1e-6);
  trial.finish_step();
  CHECK(trial.host.values.at("twin_momentum")[1] == Approx(0.95).epsilon(1e-12));
}

TEST_CASE("pmsn refuses a single view, or two of which one is smaller") {
  for (const std::vector<std::vector<int64_t>>& shapes :
       {std::vector<std::vector<int64_t>>{{3, 8, 8}}, {{3, 8, 8}, {3, 4, 4}}}) {
    RunFacts facts;
    facts.batch = 4;
    facts.view_shapes = shapes;
    test::CollectedComplaints complaints;
    test::load<SslMethod>("pmsn")->check(facts, complaints);
    CHECK(complaints.text.starts_with(".views: "));
  }
}

TEST_CASE("pmsn goes on from its state, twin and prototypes included") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const char* toml = "hidden = 8\nembedding = 6\nprototypes = 5";
  MethodTrial one("pmsn", toml, views), two("pmsn", toml, views, 1);
  one.build().step(views);
  one.finish_step();
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
