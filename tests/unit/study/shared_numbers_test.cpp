// What is said of runs by their recipes, against the numbers that they compute.
#include "harmonize/harmonizer.hpp"
#include "plan/plan.hpp"
#include "study/sharing.hpp"
#include "unit/study/twenty_epochs.hpp"

#include "gh/rows.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>

namespace {

using namespace gh;
using namespace gh::host;
using test::Overrides;

constexpr int64_t kEpochs = 20;

// One of each list, or none.
Overrides some_of(std::mt19937& random, const std::vector<Overrides>& lists) {
  Overrides out;
  for (const Overrides& values : lists)
    if (const std::size_t pick = random() % (2 * values.size()); pick < values.size())
      out.push_back(values[pick]);
  return out;
}

// ---- schedules ----

std::string random_schedule(std::mt19937& random) {
  const std::string warm_up = std::to_string(random() % 4 * 3);
  const auto one_of = [&](std::vector<std::string> texts) {
    return texts[random() % texts.size()];
  };
  const std::string rise = ", warm_up = " + warm_up;
  switch (random() % 4) {
    case 0:
      return "{ id = \"constant\" }";
    case 1:
      return "{ id = \"step\"" + rise + one_of({"", ", gamma = 0.5", ", gamma = 1"}) +
             ", milestones = " + one_of({"[4]", "[4, 9]", "[9, 4, 9]", "[9, 14]", "[2]"}) + " }";
    case 2:
      return "{ id = \"cosine\"" + rise + one_of({"", ", lr_min = 0.01"}) +
             one_of({"", ", per = \"step\""}) + " }";
    default:
      return "{ id = \"gh-two-stage\"" + rise + one_of({"", ", lr_min = 0.01"}) +
             one_of({"", ", lr_split = 0.05"}) + " }";
  }
}

// The first epoch with another rate, whatever the length of the stage; kEpochs where there is none.
int64_t first_other_rate(Schedule a, Schedule b) {
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch)
    for (int64_t length = epoch + 1; length <= 2 * kEpochs; ++length) {
      a.epochs = b.epochs = length;
      for (const double part : {0.0, 0.25, 0.5, 0.9})
        if (const double at = static_cast<double>(epoch) + part; a.rate(at) != b.rate(at))
          return epoch;
    }
  return kEpochs;
}

TEST_CASE("schedules are shared to the first rate that differs, and no further") {
  test::TwentyEpochs f;
  std::mt19937 random(2);
  int exact = 0, early = 0;
  for (int round = 0; round < 400; ++round) {
    const Recipe a = f.load({"train.schedule=" + random_schedule(random)});
    const Recipe b = f.load({"train.schedule=" + random_schedule(random)});
    const int64_t said = alike_until(a, b);
    const int64_t found = first_other_rate(read_plan(a).schedule, read_plan(b).schedule);
    INFO(to_text(parting_of(a, b).why));
    CHECK(said <= found);
    CHECK(said >= found - 1);  // the rate at a cosine's top is that before it, but for rounding
    ++(said == found ? exact : early);
  }
  CHECK(exact > 3 * early);
}

// ---- GH ----

// Shares out by its one parameter, and knows how often it was asked.
class Sharpened final : public Allocator {
 public:
  explicit Sharpened(int64_t iterations) : iterations_(iterations) {}
  at::Tensor assign(const AssignRequest& request, AssignReport&) override {
    ++asked_;
    at::Tensor logits = request.logits * (0.01 * static_cast<double>(iterations_));
    if (request.prior.defined()) logits = logits + request.prior.add(0.01).log();
    return at::softmax(logits, 1);
  }
  void visit_state(State& state) override { state.integer("asked", asked_); }

 private:
  int64_t iterations_, asked_ = 0;
};

// Bytes of all state.
class Bytes final : public State {
 public:
  bool loading() const override { return false; }
  void tensor(std::string_view, at::Tensor& value) override {
    const at::Tensor t = value.detach().contiguous();
    text_.append(static_cast<const char*>(t.data_ptr()), t.nbytes());
  }
  void integer(std::string_view, int64_t& value) override { text_ += std::to_string(value); }
  void real(std::string_view, double& value) override { text_ += std::to_string(value); }
  void text(std::string_view, std::string& value) override { text_ += value; }
  std::string text_;
};

// Neither evenly spread nor orthogonal.
at::Tensor points() {
  return unit_rows(
      at::tensor({1.0, 0.2, 0.0, -0.3, 1.0, 0.1, 0.5, -1.0, 0.4, 0.1, 0.3, 1.0}, at::kDouble)
          .view({4, 3}));
}

