#include "support/method_trial.hpp"
#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/eye.h>
#include <ATen/ops/randn.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <utility>

namespace {

using namespace gh;

struct Outcome {
  double loss;
  at::Tensor dz1, dz2;
};

// `id` is simclr or focal, `toml` its parameters.
Outcome run(const std::string& id, const std::string& toml, at::Tensor z1, at::Tensor z2) {
  z1 = test::leaf(z1, z1.scalar_type());
  z2 = test::leaf(z2, z2.scalar_type());
  test::MethodTrial trial(id, "projector = \"none\"\n" + toml, {z1, z2});
  const double loss = trial.build().step({z1, z2});
  return {loss, z1.grad(), z2.grad()};
}

// For every temperature of the file: names are mean_t<temperature>[_f64].
void check_vector(const std::string& id, const host::TensorFile& file, const std::string& toml) {
  int compared = 0;
  for (const std::string& temperature : test::endings(file, "mean_t")) {
    if (temperature.ends_with("_f64")) continue;
    const std::string t = "_t" + temperature, params = toml + "temperature = " + temperature;
    INFO(id << " " << params);
    const Outcome single = run(id, params, file.at("z1"), file.at("z2"));
    CHECK(std::abs(single.loss - file.at("mean" + t).item<double>()) < 5e-6);
    CHECK(test::largest_difference(single.dz1, file.at("dz1" + t)) < 1e-7);
    CHECK(test::largest_difference(single.dz2, file.at("dz2" + t)) < 1e-7);
    const Outcome exact =
        run(id, params, file.at("z1").to(at::kDouble), file.at("z2").to(at::kDouble));
    CHECK(std::abs(exact.loss - file.at("mean" + t + "_f64").item<double>()) < 1e-9);
    CHECK(test::largest_difference(exact.dz1, file.at("dz1" + t + "_f64")) < 1e-9);
    CHECK(test::largest_difference(exact.dz2, file.at("dz2" + t + "_f64")) < 1e-9);
    ++compared;
  }
  CHECK(compared > 0);
}

TEST_CASE("simclr equals the published NT-Xent and its gradients", "[parity]") {
  const auto file = test::find_vector("gh_ntxent");
  if (file) check_vector("simclr", *file, "");
}

TEST_CASE("focal equals the published focal NT-Xent and its gradients", "[parity]") {
  const auto file = test::find_vector("gh_focal_ntxent");
  if (file)
    check_vector("focal", *file,
                 "exponent = " + std::to_string(test::number(*file, "focal_exponent")) + "\n");
}

TEST_CASE("simclr and focal agree with their definitions, pair by pair") {
  const at::Tensor z1 = at::randn({5, 3}, at::kDouble);
  const at::Tensor z2 = at::randn({5, 3}, at::kDouble);
  const auto cosine = [&](int a, int b) {
    const at::Tensor x = a < 5 ? z1[a] : z2[a - 5];
    const at::Tensor y = b < 5 ? z1[b] : z2[b - 5];
    return (x.dot(y) / (x.norm() * y.norm())).item<double>();
  };
  double plain = 0, focal = 0;
  for (int i = 0; i < 10; ++i) {
    double all = 0;
    for (int j = 0; j < 10; ++j)
      if (j != i) all += std::exp(cosine(i, j) / 0.3);
    const double p = std::exp(cosine(i, (i + 5) % 10) / 0.3) / all;
    plain -= std::log(p) / 10;
    focal -= std::pow(1 - p, 1.7) * std::log(p) / 10;
  }
  const std::string t = "temperature = 0.3\n";
  CHECK(run("simclr", t, z1, z2).loss == Approx(plain).epsilon(1e-12));
  CHECK(run("focal", t + "exponent = 1.7", z1, z2).loss == Approx(focal).epsilon(1e-12));
  CHECK(run("focal", t + "exponent = 0.0", z1, z2).loss == Approx(plain).epsilon(1e-12));
}

TEST_CASE("gradients of simclr, focal and ts are those of finite differences") {
  const at::Tensor z1 = at::randn({4, 3}, at::kDouble), z2 = at::randn({4, 3}, at::kDouble);
  for (const auto& [id, toml] : {std::pair<std::string, std::string>{"simclr", ""},
                                 {"focal", ""},
                                 {"focal", "exponent = 0.5\ntemperature = 1.0"},
                                 {"ts", "period = 3"}}) {
    const Outcome outcome = run(id, toml, z1, z2);
    const auto slope = [&](const at::Tensor& of, int i, int k) {
      const double step = 1e-6, before = of[i][k].item<double>();
      of[i][k] = before + step;
      const double above = run(id, toml, z1, z2).loss;
      of[i][k] = before - step;
      const double below = run(id, toml, z1, z2).loss;
      of[i][k] = before;
      return (above - below) / (2 * step);
    };
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 3; ++k) {
        CHECK(outcome.dz1[i][k].item<double>() == Approx(slope(z1, i, k)).margin(1e-8));
        CHECK(outcome.dz2[i][k].item<double>() == Approx(slope(z2, i, k)).margin(1e-8));
      }
  }
}

