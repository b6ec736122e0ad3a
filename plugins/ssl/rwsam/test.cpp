#include "support/method_trial.hpp"

#include "gh/parts/sample_density.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

#include <array>

namespace {

using namespace gh;
using test::MethodTrial;

constexpr const char* kBare = "projector = \"none\"\npredictor_hidden = 5\n";

// The losses of both passes; gradients are those of the second.
std::vector<double> step(testing::MethodTrial& trial, const std::vector<at::Tensor>& views) {
  Batch batch;
  batch.views = views;
  batch.global_size = views[0].size(0);
  batch.indices = at::arange(batch.global_size, at::kLong);
  for (const at::Tensor& p : trial.trained.parameters) p.mutable_grad().reset();
  testing::FakeStep step(trial.trained);
  trial.method->step(batch, step);
  CHECK(step.faults.empty());
  return step.losses;
}

void set(testing::MethodTrial& trial, const std::string& name, const at::Tensor& value) {
  test::NamedState state(true);
  state.tensors[name] = value;
  trial.method->visit_state(state);
}

std::vector<at::Tensor> values(const testing::MethodTrial& trial) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& p : trial.trained.parameters) out.push_back(p.detach().clone());
  return out;
}

// Keeps its weights of each forward.
class WatchedEncoder final : public Encoder {
 public:
  WatchedEncoder(int64_t in, int64_t out)
      : weight_(add_parameter("weight", at::randn({out, in}, at::kDouble))),
        bias_(add_parameter("bias", at::randn({out}, at::kDouble))) {}
  at::Tensor forward(const at::Tensor& x) override {
    seen.push_back({weight_.detach().clone(), bias_.detach().clone()});
    return at::linear(x, weight_, bias_);
  }
  int64_t features() const override { return weight_.size(0); }
  std::vector<std::array<at::Tensor, 2>> seen;

 private:
  at::Tensor weight_, bias_;
};

// SimSiam's losses written out, with a linear encoder: weights in the order of the state.
at::Tensor plain_losses(const std::vector<at::Tensor>& w, const std::vector<at::Tensor>& x) {
  const auto unit = [](const at::Tensor& t) { return t / t.square().sum(1, true).sqrt(); };
  const auto predict = [&](const at::Tensor& z) {
    const at::Tensor h = z.matmul(w[2].t());
    const at::Tensor centred = h - h.mean(0);
    const at::Tensor normal = centred / (centred.square().mean(0) + 1e-5).sqrt();
    return (normal * w[3] + w[4]).clamp_min(0).matmul(w[5].t()) + w[6];
  };
  const at::Tensor z1 = x[0].matmul(w[0].t()) + w[1], z2 = x[1].matmul(w[0].t()) + w[1];
  return -((unit(predict(z1)) * unit(z2.detach())).sum(1) +
           (unit(predict(z2)) * unit(z1.detach())).sum(1)) /
         2;
}

// Of the mean of `rarity` times the losses, and that mean.
std::vector<at::Tensor> plain_gradients(const std::vector<at::Tensor>& w,
                                        const std::vector<at::Tensor>& x, const at::Tensor& rarity,
                                        double& loss) {
  std::vector<at::Tensor> leaves, out;
  for (const at::Tensor& t : w) leaves.push_back(test::leaf(t, at::kDouble));
  const at::Tensor mean = (rarity * plain_losses(leaves, x)).mean();
  mean.backward();
  for (const at::Tensor& leaf : leaves) out.push_back(leaf.grad());
  loss = mean.item<double>();
  return out;
}

