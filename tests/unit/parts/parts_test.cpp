// The parts that methods are made of, against brute force.
#include "support/method_trial.hpp"
#include "unit/ops/threads.hpp"

#include "gh/parts/balanced_labels.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/multi_crop.hpp"
#include "gh/parts/network.hpp"
#include "gh/parts/row_queue.hpp"
#include "gh/parts/twin.hpp"
#include "gh/parts/unit_prototypes.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <numbers>

namespace {

using namespace gh;
using test::TrialHost;

RunFacts facts_of_width(int64_t width, at::ScalarType dtype = at::kDouble) {
  return test::MethodTrial::facts_of({at::zeros({4, width}, dtype)});
}

// Two ranks of which this is one: the other one's rows are these plus 100.
class TwoRanks final : public testing::FakeHost {
 public:
  explicit TwoRanks(int64_t width)
      : FakeHost([&] {
          RunFacts facts = facts_of_width(width);
          facts.world = 2;
          return facts;
        }()) {}
  at::Tensor all_gather(const at::Tensor& rows) override { return at::cat({rows, rows + 100}); }
};

parts::NetworkSpec with_head(const parts::HeadSpec& head) {
  parts::NetworkSpec spec;
  spec.head = head;
  return spec;
}

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> out;
  for (const NamedTensor& t : module.parameters()) out.push_back(t.name);
  return out;
}

TEST_CASE("a head has the layers that its specification names") {
  const auto layers = standard_layers();
  Random random(1);
  const auto head = [&](const parts::HeadSpec& spec) {
    return parts::make_head(*layers, 6, spec, random);
  };
  using Names = std::vector<std::string>;
  CHECK(names(*head({.widths = {0, 3}})) ==
        Names{"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"});
  CHECK(names(*head(
            {.widths = {5, 3}, .hidden_bias = false, .hidden_norm = false, .last_bias = false})) ==
        Names{"0.weight", "2.weight"});
  const auto fixed = head({.widths = {3}, .last_norm = parts::LastNorm::fixed});
  CHECK(names(*fixed) == Names{"0.weight", "0.bias"});
  CHECK(fixed->buffers().size() == 3);
  const auto affine =
      head({.widths = {3}, .last_bias = false, .last_norm = parts::LastNorm::affine});
  CHECK(names(*affine) == Names{"0.weight", "1.weight", "1.bias"});
  CHECK(head({.widths = {0, 3}})->parameters()[0].tensor.sizes() == at::IntArrayRef{6, 6});
  CHECK(head({.widths = {7, 0}})->forward(at::randn({4, 6})).sizes() == at::IntArrayRef{4, 6});
}

TEST_CASE("a network is its encoder and head, with names for the state of both") {
  testing::FakeHost host(facts_of_width(4, at::kFloat));
  const parts::NetworkSpec none;
  const parts::NetworkSpec headed = with_head({.widths = {0, 5}});
  parts::Network bare(host, none), whole(host, headed);
  CHECK(bare.width() == bare.encoder()->features());
  CHECK(bare.projector() == nullptr);
  CHECK(whole.width() == 5);
  const at::Tensor x = at::randn({3, 3, 8, 8});
  const at::NoGradGuard no_grad;
  CHECK(whole.forward(x).equal(whole.projector()->forward(whole.encoder()->forward(x))));
  CHECK(names(whole).front() == "encoder.conv.weight");
  CHECK(names(whole).back() == "projector.2.bias");
}

TEST_CASE("a twin starts as a copy, averages weights and treats statistics as told") {
  for (const auto buffers :
       {parts::TwinBuffers::own, parts::TwinBuffers::copied, parts::TwinBuffers::averaged}) {
    testing::FakeHost host(facts_of_width(4, at::kFloat));
    const parts::NetworkSpec spec =
        with_head({.widths = {5}, .last_norm = parts::LastNorm::affine});
    parts::Network online(host, spec);
    parts::Twin twin(host, online, spec,
                     {.momentum = 0.9, .last_momentum = 0.9, .buffers = buffers});
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> before;
    for (const NamedTensor& t : online.parameters()) before.push_back(t.tensor.clone());
    const auto start = twin.network()->parameters();
    for (std::size_t i = 0; i < start.size(); ++i) CHECK(start[i].tensor.equal(before[i]));
    for (NamedTensor& t : online.parameters()) t.tensor.add_(1);
    for (NamedTensor& t : online.buffers()) t.tensor.add_(2);
    const auto statistics = [](const parts::Network& of) {
      return of.projector()->buffers()[0].tensor[0].item<double>();
    };
    const double old = statistics(*twin.network());
    twin.follow(host.progress());
    const auto after = twin.network()->parameters();
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      CHECK((after[i].tensor - (before[i] + 0.1)).abs().max().item<double>() < 1e-6);
      CHECK_FALSE(after[i].tensor.requires_grad());
    }
    const double expected = buffers == parts::TwinBuffers::own      ? old
                            : buffers == parts::TwinBuffers::copied ? 2.0
                                                                    : 0.9 * old + 0.1 * 2;
    CHECK(statistics(*twin.network()) == Approx(expected));
  }
}

