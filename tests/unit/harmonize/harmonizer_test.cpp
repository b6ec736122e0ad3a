#include "harmonize/harmonizer.hpp"
#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace {

using namespace gh;
using namespace gh::host;

const auto kQuiet = [](std::string_view, double) {};

at::Tensor leaf(const at::Tensor& values) { return values.clone().set_requires_grad(true); }

struct Loss {
  double value;
  at::Tensor dz1, dz2;
};

Loss loss_of(const at::Tensor& z1, const at::Tensor& z2, const at::Tensor& points,
             const TensorFile& file, const at::Tensor& prior) {
  const std::string sinkhorn = "iterations = " + file.metadata.at("sinkhorn_iterations") +
                               "\nepsilon = " + file.metadata.at("epsilon");
  auto allocator = test::load<Allocator>("sinkhorn", sinkhorn);
  HarmonizePlan plan;
  plan.ramp = 0;
  plan.temperature = test::number(file, "softmax_temperature");
  plan.prior = prior.defined() ? HarmonizePlan::Prior::given : HarmonizePlan::Prior::uniform;
  plan.given_prior = prior;
  Harmonizer harmonizer(plan, points, *allocator.component, {}, z1.size(0), z1.scalar_type(),
                        kQuiet);
  const at::Tensor a = leaf(z1), b = leaf(z2);
  const at::Tensor term = harmonizer.term(a, b, at::arange(z1.size(0), at::kLong), true, 0);
  term.backward();
  return {term.item<double>(), a.grad(), b.grad()};
}

