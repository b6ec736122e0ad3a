#include "support/method_trial.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace {

using namespace gh;
using test::MethodTrial;

constexpr int64_t kWidth = 3, kSamples = 9;

at::Tensor unit(const at::Tensor& x) { return x / x.norm(2, {1}, true); }

// Nine samples around three axes, of any length and in any order.
at::Tensor three_bundles() {
  const at::Tensor axes = at::tensor({0, 1, 2, 0, 1, 2, 0, 1, 2}, at::kLong);
  at::Tensor x = 0.15 * at::randn({kSamples, kWidth}, at::kDouble);
  for (int64_t i = 0; i < kSamples; ++i) x[i][axes[i]] += 1;
  return (x * (0.5 + at::arange(kSamples, at::kDouble)).unsqueeze(1))
      .index_select(0, at::randperm(kSamples, at::kLong));
}

// A run over `set` with linear networks from pictures of three pixels to as many features.
struct Trial : MethodTrial {
  Trial(const std::string& toml, const at::Tensor& set, RunFacts facts = small(), uint64_t seed = 0)
      : MethodTrial("dnc", toml, of(std::move(facts), set, seed), kWidth) {
    host.serve(*method.component);
    host.whole_set = set;
    for (const char* name : {"encoder", "expert_0", "expert_1", "expert_2", "student"})
      host.encoders[name] = std::make_shared<test::LinearEncoder>(
          at::randn({kWidth, kWidth}, at::kDouble), at::randn({kWidth}, at::kDouble));
  }
  static RunFacts small() {
    RunFacts facts;
    facts.batch = 64;
    return facts;
  }
  static RunFacts of(RunFacts facts, const at::Tensor& set, uint64_t seed) {
    facts.samples = set.size(0);
    facts.epochs = 8;
    facts.steps_per_epoch = 1;
    facts.seed = seed;
    facts.dtype = at::kDouble;
    facts.view_shapes = {{kWidth}, {kWidth}};
    return facts;
  }
  // One step of descent on these samples, seen in two views.
  double descend(const std::vector<at::Tensor>& views, const at::Tensor& indices) {
    for (const at::Tensor& p : trained.parameters) p.mutable_grad().reset();
    const double loss = step(views, {}, indices);
    const at::NoGradGuard no_grad;
    for (at::Tensor p : trained.parameters)
      if (p.grad().defined()) p.sub_(p.grad(), 0.1);
    finish_step();
    return loss;
  }
  Trial& enter(const std::string& stage) {
    while (host.progress().stage != stage) next_stage();
    return *this;
  }
  // The base hands on what it gets.
  Trial& with_plain_base() {
    host.encoders["encoder"] = std::make_shared<test::LinearEncoder>(
        at::tensor({1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, at::kDouble).view({3, 3}),
        at::zeros({3}, at::kDouble));
    return *this;
  }
  at::Tensor embedded(const at::Tensor& x) {
    method->train(false);
    const at::Tensor z = method->embed(x);
    method->train(true);
    return z;
  }
  test::NamedState state() {
    test::NamedState now;
    method->visit_state(now);
    return now;
  }
  std::set<int64_t> stage_samples() {
    const at::Tensor found = method->stage_samples();
    std::set<int64_t> out;
    for (int64_t i = 0; i < found.size(0); ++i) out.insert(found[i].item<int64_t>());
    CHECK(static_cast<int64_t>(out.size()) == found.size(0));
    return out;
  }
};

std::vector<at::Tensor> two_views(int64_t batch) {
  return {at::randn({batch, kWidth}, at::kDouble), at::randn({batch, kWidth}, at::kDouble)};
}

const char* const kThree = "groups = 3\nprojector = \"none\"\n";

// NT-Xent from its definition, pair by pair.
double nt_xent(const at::Tensor& z1, const at::Tensor& z2, double temperature) {
  const at::Tensor z = unit(at::cat({z1, z2}));
  const int64_t n = z1.size(0);
  double sum = 0;
  for (int64_t i = 0; i < 2 * n; ++i) {
    double all = 0, own = 0;
    for (int64_t j = 0; j < 2 * n; ++j) {
      const double odds = std::exp(z[i].dot(z[j]).item<double>() / temperature);
      if (j != i) all += odds;
      if (j == (i + n) % (2 * n)) own = odds;
    }
    sum -= std::log(own / all);
  }
  return sum / static_cast<double>(2 * n);
}

TEST_CASE("dnc plans base, groups, an expert for each and the distillation within train.epochs") {
  using Stages = std::vector<std::pair<std::string, int64_t>>;
  const auto planned = [](const std::string& toml, int64_t epochs) {
    RunFacts facts = Trial::small();
    facts.epochs = epochs;
    testing::StageList list;
    test::load<SslMethod>("dnc", toml)->plan_stages(facts, list);
    return list.stages;
  };
  CHECK(planned("groups = 2", 8) ==
        Stages{{"base", 4}, {"cluster", 0}, {"expert_0", 2}, {"expert_1", 2}, {"distillation", 2}});
  CHECK(planned("groups = 2\nexpert_epochs = 3\ndistillation_epochs = 5", 10) ==
        Stages{{"base", 2}, {"cluster", 0}, {"expert_0", 3}, {"expert_1", 3}, {"distillation", 5}});
  CHECK(planned("", 3).size() == 8);
}

TEST_CASE(
    "dnc refuses what leaves the base no epochs, more groups than samples, and no negatives") {
  const auto complaints = [](const std::string& toml, int64_t epochs, int64_t samples) {
    RunFacts facts = Trial::of(Trial::small(), at::zeros({samples, kWidth}), 0);
    facts.epochs = epochs;
    test::CollectedComplaints out;
    test::load<SslMethod>("dnc", toml)->check(facts, out);
    return out.text;
  };
  CHECK(complaints("", 3, 640).empty());
  CHECK(complaints("", 2, 640).starts_with(".train.epochs: train.epochs = 2"));
  CHECK(complaints("expert_epochs = 7", 9, 640).starts_with("expert_epochs: "));
  CHECK(complaints("distillation_epochs = 9", 9, 640).starts_with("distillation_epochs: "));
  CHECK(complaints("groups = 20", 8, 19).starts_with("groups: at most"));
  RunFacts facts;
  facts.epochs = 8;
  facts.samples = 640;
  facts.batch = 1;
  facts.view_shapes = {{2}, {2}, {2}};
  test::CollectedComplaints out;
  test::load<SslMethod>("dnc")->check(facts, out);
  CHECK(out.text.find(".views") != std::string::npos);
  CHECK(out.text.find(".train.batch") != std::string::npos);
}

TEST_CASE("base and experts of dnc learn by NT-Xent with GH, each expert from the base's weights") {
  const at::Tensor set = three_bundles();
  Trial trial(std::string(kThree) + "temperature = 0.3", set);
  trial.build();
  const auto views = two_views(5);
  const auto expected = [&](Encoder& encoder) {
    return nt_xent(encoder.forward(views[0]), encoder.forward(views[1]), 0.3);
  };
  const at::Tensor any = at::arange(5, at::kLong);
  CHECK(trial.step(views, {}, any) == Approx(expected(*trial.method->encoder())).epsilon(1e-12));
  CHECK(trial.harmonized);
  CHECK(test::slope_error(trial.trained.parameters, [&] { return trial.step(views); }) < 1e-7);
  trial.descend(views, any);
  const auto base = trial.state().tensors;
  for (const std::string stage : {"expert_0", "expert_1", "expert_2"}) {
    trial.enter(stage);
    Encoder& expert = *trial.host.encoders.at(stage);
    CHECK(trial.trained.parameters.at(0).is_same(expert.parameters().at(0).tensor));
    CHECK(expert.parameters()[0].tensor.equal(base.at("encoder.weight")));
    CHECK(trial.step(views, {}, any) == Approx(expected(expert)).epsilon(1e-12));
    CHECK(trial.harmonized);
    CHECK(trial.method->embed(views[0]).equal(expert.forward(views[0])));
    trial.descend(views, any);
    CHECK(!expert.parameters()[0].tensor.equal(base.at("encoder.weight")));
    // Evaluators see the base, which stays as it is.
    CHECK(trial.method->encoder() == trial.host.encoders.at("encoder"));
    CHECK(trial.state().tensors.at("encoder.weight").equal(base.at("encoder.weight")));
  }
}

// The best of all divisions into three, by the sum of cosines with the groups' directions.
std::set<std::set<int64_t>> best_division(const at::Tensor& set) {
  const at::Tensor rows = unit(set);
  double best = -std::numeric_limits<double>::infinity();
  std::set<std::set<int64_t>> out;
  for (int64_t code = 0; code < 19683; ++code) {  // 3⁹
    double sums[3][kWidth] = {};
    std::vector<std::set<int64_t>> groups(3);
    for (int64_t i = 0, rest = code; i < kSamples; ++i, rest /= 3) {
      groups[static_cast<std::size_t>(rest % 3)].insert(i);
      for (int64_t d = 0; d < kWidth; ++d)
        sums[rest % 3][d] += rows.data_ptr<double>()[i * kWidth + d];
    }
    double all = 0;
    for (const auto& sum : sums) all += std::hypot(sum[0], sum[1], sum[2]);
    if (all <= best) continue;
    best = all;
    out = {groups.begin(), groups.end()};
  }
  return out;
}

TEST_CASE("groups of dnc are those of a search through all divisions, by the base's encoder") {
  for (int round = 0; round < 3; ++round) {
    const at::Tensor set = three_bundles();
    Trial trial(kThree, set);
    // A turn of the axes: representations are not the samples.
    const at::Tensor turn = std::get<0>(at::linalg_qr(at::randn({3, 3}, at::kDouble)));
    trial.host.encoders["encoder"] =
        std::make_shared<test::LinearEncoder>(turn, at::zeros({3}, at::kDouble));
    trial.build();
    CHECK(!trial.method->stage_samples().defined());
    std::set<std::set<int64_t>> found;
    for (const std::string stage : {"expert_0", "expert_1", "expert_2"})
      found.insert(trial.enter(stage).stage_samples());
    CHECK(found == best_division(set.matmul(turn.t())));
    trial.next_stage();
    CHECK(!trial.method->stage_samples().defined());
    CHECK(trial.host.said.find("samples by group: ") == 0);
  }
}

// Batches of an epoch as the host makes them: every call has as many samples on every rank.
bool can_be_shared_out(const RunFacts& facts, int64_t samples) {
  const int64_t call = facts.batch / facts.accumulate;
  int64_t calls = 0;
  for (int64_t left = facts.drop_last ? samples / facts.batch * facts.batch : samples; left > 0;
       left -= call) {
    const int64_t each = std::min(left, call) / facts.world;
    if (each == 1) return false;
    if (each > 0) ++calls;
  }
  return calls > 0;
}

TEST_CASE(
    "an expert of dnc has its group's samples and as few guests, the nearest, as batches need") {
  int with_guests = 0;
  for (const int64_t world : {1, 2})
    for (const int64_t accumulate : {1, 2})
      for (const bool drop_last : {false, true})
        for (const int64_t batch : {4, 8}) {
          RunFacts facts;
          facts.batch = batch;
          facts.accumulate = accumulate;
          facts.world = world;
          facts.drop_last = drop_last;
          if (batch / accumulate / world < 2) continue;
          const at::Tensor set = three_bundles();
          const auto groups = best_division(set);
          Trial trial(kThree, set, facts);
          trial.with_plain_base().build();
          for (int64_t number = 0; number < 3; ++number) {
            const auto samples = trial.enter("expert_" + std::to_string(number)).stage_samples();
            const at::Tensor labels = trial.state().tensors.at("groups");
            std::set<int64_t> own;
            for (int64_t i = 0; i < kSamples; ++i)
              if (labels[i].item<int64_t>() == number) own.insert(i);
            CHECK(groups.contains(own));
            CHECK(std::includes(samples.begin(), samples.end(), own.begin(), own.end()));
            const auto size = static_cast<int64_t>(samples.size());
            CHECK(can_be_shared_out(facts, size));
            for (auto n = static_cast<int64_t>(own.size()); n < size; ++n)
              CHECK(!can_be_shared_out(facts, n));
            // No stranger is nearer to the group's direction than a guest.
            at::Tensor direction = at::zeros({kWidth}, at::kDouble);
            for (const int64_t i : own) direction += set[i] / set[i].norm();
            double farthest_guest = 2, nearest_stranger = -2;
            for (int64_t i = 0; i < kSamples; ++i) {
              if (own.contains(i)) continue;
              const double cosine = (set[i].dot(direction) / set[i].norm()).item<double>();
              if (samples.contains(i))
                farthest_guest = std::min(farthest_guest, cosine), ++with_guests;
              else
                nearest_stranger = std::max(nearest_stranger, cosine);
            }
            CHECK(farthest_guest >= nearest_stranger);
          }
        }
  CHECK(with_guests > 0);
}

// Linear, normalisation, ReLU, linear, with the statistics of the batch.
at::Tensor head(const test::NamedState& state, const std::string& name, const at::Tensor& x) {
  const auto of = [&](const char* what) { return state.tensors.at("heads." + name + "." + what); };
  const at::Tensor h = x.matmul(of("0.weight").t()) + of("0.bias");
  const at::Tensor apart = h - h.mean(0);
  const at::Tensor even = apart / (apart.square().mean(0) + 1e-5).sqrt();
  return (even * of("1.weight") + of("1.bias")).clamp_min(0).matmul(of("2.weight").t()) +
         of("2.bias");
}

// A run whose experts have learnt from steps of their own, in the distillation.
void learn_until(Trial& trial, const std::string& stage) {
  trial.build();
  const at::Tensor any = at::arange(6, at::kLong);
  while (trial.host.progress().stage != stage) {
    if (trial.host.progress().stage != "cluster") trial.descend(two_views(6), any);
    trial.next_stage();
  }
}

TEST_CASE("dnc's student is taught what the base and the expert of each sample's group say") {
  Trial trial(kThree, three_bundles());
  learn_until(trial, "distillation");
  const auto views = two_views(6);
  const at::Tensor indices = at::tensor({7, 0, 3, 8, 2, 5}, at::kLong);
  const auto state = trial.state();
  const at::Tensor groups = state.tensors.at("groups");
  const auto teacher = [&](const std::string& name, const at::Tensor& x) {
    return unit(x.matmul(state.tensors.at(name + ".weight").t()) +
                state.tensors.at(name + ".bias"));
  };
  CHECK(state.tensors.at("student.weight").equal(state.tensors.at("encoder.weight")));
  double base = 0, expert = 0;
  for (const at::Tensor& x : views) {
    const at::Tensor f =
        x.matmul(state.tensors.at("student.weight").t()) + state.tensors.at("student.bias");
    const auto error = [&](const std::string& by, const std::string& of, int64_t i) {
      return (unit(head(state, by, f))[i] - teacher(of, x)[i]).square().sum().item<double>();
    };
    for (int64_t i = 0; i < 6; ++i) {
      const std::string group = std::to_string(groups[indices[i]].item<int64_t>());
      base += error("base", "encoder", i) / 12;
      expert += error(group, "experts." + group, i) / 12;
    }
  }
  CHECK(trial.step(views, {}, indices) == Approx(base + expert).epsilon(1e-10));
  CHECK(!trial.harmonized);
  CHECK(trial.host.values.at("error_base").back() == Approx(base).epsilon(1e-10));
  CHECK(trial.host.values.at("error_expert").back() == Approx(expert).epsilon(1e-10));
  CHECK(trial.trained.parameters.size() == 2 + 4 * 6);
  CHECK(test::slope_error(trial.trained.parameters,
                          [&] { return trial.step(views, {}, indices); }) < 1e-6);
}

TEST_CASE("dnc's student needs no sample of a group, and one sample of it is enough") {
  Trial trial(kThree, three_bundles());
  learn_until(trial, "distillation");
  const at::Tensor groups = trial.state().tensors.at("groups");
  const at::Tensor first = (groups == 0).nonzero().squeeze(1).narrow(0, 0, 3);
  const at::Tensor other = (groups == 1).nonzero().squeeze(1).narrow(0, 0, 1);
  trial.step(two_views(4), {}, at::cat({first, other}));
  for (const at::Tensor& p : trial.trained.parameters) CHECK(p.grad().defined());
}

TEST_CASE("what is embedded in dnc's distillation is the student's view of the base") {
  const at::Tensor set = three_bundles();
  Trial trial(kThree, set);
  learn_until(trial, "distillation");
  Encoder& base = *trial.host.encoders.at("encoder");
  const double length = base.forward(set).norm(2, {1}).mean().item<double>();
  trial.method->train(false);
  const at::Tensor x = at::randn({4, kWidth}, at::kDouble);
  CHECK((trial.method->embed(x).norm(2, {1}) - length).abs().max().item<double>() < 1e-9);
  trial.method->train(true);
  // Taught long enough, it is the base's own.
  const at::Tensor indices = at::arange(kSamples, at::kLong);
  const auto error = [&] {
    trial.method->train(false);
    const double cosine =
        (unit(trial.method->embed(set)) * unit(base.forward(set))).sum(1).mean().item<double>();
    trial.method->train(true);
    return 1 - cosine;
  };
  const double before = error();
  for (int i = 0; i < 300; ++i) trial.descend({set, set}, indices);
  CHECK(error() < before / 10);
}

TEST_CASE("who teaches in dnc is in evaluation mode and keeps its running statistics") {
  RunFacts facts;
  facts.samples = 64;
  facts.batch = 16;
  facts.epochs = 8;
  facts.steps_per_epoch = 4;
  facts.view_shapes = {{3, 8, 8}, {3, 8, 8}};
  MethodTrial trial("dnc", "groups = 2\nembedding = 4", facts, 16);
  trial.host.serve(*trial.method.component);
  for (const char* name : {"encoder", "expert_0", "expert_1", "student", "clone"})
    trial.host.encoders[name] = trial.host.FakeHost::make_backbone(name, nullptr);
  const std::vector<at::Tensor> views = {at::randn({16, 3, 8, 8}), at::randn({16, 3, 8, 8})};
  const auto training = [&](const char* name) { return trial.host.encoders.at(name)->training(); };
  trial.build();
  CHECK(training("encoder"));
  trial.next_stage().next_stage();
  const auto statistics = [&](const std::string& name) {
    test::NamedState now;
    trial.method->visit_state(now);
    return now.tensors.at(name + ".running_mean");
  };
  for (const bool again : {true, false}) {  // the host switches around evaluations
    if (again) trial.method->train(false);
    trial.method->train(true);
    CHECK(!training("encoder"));
    CHECK(training("expert_0"));
  }
  const at::Tensor of_base = statistics("encoder.bn"), of_expert = statistics("expert.encoder.bn");
  trial.step(views, {}, at::arange(16, at::kLong));
  CHECK(statistics("encoder.bn").equal(of_base));
  CHECK(!statistics("expert.encoder.bn").equal(of_expert));
  trial.next_stage().next_stage();
  CHECK(trial.method->encoder() == trial.host.encoders.at("student"));
  CHECK(!training("expert_0"));
  CHECK(!training("expert_1"));
  const at::Tensor of_first = statistics("experts.0.bn"), of_student = statistics("student.bn");
  trial.step(views, {}, at::arange(16, at::kLong));
  CHECK(statistics("experts.0.bn").equal(of_first));
  CHECK(statistics("encoder.bn").equal(of_base));
  CHECK(!statistics("student.bn").equal(of_student));
  trial.method->train(false);
  const auto clone = trial.method->clone_encoder(trial.host);
  clone->train(false);
  CHECK(clone->forward(views[0]).equal(trial.method->encoder()->forward(views[0])));
}

TEST_CASE("dnc goes on from its state in every stage, which has no more than it needs") {
  const at::Tensor set = three_bundles();
  RunFacts facts;
  facts.batch = 4;
  facts.drop_last = true;  // for guests
  const char* const toml = "groups = 3\nembedding = 4";
  const auto views = two_views(6);
  const at::Tensor indices = at::tensor({1, 8, 0, 4, 3, 6}, at::kLong);
  for (const std::string stage : {"base", "cluster", "expert_0", "expert_2", "distillation"}) {
    INFO(stage);
    Trial one(toml, set, facts), two(toml, set, facts, 1);
    learn_until(one, stage);
    if (stage != "cluster") one.descend(views, indices);
    const auto number = static_cast<std::size_t>(one.host.progress().stage_index);
    two.build().begin_stage(number);
    CHECK(test::state_difference(one, two).empty());
    CHECK(two.embedded(views[0]).equal(one.embedded(views[0])));
    if (number >= 2 && stage != "distillation")
      CHECK(two.method->stage_samples().equal(one.method->stage_samples()));
    CHECK(two.step(views, {}, indices) == one.step(views, {}, indices));
    const auto kept = one.state().tensors;
    const auto has = [&](const std::string& name) { return kept.contains(name + ".weight"); };
    CHECK(has("experts.0") == (number > 2));
    CHECK(has("experts.2") == (stage == "distillation"));
    CHECK(has("expert.encoder") == stage.starts_with("expert"));
    CHECK(has("student") == (stage == "distillation"));
    if (stage == "distillation") continue;
    // Also what the rest of the run makes of it.
    one.next_stage();
    two.next_stage();
    if (number >= 2) CHECK(test::state_difference(one, two).empty());
  }
}

}  // namespace