TEST_CASE("a twin's momentum rises by half a cosine, read where its update belongs") {
  testing::FakeHost host(facts_of_width(4, at::kFloat));
  const parts::NetworkSpec spec;
  parts::Network online(host, spec);
  const auto momentum = [&](parts::TwinUpdate update, int64_t step) {
    const parts::Twin twin(host, online, spec, {.momentum = 0.9, .update = update});
    Progress now;
    now.step = step;
    now.steps = 10;
    return twin.momentum(now);
  };
  const auto at_position = [](double k) {
    return 1 - 0.1 * (1 + std::cos(std::numbers::pi * k / 10)) / 2;
  };
  for (const int64_t step : {0, 3, 9}) {
    CHECK(momentum(parts::TwinUpdate::after_step, step) ==
          Approx(at_position(step)).epsilon(1e-14));
    CHECK(momentum(parts::TwinUpdate::before_forward, step) ==
          Approx(at_position(step + 1)).epsilon(1e-14));
  }
}

TEST_CASE("a queue keeps the newest rows whatever the size of batches, of all ranks") {
  for (const int64_t batch : {1, 3, 5, 7, 16}) {
    TwoRanks host(2);
    parts::RowQueue queue;
    queue.make(host.facts(), 5, 2);
    std::vector<double> all;  // first columns of what was pushed, in order
    for (int64_t k = 0; k < 4; ++k) {
      CHECK(queue.full() == (static_cast<int64_t>(all.size()) >= 5));
      const at::Tensor rows =
          (at::arange(batch, at::kDouble) + 10 * k).unsqueeze(1).expand({-1, 2});
      queue.push(host, rows);
      for (const double offset : {0.0, 100.0})
        for (int64_t i = 0; i < batch; ++i) all.push_back(10.0 * k + i + offset);
    }
    std::vector<double> newest(all.end() - 5, all.end()), kept;
    for (int64_t i = 0; i < 5; ++i) kept.push_back(queue.rows()[i][0].item<double>());
    std::sort(newest.begin(), newest.end());
    std::sort(kept.begin(), kept.end());
    CHECK(kept == newest);
    test::NamedState saved;
    queue.visit_state(saved, "queue");
    CHECK(saved.integers["queue.next"] == static_cast<int64_t>(all.size()) % 5);
  }
}

TEST_CASE("a filled queue is of unit rows, and a loaded one goes on where it was saved") {
  testing::FakeHost host(facts_of_width(3));
  parts::RowQueue queue, other;
  queue.make(host.facts(), 4, 3);
  other.make(host.facts(), 4, 3);
  queue.fill(Random(7));
  CHECK(queue.full());
  CHECK((queue.rows().norm(2, {1}) - 1).abs().max().item<double>() < 1e-12);
  queue.push(host, at::randn({3, 3}, at::kDouble));
  testing::StateMap saved;
  queue.visit_state(saved, "q");
  testing::StateMap loader = testing::StateMap::loader_of(saved);
  other.visit_state(loader, "q");
  const at::Tensor more = at::randn({3, 3}, at::kDouble);
  queue.push(host, more);
  other.push(host, more);
  CHECK(other.rows().equal(queue.rows()));
}

TEST_CASE("prototypes stay as drawn for some steps, and then return to unit length") {
  testing::FakeHost host(facts_of_width(3));
  parts::UnitPrototypes prototypes;
  prototypes.make(host, 6, 3, 2);
  const auto lengths_off = [&] {
    return (prototypes.points().detach().norm(2, {1}) - 1).abs().max().item<double>();
  };
  CHECK(lengths_off() < 1e-12);
  for (int64_t step = 0; step < 4; ++step) {
    Progress now;
    now.step = step;
    prototypes.scores(at::ones({2, 3}, at::kDouble)).sum().backward();
    prototypes.before_update(now);
    CHECK(prototypes.points().grad().defined() == (step >= 2));
    const at::NoGradGuard no_grad;
    if (step >= 2) prototypes.points().detach().mul_(3);
    prototypes.after_update(now);
    CHECK(lengths_off() < 1e-12);
  }
}

