#include "harmonize/harmonizer.hpp"
#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace {

using namespace gh;
using namespace gh::host;

const auto kQuiet = [](std::string_view, double) {};

at::Tensor leaf(const at::Tensor& values) { return values.clone().set_requires_grad(true); }

// The loss for a given prior: the tracker is made to hold it by showing it samples in those
// proportions.
struct Loss {
  double value;
  at::Tensor dz1, dz2;
};

Loss loss_of(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& points,
             const TensorFile& file, const at::Tensor& prior) {
  const std::string sinkhorn = "iterations = " + file.metadata.at("sinkhorn_iterations") +
                               "\nepsilon = " + file.metadata.at("epsilon");
  auto allocator = test::load<Allocator>("sinkhorn", sinkhorn);
  // Hands the allocator the stored prior in place of the tracked one.
  struct WithPrior final : Allocator {
    Allocator& inner;
    at::Tensor prior;
    WithPrior(Allocator& a, at::Tensor p) : inner(a), prior(std::move(p)) {}
    at::Tensor assign(const AssignRequest& request, AssignReport& report) override {
      AssignRequest changed = request;
      changed.prior = prior;
      return inner.assign(changed, report);
    }
  } with_prior(*allocator.component, prior);
  HarmonizePlan plan;
  plan.ramp = 0;
  plan.temperature = test::number(file, "softmax_temperature");
  Harmonizer harmonizer(plan, points, with_prior, {}, z1.size(0), z1.scalar_type(), kQuiet);
  const at::Tensor a = leaf(z1), b = leaf(z2);
  const at::Tensor term = harmonizer.term(a, b, at::arange(z1.size(0), at::kLong), true, 0);
  term.backward();
  return {term.item<double>(), a.grad(), b.grad()};
}

TEST_CASE("the GH loss and its gradients equal the published ones", "[parity]") {
  const auto file =
      test::find_vector("gh_loss");  // holds the published matrix, so it is not in this repository
  if (!file) return;
  for (const std::string which : {"pi", "none"}) {
    const at::Tensor prior = which == "pi" ? file->at("pi") : at::Tensor();
    const Loss single = loss_of(file->at("z1"), file->at("z2"), file->at("M"), *file, prior);
    CHECK(std::abs(single.value - file->at("loss_" + which).item<double>()) < 5e-6);
    const Loss exact = loss_of(file->at("z1").to(at::kDouble), file->at("z2").to(at::kDouble),
                               file->at("M").to(at::kDouble), *file, prior);
    CHECK(std::abs(exact.value - file->at("loss_" + which + "_f64").item<double>()) < 1e-9);
    CHECK(test::largest_difference(exact.dz1, file->at("dz1_" + which + "_f64")) < 1e-9);
    CHECK(test::largest_difference(exact.dz2, file->at("dz2_" + which + "_f64")) < 1e-9);
    if (which == "pi") CHECK(test::largest_difference(single.dz1, file->at("dz1_pi")) < 1e-7);
  }
}

struct Toy {
  test::Loaded<Allocator> allocator = test::load<Allocator>("sinkhorn");
  at::Tensor points = test::load<Structure>("orthogonal")->points(2, Random(0));
  std::map<std::string, double> logged;
  Harmonizer make(HarmonizePlan plan) {
    return Harmonizer(
        plan, points, *allocator.component, {}, 16, at::kDouble,
        [this](std::string_view name, double value) { logged[std::string(name)] = value; });
  }
};

TEST_CASE("the GH loss agrees with its definition") {
  Toy toy;
  HarmonizePlan plan;
  plan.ramp = 0;
  plan.weight = 2.5;
  plan.track_prior = false;
  Harmonizer harmonizer = toy.make(plan);
  const at::Tensor z1 = at::randn({16, 2}, at::kDouble), z2 = at::randn({16, 2}, at::kDouble);
  const auto logits = [&](const at::Tensor& z) {
    const at::Tensor s = z.matmul(toy.points.t());
    return s / s.norm(2, {1}, true);
  };
  const auto half = [&](const at::Tensor& from, const at::Tensor& to) {
    AssignRequest request;
    request.logits = logits(from);
    struct Quiet final : AssignReport {
      void scalar(std::string_view, double) override {}
    } quiet;
    const at::Tensor q = toy.allocator->assign(request, quiet);
    return -(q * (logits(to) / 0.1).log_softmax(1)).sum(1).mean().item<double>();
  };
  const double expected = half(z1, z2) + half(z2, z1);
  CHECK(harmonizer.term(z1, z2, at::arange(16, at::kLong), true, 0).item<double>() ==
        Approx(2.5 * expected));
  CHECK(toy.logged.at("loss_gh") == Approx(expected));
}

TEST_CASE("during the warm-up the term is an exact zero without gradient, and the table fills") {
  Toy toy;
  HarmonizePlan plan;
  plan.tracker.warm_up = 5;
  Harmonizer harmonizer = toy.make(plan);
  const at::Tensor z = leaf(at::randn({16, 2}, at::kDouble));
  const at::Tensor term = harmonizer.term(z, z, at::arange(16, at::kLong), true, 4);
  CHECK(term.item<double>() == 0);
  CHECK_FALSE(term.requires_grad());
  CHECK(harmonizer.tracker().labels().min().item<int64_t>() >= 0);
}

TEST_CASE("track = false leaves the table alone") {
  Toy toy;
  Harmonizer harmonizer = toy.make({});
  const at::Tensor z = at::randn({16, 2}, at::kDouble);
  harmonizer.term(z, z, at::arange(16, at::kLong), false, 0);
  CHECK(harmonizer.tracker().labels().max().item<int64_t>() == -1);
}

TEST_CASE("the weight ramps as published", "[parity]") {
  const auto file = test::find_vector("gh_schedules");
  if (!file) return;
  Toy toy;
  HarmonizePlan plan;
  plan.tracker.warm_up = static_cast<int64_t>(test::number(*file, "warm_up"));
  for (const int64_t ramp : {10, 30}) {
    plan.ramp = ramp;
    Harmonizer harmonizer = toy.make(plan);
    const at::Tensor expected =
        file->at(ramp == 10 ? "gh_weight_cifar_ramp10" : "gh_weight_large_ramp30");
    CHECK(harmonizer.weight(plan.tracker.warm_up - 1) == 0);
    for (int64_t i = 0; i < expected.size(0); ++i)
      CHECK(harmonizer.weight(plan.tracker.warm_up + i) ==
            Approx(expected[i].item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("learnable points are trained and return to the sphere") {
  Toy toy;
  HarmonizePlan plan;
  plan.ramp = 0;
  plan.learnable = true;
  Harmonizer harmonizer = toy.make(plan);
  const at::Tensor z = at::randn({16, 2}, at::kDouble);
  harmonizer.term(z, z + 0.1, at::arange(16, at::kLong), true, 0).backward();
  REQUIRE(harmonizer.points().grad().defined());
  CHECK(harmonizer.points().grad().abs().sum().item<double>() > 0);
  harmonizer.points().detach().mul_(3);
  harmonizer.after_update();
  CHECK((harmonizer.points().norm(2, {1}) - 1).abs().max().item<double>() < 1e-12);
}

TEST_CASE("embeddings of another width are refused by shape") {
  Toy toy;
  Harmonizer harmonizer = toy.make({});
  const at::Tensor z = at::randn({16, 3}, at::kDouble);
  CHECK_THROWS_WITH(harmonizer.term(z, z, at::arange(16, at::kLong), true, 0),
                    Catch::Contains("[batch, 2]"));
}

}  // namespace