TEST_CASE("rwsam climbs by the weighted loss and descends by the plain one from there") {
  const std::vector<at::Tensor> x = {at::randn({6, 4}, at::kDouble),
                                     at::randn({6, 4}, at::kDouble)};
  MethodTrial trial("rwsam", std::string(kBare) + "radius = 0.7", x);
  const auto encoder = std::make_shared<WatchedEncoder>(4, 3);
  trial.host.encoders["encoder"] = encoder;
  trial.build();
  REQUIRE(trial.trained.parameters.size() == 7);
  for (const at::Tensor& p : trial.trained.parameters)  // norms, too, away from 0 and 1
    p.detach().copy_(at::randn(p.sizes(), at::kDouble));
  const at::Tensor rarity = at::arange(1, 7, at::kDouble) / 3.5;
  set(trial, "weights", rarity);
  const std::vector<at::Tensor> before = values(trial);

  double weighted = 0, plain = 0;
  const auto up = plain_gradients(before, x, rarity, weighted);
  double square = 0;
  for (std::size_t i = 0; i < 7; ++i)
    square += (before[i].abs() * up[i]).square().sum().item<double>();
  std::vector<at::Tensor> moved;
  for (std::size_t i = 0; i < 7; ++i)
    moved.push_back(before[i] + 0.7 * before[i] * before[i] * up[i] / std::sqrt(square));
  const auto down = plain_gradients(moved, x, at::ones({6}, at::kDouble), plain);

  const std::vector<double> losses = step(trial, x);
  REQUIRE(losses.size() == 2);
  CHECK(losses[0] == Approx(weighted).epsilon(1e-12));
  CHECK(losses[1] == Approx(plain).epsilon(1e-10));  // a gradient's length never counts as 0
  REQUIRE(encoder->seen.size() == 4);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(encoder->seen[1][i].equal(before[i]));
    CHECK(test::largest_difference(encoder->seen[3][i], moved[i]) < 1e-10);
  }
  CHECK(test::largest_difference(moved[0], before[0]) > 1e-3);
  for (std::size_t i = 0; i < 7; ++i) {
    INFO(i);
    CHECK(test::largest_difference(trial.trained.parameters[i].grad(), down[i]) < 1e-10);
    CHECK(trial.trained.parameters[i].equal(before[i]));  // bit for bit
  }
}

TEST_CASE("gradients of rwsam without a radius are those of finite differences") {
  const std::vector<at::Tensor> views = {at::randn({6, 3}, at::kDouble),
                                         at::randn({6, 3}, at::kDouble)};
  MethodTrial trial("rwsam", std::string(kBare) + "radius = 0.0", views);
  trial.build();
  set(trial, "weights", at::arange(6, at::kDouble));  // only the ascent has them
  step(trial, views);
  REQUIRE(trial.trained.parameters.size() == 5);
  CHECK(test::slope_error(trial.trained.parameters, [&] { return step(trial, views).back(); }) <
        1e-7);
}

TEST_CASE("running statistics after a step of rwsam are those of one of simsiam") {
  const std::vector<at::Tensor> views = {at::randn({6, 3}), at::randn({6, 3})};
  MethodTrial one("simsiam", kBare, views),
      two("rwsam", std::string(kBare) + "radius = 3.0", views);
  step(one.build(), views);
  step(two.build(), views);
  test::NamedState expected, found;
  one.method->visit_state(expected);
  two.method->visit_state(found);
  int compared = 0;
  for (const char* name : {"running_mean", "running_var", "num_batches_tracked"})
    compared += found.tensors.at(std::string("predictor.1.") + name)
                    .equal(expected.tensors.at(std::string("predictor.1.") + name));
  CHECK(compared == 3);
  CHECK(found.tensors.at("predictor.1.num_batches_tracked").item<int64_t>() == 2);  // two views
}

std::vector<double> brute_force(const at::Tensor& features, const std::vector<int64_t>& references,
                                const parts::DensityOptions& options) {
  const int64_t n = features.size(0);
  const auto distance = [&](int64_t i, int64_t j) {  // squared, of unit rows
    const at::Tensor a = features[i] / features[i].norm(), b = features[j] / features[j].norm();
    return (a - b).square().sum().item<double>();
  };
  double variance = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) variance += distance(i, j) / static_cast<double>(n * n);
  std::vector<double> p, out;
  double mean = 0, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double kernel = 0, count = 0;
    for (const int64_t j : references)
      if (i != j) {
        kernel +=
            std::exp(-distance(i, j) / (2 * options.bandwidth * options.bandwidth * variance));
        ++count;
      }
    p.push_back(kernel / count);
    mean += p.back() / static_cast<double>(n);
  }
  for (const double density : p) {
    out.push_back(std::pow(density + options.floor * mean, -options.exponent));
    sum += out.back();
  }
  for (double& weight : out) weight *= static_cast<double>(n) / sum;
  return out;
}