TEST_CASE("crops of one size that follow each other share a forward, and the head sees all") {
  // Shapes of what came in.
  struct Counting final : Encoder {
    at::Tensor forward(const at::Tensor& x) override {
      batches.push_back(x.size(0));
      return x.narrow(1, 0, 2);
    }
    int64_t features() const override { return 2; }
    std::vector<int64_t> batches;
  };
  TrialHost host(facts_of_width(2), 2);
  const auto counting = std::make_shared<Counting>();
  host.encoders["encoder"] = counting;
  const parts::NetworkSpec spec;
  parts::Network network(host, spec);
  std::vector<at::Tensor> views;
  for (const int64_t width : {4, 4, 3, 3, 3, 4})
    views.push_back(at::randn({5, width}, at::kDouble));
  const auto z = parts::embed_crops(network, views);
  REQUIRE(z.size() == views.size());
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i].equal(views[i].narrow(1, 0, 2)));
  CHECK(counting->batches == std::vector<int64_t>{10, 15, 5});
}

TEST_CASE("losses among ranks equal sums over the rows of all") {
  // The other rank's rows are those of this one, turned round, so that they have unit length.
  struct Turned final : testing::FakeHost {
    using FakeHost::FakeHost;
    at::Tensor all_gather(const at::Tensor& rows) override { return at::cat({rows, -rows}); }
  };
  RunFacts facts = facts_of_width(3);
  facts.world = 2;
  Turned host(facts);
  const at::Tensor z1 = at::randn({4, 3}, at::kDouble), z2 = at::randn({4, 3}, at::kDouble);
  const at::Tensor a = unit_rows(z1), b = unit_rows(z2);
  const at::Tensor other = parts::info_nce(host, z1, z2, 0.3);
  const at::Tensor both = parts::nt_xent(host, z1, z2, {.temperature = 0.3});
  const auto share = [](const at::Tensor& x, const at::Tensor& y) {
    return std::exp(x.dot(y).item<double>() / 0.3);
  };
  for (int64_t i = 0; i < 4; ++i) {
    double keys = 0, first = 0, second = 0;  // sums over what each anchor sees
    for (int64_t j = 0; j < 4; ++j)
      for (const double sign : {1.0, -1.0}) {
        keys += share(a[i], sign * b[j]);
        const bool self = j == i && sign > 0;
        for (const at::Tensor& view : {a, b}) {
          if (!(self && view.is_same(a))) first += share(a[i], sign * view[j]);
          if (!(self && view.is_same(b))) second += share(b[i], sign * view[j]);
        }
      }
    const double positive = share(a[i], b[i]);
    CHECK(other[i].item<double>() == Approx(std::log(keys / positive)).epsilon(1e-12));
    CHECK(both[i].item<double>() ==
          Approx(std::log(first / positive) / 2 + std::log(second / positive) / 2).epsilon(1e-12));
  }
}

TEST_CASE("balanced labels meet their shares on any number of threads") {
  const at::Tensor log_p = at::log_softmax(at::randn({700, 9}, at::kDouble), 1);
  at::Tensor shares = at::arange(9, at::kDouble);  // nobody gets the first
  shares /= shares.sum();
  at::Tensor plans[2];
  for (const int threads : {1, 3}) {
    const Threads use(threads);
    at::Tensor& plan = plans[threads / 2];
    plan = log_p.clone();
    const parts::BalancedLabels found =
        parts::balance(plan, {.power = 4, .tolerance = 1e-9, .shares = shares});
    CHECK(found.settled);
    CHECK(test::largest_difference(plan.sum(0), shares) < 1e-9);
    CHECK(test::largest_difference(plan.sum(1) * 700, at::ones({700})) < 1e-9);
    CHECK(found.labels.equal(plan.argmax(1)));
    const at::Tensor chosen = log_p.gather(1, found.labels.unsqueeze(1));
    CHECK(found.cost == Approx(-chosen.mean().item<double>()).epsilon(1e-12));
  }
  CHECK(plans[0].equal(plans[1]));
}

TEST_CASE("balanced labels are given where float64 cannot hold probabilities") {
  // Nobody is closer to the first label than e^-2000, but half of the samples have to take it; one
  // of them is so much closer than others that these vanish beside it.
  for (const double lead : {5.0, 100.0}) {
    at::Tensor logits = at::randn({40, 2}, at::kDouble);
    logits.select(1, 0).sub_(2000);
    logits[17][0] += lead;
    at::Tensor plan = at::log_softmax(logits, 1);
    const parts::BalancedLabels found = parts::balance(plan, {.tolerance = 1e-6});
    CHECK(found.settled);
    CHECK(found.labels[17].item<int64_t>() == 0);
    CHECK(test::largest_difference(plan.sum(0), at::full({2}, 0.5)) < 1e-6);
  }
}

TEST_CASE("labels that cannot be balanced are refused") {
  at::Tensor few = at::zeros({2, 3}, at::kDouble);
  CHECK_THROWS_WITH(parts::balance(few, {}), Catch::Contains("a sample for each"));
  at::Tensor sharp = at::zeros({4, 3}, at::kDouble);
  CHECK_THROWS_WITH(parts::balance(sharp, {.power = 1000}), Catch::Contains("too high"));
}

}  // namespace