TEST_CASE("the GH loss and its gradients equal the published ones", "[parity]") {
  // It holds the published matrix, so it is not in this repository.
  const auto file = test::find_vector("gh_loss");
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
  plan.prior = HarmonizePlan::Prior::uniform;
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
  int compared = 0;
  for (const auto& [name, expected] : file->tensors) {
    if (!name.starts_with("gh_weight_")) continue;
    Toy toy;
    HarmonizePlan plan;
    plan.tracker.warm_up = static_cast<int64_t>(test::number(*file, "warm_up"));
    plan.ramp = std::stoll(name.substr(name.rfind("ramp") + 4));
    Harmonizer harmonizer = toy.make(plan);
    // The published SDCLR on large sets is one epoch ahead.
    const int64_t ahead = name.find("sdclr") == std::string::npos ? 0 : 1;
    CHECK(harmonizer.weight(plan.tracker.warm_up - 1) == 0);
    for (int64_t i = 0; i < expected.size(0); ++i)
      CHECK(harmonizer.weight(plan.tracker.warm_up + i + ahead) ==
            Approx(expected[i].item<double>()).epsilon(1e-12));
    ++compared;
  }
  CHECK(compared > 0);
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

// [16, 2] in any direction, but no nearer to zero than 0.5: the loss sees directions, so that its
// third derivative, the error of a difference, grows with the third power of 1 / length.
at::Tensor embeddings_off_zero() {
  const at::Tensor angle = at::rand({16, 1}, at::kDouble) * 6.283185307179586;
  const at::Tensor length = at::rand({16, 1}, at::kDouble) + 0.5;
  return length * at::cat({angle.cos(), angle.sin()}, 1);
}

// d term / d z1 against differences, in every direction.
void check_gradient(HarmonizePlan plan) {
  Toy toy;
  plan.ramp = 0;
  const at::Tensor z1 = embeddings_off_zero(), z2 = embeddings_off_zero();
  const at::Tensor indices = at::arange(16, at::kLong);
  const auto value = [&](const at::Tensor& a, const at::Tensor& b) {
    return toy.make(plan).term(a, b, indices, false, 0);
  };
  const at::Tensor a = leaf(z1), b = leaf(z2);
  value(a, b).backward();
  const double step = 1e-5;
  for (int64_t i = 0; i < z1.numel(); ++i) {
    for (const bool first : {true, false}) {
      const auto at_distance = [&](double distance) {
        at::Tensor moved = (first ? z1 : z2).clone();
        moved.view({-1})[i] += distance;
        return first ? value(moved, z2).item<double>() : value(z1, moved).item<double>();
      };
      // Constant targets move when the embedding does; what must agree is the part that is not
      // theirs, so differences are only taken of the joint form.
      const double expected = (at_distance(step) - at_distance(-step)) / (2 * step);
      const double found = (first ? a : b).grad().view({-1})[i].item<double>();
      CHECK(found == Approx(expected).epsilon(1e-5).margin(1e-8));
    }
  }
}

TEST_CASE("gradients through the allocation agree with differences") {
  for (const auto logits : {HarmonizePlan::Logits::unit, HarmonizePlan::Logits::cosine})
    for (const auto directions : {HarmonizePlan::Directions::both, HarmonizePlan::Directions::one})
      check_gradient({.logits = logits,
                      .directions = directions,
                      .targets = HarmonizePlan::Targets::joint,
                      .prior = HarmonizePlan::Prior::uniform});
}

TEST_CASE("with constant targets the gradient is that of the cross-entropy alone") {
  Toy toy;
  HarmonizePlan plan{.ramp = 0, .prior = HarmonizePlan::Prior::uniform};
  const at::Tensor z1 = embeddings_off_zero(), z2 = embeddings_off_zero();
  const at::Tensor a = leaf(z1);
  toy.make(plan).term(a, z2, at::arange(16, at::kLong), false, 0).backward();
  // The same allocator, made to give the same targets whatever it is shown.
  struct Frozen final : Allocator {
    Allocator& inner;
    at::Tensor first, second;
    int calls = 0;
    explicit Frozen(Allocator& allocator) : inner(allocator) {}
    at::Tensor assign(const AssignRequest& request, AssignReport& report) override {
      at::Tensor& kept = calls++ % 2 == 0 ? first : second;
      if (!kept.defined()) kept = inner.assign(request, report);
      return kept;
    }
  } frozen(*toy.allocator.component);
  const auto value = [&](const at::Tensor& z) {
    Harmonizer harmonizer(plan, toy.points, frozen, {}, 16, at::kDouble, kQuiet);
    return harmonizer.term(z, z2, at::arange(16, at::kLong), false, 0).item<double>();
  };
  value(z1);
  for (int64_t i = 0; i < z1.numel(); ++i) {
    at::Tensor up = z1.clone(), down = z1.clone();
    up.view({-1})[i] += 1e-5;
    down.view({-1})[i] -= 1e-5;
    const double expected = (value(up) - value(down)) / 2e-5;
    CHECK(a.grad().view({-1})[i].item<double>() == Approx(expected).epsilon(1e-5).margin(1e-8));
  }
}

TEST_CASE(
    "the paper's form: cosines, log-softmax to the allocator, one direction, softmax tracked") {
  Toy toy;
  const HarmonizePlan plan{.ramp = 0,
                           .logits = HarmonizePlan::Logits::cosine,
                           .allocate = HarmonizePlan::Allocate::log_softmax,
                           .track = HarmonizePlan::Track::softmax,
                           .directions = HarmonizePlan::Directions::one,
                           .prior = HarmonizePlan::Prior::uniform};
  Harmonizer harmonizer = toy.make(plan);
  const at::Tensor z1 = at::randn({16, 2}, at::kDouble), z2 = at::randn({16, 2}, at::kDouble);
  const auto log_q = [&](const at::Tensor& z) {
    return ((z / z.norm(2, {1}, true)).matmul(toy.points.t()) / 0.1).log_softmax(1);
  };
  AssignRequest request;
  request.logits = log_q(z2);
  struct Quiet final : AssignReport {
    void scalar(std::string_view, double) override {}
  } quiet;
  const at::Tensor q = toy.allocator->assign(request, quiet);
  const double expected = -(q * log_q(z1)).sum(1).mean().item<double>();
  CHECK(harmonizer.term(z1, z2, at::arange(16, at::kLong), true, 0).item<double>() ==
        Approx(expected));
  CHECK(test::largest_difference(harmonizer.tracker().table(), log_q(z1).exp()) < 1e-6);
}

TEST_CASE("an allocator draws from what the call is given, otherwise for each view") {
  Toy toy;
  struct Drawing final : Allocator {
    std::vector<double> drawn;
    at::Tensor assign(const AssignRequest& request, AssignReport&) override {
      Random random = request.random;
      drawn.push_back(random.uniform());
      return at::full_like(request.logits, 0.25);
    }
  } drawing;
  Harmonizer harmonizer({.ramp = 0}, toy.points, drawing, {}, 16, at::kDouble, kQuiet);
  const at::Tensor z = at::randn({16, 2}, at::kDouble);
  for (const uint64_t key : {1, 2, 1})
    harmonizer.term(z, z, at::arange(16, at::kLong), false, 0, Random(key));
  REQUIRE(drawing.drawn.size() == 6);
  CHECK(drawing.drawn[0] != drawing.drawn[1]);
  CHECK(drawing.drawn[0] != drawing.drawn[2]);
  CHECK(drawing.drawn[0] == drawing.drawn[4]);
  CHECK(drawing.drawn[1] == drawing.drawn[5]);
}

TEST_CASE("constant targets carry no gradient back into an allocator that has one") {
  Toy toy;
  struct Owner final : Allocator {
    at::Tensor own = at::full({16, 4}, 0.25, at::kDouble).set_requires_grad(true);
    at::Tensor assign(const AssignRequest&, AssignReport&) override { return own * 1; }
  } owner;
  Harmonizer harmonizer({.ramp = 0}, toy.points, owner, {}, 16, at::kDouble, kQuiet);
  const at::Tensor z = leaf(at::randn({16, 2}, at::kDouble));
  harmonizer.term(z, z, at::arange(16, at::kLong), false, 0).backward();
  CHECK(z.grad().defined());
  CHECK_FALSE(owner.own.grad().defined());
}

TEST_CASE("embeddings that are not finite give a loss that is not, and leave no trace") {
  Toy toy;
  Harmonizer harmonizer = toy.make({.ramp = 0});
  at::Tensor z = at::randn({16, 2}, at::kDouble);
  z[3][0] = std::nan("");
  CHECK(std::isnan(harmonizer.term(z, z, at::arange(16, at::kLong), true, 0).item<double>()));
  CHECK(harmonizer.tracker().labels().max().item<int64_t>() == -1);
}

TEST_CASE("as a projector GH adds nothing to the loss and hands out logits after the warm-up") {
  Toy toy;
  HarmonizePlan plan{.apply = HarmonizePlan::Apply::projector};
  plan.tracker.warm_up = 2;
  Harmonizer harmonizer = toy.make(plan);
  const at::Tensor z = at::randn({16, 2}, at::kDouble);
  CHECK(harmonizer.term(z, z, at::arange(16, at::kLong), true, 5).item<double>() == 0);
  CHECK(harmonizer.project(z, 1).is_same(z));
  const at::Tensor t = harmonizer.project(z, 2);
  CHECK(t.size(1) == 4);
  CHECK((t.norm(2, {1}) - 1).abs().max().item<double>() < 1e-12);
}

// Gives fixed centres, and wants neither embeddings nor a prior.
class Fitted final : public Allocator {
 public:
  at::Tensor assign(const AssignRequest& request, AssignReport&) override { return request.logits; }
  int64_t fit_every() const override { return 2; }
  at::Tensor fit(const FitRequest& request, AssignReport& report) override {
    table = request.table;
    report.scalar("objective", 1);
    return centres;
  }
  void* query(const char* id) override {
    return std::string_view(id) == kFitsTable ? this : nullptr;
  }
  at::Tensor table, centres;
};

TEST_CASE("fitted centres replace the points, and the table is measured from them") {
  const at::Tensor points = test::load<Structure>("etf", "points = 3")->points(8, Random(1));
  Fitted fitted;
  HarmonizePlan plan;
  plan.tracker.warm_up = 3;
  Harmonizer harmonizer(plan, points, fitted, {}, 20, at::kDouble, kQuiet);
  CHECK_FALSE(harmonizer.wants_fit(2));
  CHECK(harmonizer.wants_fit(3));
  CHECK_FALSE(harmonizer.wants_fit(4));
  CHECK(harmonizer.fits_table());
  // Embeddings in the span of the points, which the logits hold entirely.
  const at::Tensor z = at::randn({20, 3}, at::kDouble).matmul(points);
  const at::Tensor all = at::arange(20, at::kLong);
  harmonizer.term(z, z, all, true, 0);
  const at::Tensor before = harmonizer.tracker().table().clone();
  fitted.centres = points.index_select(0, at::tensor({2, 0, 1}, at::kLong)) * -1;
  harmonizer.fit({}, all, Random(0));
  CHECK(fitted.table.equal(before));
  const at::Tensor s = z.matmul(fitted.centres.t());
  CHECK(test::largest_difference(harmonizer.tracker().table(), s / s.norm(2, {1}, true)) < 1e-5);
  CHECK(harmonizer.points().equal(fitted.centres));
}

}  // namespace