TEST_CASE("a sample weighs by the inverse of its density among all samples, or among some") {
  const at::Tensor features = at::randn({17, 4}, at::kDouble) + 1;
  for (const int64_t references : {100, 6}) {
    const parts::DensityOptions options = {
        .bandwidth = 0.4, .exponent = 0.8, .floor = 0.2, .references = references};
    const at::Tensor order = Random(5).permutation(17);
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < std::min<int64_t>(references, 17); ++i)
      chosen.push_back(order[i].item<int64_t>());
    const at::Tensor found = parts::inverse_density(features, options, Random(5));
    const std::vector<double> expected = brute_force(features, chosen, options);
    for (int64_t i = 0; i < 17; ++i) CHECK(found[i].item<double>() == Approx(expected[i]));
  }
}

TEST_CASE("densities hold for more samples than a block, in any scale, and where all are one") {
  const at::Tensor few = at::randn({1, 5}) + 0.1 * at::randn({100, 5});
  const at::Tensor many = at::randn({1, 5}) + 0.1 * at::randn({2000, 5});
  const at::Tensor features = at::cat({few, many});
  const at::Tensor weights = parts::inverse_density(features, {}, Random(1));
  CHECK(weights.mean().item<double>() == Approx(1));
  CHECK(weights.narrow(0, 0, 100).min().item<double>() > 1.5);
  CHECK(weights.narrow(0, 100, 2000).mean().item<double>() < 1);
  const at::Tensor scaled = parts::inverse_density(features * 1000, {}, Random(1));
  CHECK(test::largest_difference(scaled, weights) < 0.01);
  const at::Tensor same = at::ones({9, 5});
  for (const double bandwidth : {0.25, 1e-6})
    CHECK(parts::inverse_density(same, {.bandwidth = bandwidth}, Random(1))
              .isfinite()
              .all()
              .item<bool>());
}

TEST_CASE(
    "rwsam estimates densities every few epochs, of all samples' features, not in the first") {
  const std::vector<at::Tensor> views(2, at::randn({12, 3}));
  MethodTrial trial("rwsam", std::string(kBare) + "refresh = 2\nexponent = 0.5", views);
  trial.build();
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    trial.host.progress().epoch = epoch;
    trial.method->begin_epoch(trial.host);
    test::NamedState state;
    trial.method->visit_state(state);
    // The stand-in encoder hands on what it gets.
    const at::Tensor expected =
        epoch < 2 ? at::ones({12})
                  : parts::inverse_density(trial.host.views_of(0, 12, 0), {.exponent = 0.5},
                                           trial.host.random("references"));
    CHECK(state.tensors.at("weights").equal(expected));
  }
}

TEST_CASE("rwsam refuses accumulated gradients and anything but two views") {
  for (const int64_t accumulate : {1, 2}) {
    RunFacts facts;
    facts.batch = 8;
    facts.accumulate = accumulate;
    facts.view_shapes.assign(accumulate == 1 ? 3 : 2, {3, 8, 8});
    test::CollectedComplaints complaints;
    test::load<SslMethod>("rwsam")->check(facts, complaints);
    CHECK(
        complaints.text.starts_with(accumulate == 1 ? ".views: " : ".train.accumulate: must be 1"));
  }
}

TEST_CASE("rwsam goes on from its state, weights included") {
  const std::vector<at::Tensor> views(2, at::randn({4, 3}));
  const char* toml = "hidden = 8\nembedding = 6\npredictor_hidden = 5";
  MethodTrial one("rwsam", toml, views), two("rwsam", toml, views, 1);
  one.build();
  set(one, "weights", at::arange(4, at::kFloat));
  CHECK(step(two.build(), views) != step(one, views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(step(two, views) == step(one, views));
}

}  // namespace