TEST_CASE("simclr and focal survive zero embeddings and a temperature close to zero") {
  at::Tensor z1 = at::randn({4, 2}), z2 = at::randn({4, 2});
  z1[0].zero_();
  for (const std::string id : {"simclr", "focal"}) {
    const Outcome outcome = run(id, "temperature = 0.01", z1, z2);
    CHECK(std::isfinite(outcome.loss));
    CHECK(std::isfinite(outcome.dz1.sum().item<double>()));
  }
}

TEST_CASE("simclr and focal keep their precision where p is almost 1 or almost 0") {
  // Views along an axis: cosines are 1 with the partner, 0 or -1 with the others.
  const at::Tensor z = at::eye(2), opposite = -z;
  const double tau = 0.05, s = std::exp(-1 / tau);
  // u = log of 2 negatives at 0 over one positive at 1: -log p = log1p(2s), 1 - p = 2s/(1 + 2s).
  const std::string toml = "temperature = 0.05\nexponent = ";
  CHECK(run("simclr", "temperature = 0.05", z, z).loss == Approx(std::log1p(2 * s)).epsilon(1e-5));
  CHECK(run("focal", toml + "0.5", z, z).loss ==
        Approx(std::sqrt(2 * s / (1 + 2 * s)) * std::log1p(2 * s)).epsilon(1e-5));
  // With partners opposite, p = s/(s + 2), and the factor is one but for s.
  const double wrong = -std::log(s / (s + 2));
  CHECK(run("simclr", "temperature = 0.05", z, opposite).loss == Approx(wrong).epsilon(1e-6));
  CHECK(run("focal", toml + "2.0", z, opposite).loss == Approx(wrong).epsilon(1e-6));
}

TEST_CASE("ts has the published temperatures, one an epoch", "[parity]") {
  const auto file = test::find_vector("ssl_schedules");
  if (!file) return;
  const std::vector<at::Tensor> views = {at::randn({3, 2}), at::randn({3, 2})};
  int compared = 0;
  for (const std::string& which : test::endings(*file, "ts_tau_")) {
    const auto numbers = test::numbers_in(file->metadata.at("ts_" + which));  // low, high, t_max
    const auto value = [](double x) { return std::to_string(x); };
    test::MethodTrial trial("ts",
                            "projector = \"none\"\ntemperature_min = " + value(numbers.at(0)) +
                                "\ntemperature_max = " + value(numbers.at(1)) +
                                "\nperiod = " + value(2 * numbers.at(2)),
                            views);
    trial.build();
    const at::Tensor expected = file->at("ts_tau_" + which);
    for (int64_t i = 0; i < expected.numel(); ++i) {
      trial.host.progress().epoch = i;
      const double loss = trial.step(views);
      const double temperature = trial.host.values.at("temperature").back();
      CHECK(temperature == Approx(expected[i].item<double>()).margin(5e-7));
      const std::string same = "temperature = " + fmt::format("{:.17g}", temperature);
      if (i % 50 == 0) CHECK(run("simclr", same, views[0], views[1]).loss == loss);
    }
    ++compared;
  }
  CHECK(compared > 0);
}

TEST_CASE("simclr and focal refuse a recipe with three views or a batch of one") {
  for (const std::string id : {"simclr", "focal"}) {
    auto method = test::load<SslMethod>(id);
    RunFacts facts;
    facts.batch = 1;
    facts.view_shapes = {{2}, {2}, {2}};
    test::CollectedComplaints complaints;
    method->check(facts, complaints);
    CHECK(complaints.text.find(".views") != std::string::npos);
    CHECK(complaints.text.find(".train.batch") != std::string::npos);
  }
}

}  // namespace