// What of GH there is after each epoch: its state, what it logged, its loss and gradient.
std::vector<std::string> course_of_gh(const Recipe& recipe) {
  HarmonizePlan plan = *read_plan(recipe).harmonize;
  plan.given_prior = at::tensor({0.4, 0.3, 0.2, 0.1}, at::kDouble);
  Sharpened allocator(recipe.integer("harmonize.allocator.iterations"));
  Bytes seen;
  Harmonizer harmonizer(plan, points(), allocator, {}, 6, at::kDouble,
                        [&](std::string_view name, double value) {
                          seen.text_ += std::string(name) + std::to_string(value);
                        });
  at::Generator generator = at::detail::createCPUGenerator(7);
  std::vector<std::string> out;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (int batch = 0; batch < 2; ++batch) {
      at::Tensor z = at::randn({3, 3}, generator, at::kDouble).set_requires_grad(true);
      const at::Tensor other = at::randn({3, 3}, generator, at::kDouble);
      const at::Tensor z2 = z + 0.1 * other;
      at::Tensor loss = harmonizer.term(z, z2, at::arange(3, at::kLong) + 3 * batch, true, epoch);
      if (loss.requires_grad()) loss.backward();
      seen.tensor("loss", loss);
      if (at::Tensor gradient = z.grad(); gradient.defined()) seen.tensor("gradient", gradient);
      harmonizer.after_update();
    }
    harmonizer.end_epoch(epoch);
    harmonizer.visit_state(seen);
    seen.text_ += std::to_string(harmonizer.weight(epoch));
    out.push_back(seen.text_);
  }
  return out;
}

int64_t first_other_epoch(const Recipe& a, const Recipe& b) {
  const auto x = course_of_gh(a), y = course_of_gh(b);
  return std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin();
}

const std::vector<Overrides> kChanges = {
    {"harmonize.weight=2", "harmonize.weight=0"},
    {"harmonize.warm_up=5", "harmonize.warm_up=11", "harmonize.warm_up=1", "harmonize.warm_up=0"},
    {"harmonize.ramp=0", "harmonize.ramp=3"},
    {"harmonize.momentum=0.5"},
    {"harmonize.warm_up_momentum=0.5"},
    {"harmonize.temperature=0.3"},
    {"harmonize.logits=\"cosine\""},
    {"harmonize.track=\"softmax\""},
    {"harmonize.allocate=\"log-softmax\""},
    {"harmonize.directions=\"one\""},
    {"harmonize.targets=\"joint\""},
    {"harmonize.track_from=3", "harmonize.track_from=10"},
    {"harmonize.allocator.iterations=5"},
    {"+harmonize.prior={refresh=3}", "+harmonize.prior={refresh=1, floor=2}",
     "+harmonize.prior={refresh_at=\"epoch\"}",
     "+harmonize.prior={refresh_at=\"epoch\", refresh=3}",
     "+harmonize.prior={refresh_at=\"epoch\", floor=2}", "+harmonize.prior={id=\"uniform\"}",
     "+harmonize.prior={id=\"oracle\"}"}};

TEST_CASE("of GH, runs share what its state, losses and metrics have in common, and no more") {
  test::TwentyEpochs f;
  std::mt19937 random(3);
  int exact = 0, shared = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    // What both have, and what one of them has besides or otherwise.
    const Overrides common = some_of(random, kChanges);
    Overrides one = common;
    const Overrides more = some_of(random, {kChanges[random() % kChanges.size()]});
    const auto key = [](const std::string& text) { return text.substr(0, text.find('=')); };
    for (const std::string& text : more)
      std::erase_if(one, [&](const std::string& other) { return key(other) == key(text); });
    one.insert(one.end(), more.begin(), more.end());
    const Recipe a = f.load(common), b = f.load(one);
    const int64_t said = alike_until(a, b), found = first_other_epoch(a, b);
    INFO(to_text(parting_of(a, b).why));
    CHECK(said <= found);
    exact += said == found ? 1 : 0;
    shared += said > 0 && said < kEpochs ? 1 : 0;
  }
  CHECK(shared > kRounds / 10);
  CHECK(exact > kRounds / 2);
}

TEST_CASE("each key of GH acts when it is said to") {
  test::TwentyEpochs f;
  const std::string by_epochs = "+harmonize.prior={refresh_at=\"epoch\", refresh=2}";
  for (const Overrides& start :
       {Overrides{}, Overrides{by_epochs}, Overrides{"+harmonize.prior.refresh=2"}})
    for (const std::string change :
         {"harmonize.weight=2", "harmonize.ramp=3", "harmonize.warm_up_momentum=0.5",
          "harmonize.temperature=0.3", "harmonize.logits=\"cosine\"", "harmonize.track=\"softmax\"",
          "harmonize.allocate=\"log-softmax\"", "harmonize.directions=\"one\"",
          "harmonize.allocator.iterations=5", "harmonize.track_from=5", "harmonize.warm_up=5",
          "harmonize.momentum=0.1"}) {
      Overrides other = start;
      other.push_back(change);
      const Recipe a = f.load(start), b = f.load(other);
      const int64_t said = alike_until(a, b), found = first_other_epoch(a, b);
      INFO(change << " said " << said << " found " << found);
      CHECK(said <= found);
      // Where it need not show at once: a count of the prior that changes nothing, a sample's first
      // visit, which assigns its row.
      const bool later = change == "harmonize.warm_up=5" || change == "harmonize.track_from=5" ||
                         change == "harmonize.warm_up_momentum=0.5";
      CHECK((later ? said >= found - 1 : said == found));
    }
}

}  // namespace
