#include "study/sharing.hpp"

#include "recipe/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>
#include <set>
#include <string>
#include <string_view>

namespace gh::host {
namespace {

// A part of the recipe and the epoch, from 0, in which it changes its first number.
struct Act {
  int64_t from;
  std::string key, value;
  auto operator<=>(const Act&) const = default;
};

// All of a recipe's, sorted. Two runs train alike until the first one that they have not in common.
using Course = std::vector<Act>;

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// ---- [harmonize] ----

// Epochs are counted in the run. A later stage has its own warm-up, which ends no earlier in it.
class Harmony {
 public:
  explicit Harmony(const Recipe& recipe)
      : warm_up_(recipe.integer("harmonize.warm_up")),
        track_from_(recipe.integer("harmonize.track_from")),
        prior_(recipe.text("harmonize.prior.id")),
        counts_epoch_before_(prior_ == "tracked" &&
                             recipe.text("harmonize.prior.refresh_at") == "epoch"),
        tracks_softmax_(recipe.text("harmonize.track") == "softmax") {}

  // `key` without "harmonize.".
  int64_t acts_from(std::string_view key) const {
    constexpr std::array<std::string_view, 6> kAfterWarmUp = {"ramp",       "weight",  "momentum",
                                                              "directions", "targets", "allocate"};
    if (key.starts_with("allocator.") || is_one_of(key, kAfterWarmUp)) return warm_up_;
    if (key == "temperature") return tracks_softmax_ ? 0 : warm_up_;
    if (key == "track_from") return track_from_ - 1;
    // The prior does not move before it is first counted; after that all depends on the epochs in
    // which it is, of which the warm-up's last is one whatever `refresh` says.
    if (key == "warm_up" || key == "prior.refresh_at" || key == "prior.floor") return first_count();
    if (key == "prior.refresh")
      return std::max<int64_t>(0, warm_up_ - (counts_epoch_before_ ? 1 : 0));
    if (key == "prior.id") return moves_late() ? first_count() : 0;
    return 0;
  }

 private:
  int64_t first_count() const {
    return std::max<int64_t>(0, warm_up_ - (counts_epoch_before_ ? 2 : 1));
  }
  // Until then it is uniform.
  bool moves_late() const { return prior_ == "tracked" || prior_ == "uniform"; }

  int64_t warm_up_, track_from_;
  std::string prior_;
  bool counts_epoch_before_, tracks_softmax_;
};

// ---- [train.schedule] ----

// Rates are known from what a schedule says of the start of a stage: how long stages are, and with
// that all of a cosine that ends with them, is the method's.
void add_schedule(const Recipe& recipe, Course& course) {
  const auto real = [&](const char* key) {
    return recipe.real(std::string("train.schedule.") + key);
  };
  const std::string& id = recipe.text("train.schedule.id");
  const int64_t warm_up = id == "constant" ? 0 : recipe.integer("train.schedule.warm_up");
  const bool per_step = id == "cosine" && recipe.text("train.schedule.per") == "step";
  // By epochs, the rate is that of the epoch's end.
  const int64_t risen = per_step ? warm_up : std::max<int64_t>(0, warm_up - 1);
  const auto add = [&](int64_t from, std::string value) {
    course.push_back(
        {from, fmt::format("train.schedule from epoch {}", from + 1), std::move(value)});
  };
  if (risen > 0)
    add(0, fmt::format("rises for {} epochs{}", warm_up, per_step ? ", by steps" : ""));
  if (id == "cosine")
    return add(risen, fmt::format("cosine from {} to {}{}", warm_up, real("lr_min"),
                                  per_step ? ", by steps" : ""));
  if (id == "gh-two-stage") {
    const int64_t split = recipe.integer("harmonize.warm_up");
    const int64_t second = std::max(risen, split - 1);
    if (second > risen)
      add(risen, fmt::format("cosine from {} to {} at {}", warm_up, real("lr_split"), split));
    return add(second,
               fmt::format("cosine from {} at {} to {}", real("lr_split"), split, real("lr_min")));
  }
  std::vector<int64_t> milestones;
  if (id == "step" && real("gamma") != 1)
    for (const Value& milestone : *recipe.at("train.schedule.milestones").as<Array>())
      milestones.push_back(*milestone.as<int64_t>());
  std::sort(milestones.begin(), milestones.end());
  const auto add_rate = [&](int64_t from, std::size_t passed) {
    add(from, passed == 0 ? "the optimizer's rate"
                          : fmt::format("the optimizer's rate times {} to the power of {}",
                                        real("gamma"), passed));
  };
  const auto passed_by = [&](int64_t epoch) {
    return std::upper_bound(milestones.begin(), milestones.end(), epoch) - milestones.begin();
  };
  add_rate(risen, static_cast<std::size_t>(passed_by(risen)));
  for (std::size_t i = 0; i < milestones.size(); ++i)
    if (milestones[i] > risen && (i + 1 == milestones.size() || milestones[i + 1] > milestones[i]))
      add_rate(milestones[i], i + 1);
}

// ---- [[eval]] ----

// What belongs to the end of an epoch is made by the run that goes on from there.
void add_evaluations(const Recipe& recipe, Course& course) {
  for (const Slot* slot : recipe.evals()) {
    Value table = recipe.at(slot->path);
    Table& keys = *table.as<Table>();
    const Array when = *recipe.at(slot->path + ".when").as<Array>();
    const int64_t every = recipe.integer(slot->path + ".every");
    for (const char* key : {"when", "every"}) keys.erase(key);
    const std::string text = to_toml_value(table);
    if (every > 0) course.push_back({every, fmt::format("{} every {}", slot->path, every), text});
    for (const Value& moment : when) {
      const std::string& name = *moment.as<std::string>();
      if (name == "end") continue;
      const int64_t from = name == "start" ? 0 : recipe.integer("harmonize.warm_up");
      course.push_back({from, fmt::format("{} at {}", slot->path, name), text});
    }
  }
}

// ---- all of it ----

// Which checkpoints are the best is written into each.
bool matters(const Recipe& recipe, std::string_view key) {
  constexpr std::array<std::string_view, 4> kOfTheBest = {"checkpoint.every", "checkpoint.best",
                                                          "checkpoint.metric", "checkpoint.goal"};
  if (is_one_of(key, kOfTheBest)) return recipe.integer("checkpoint.best") > 0;
  const bool has_moments = key == "eval" || key.starts_with("eval.");
  return changes_numbers(key) && !has_moments && !key.starts_with("train.schedule.");
}

Course course_of(const Recipe& recipe) {
  constexpr std::string_view kHarmonize = "harmonize.";
  Course out;
  std::optional<Harmony> harmony;
  if (recipe.find("harmonize")) harmony.emplace(recipe);
  for_each_leaf(recipe.resolved, [&](const std::string& key, const Value& value) {
    if (!matters(recipe, key)) return;
    const int64_t from = harmony && key.starts_with(kHarmonize)
                             ? harmony->acts_from(std::string_view(key).substr(kHarmonize.size()))
                             : 0;
    out.push_back({from, key, to_toml_value(value)});
  });
  add_schedule(recipe, out);
  add_evaluations(recipe, out);
  const int64_t epochs = recipe.integer("train.epochs");
  std::erase_if(out, [&](const Act& act) { return act.from >= epochs; });
  std::sort(out.begin(), out.end());
  out.push_back({epochs, "", ""});
  return out;
}

struct Split {
  Course::const_iterator a, b;  // the first that they have not in common, or the ends
  int64_t epochs;
};

Split split(const Course& a, const Course& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return {x, y, a.back().from};  // the same
  return {x, y, std::min(x->from, y->from)};
}

}  // namespace

// What acts at another time because of something else is not told of.
Parting parting_of(const Recipe& a, const Recipe& b) {
  const Course of_a = course_of(a), of_b = course_of(b);
  const Split at = split(of_a, of_b);
  Parting out{.epochs = at.epochs, .why = {}};
  const auto value_in = [](const Course& course, const std::string& key) {
    const auto found =
        std::find_if(course.begin(), course.end(), [&](const Act& act) { return act.key == key; });
    return found == course.end() ? std::string() : found->value;
  };
  std::set<std::string> keys;
  for (auto x = at.a; x != of_a.end() && x->from == at.epochs; ++x) keys.insert(x->key);
  for (auto y = at.b; y != of_b.end() && y->from == at.epochs; ++y) keys.insert(y->key);
  for (const std::string& key : keys)
    if (Difference d{key, value_in(of_a, key), value_in(of_b, key)}; d.was != d.is)
      out.why.push_back(std::move(d));
  return out;
}

int64_t alike_until(const Recipe& a, const Recipe& b) {
  return split(course_of(a), course_of(b)).epochs;
}

std::string beginning_of(const Recipe& recipe, int64_t epochs) {
  std::string out;
  for (const Act& act : course_of(recipe))
    if (act.from < epochs) out += fmt::format("{} {} = {}\n", act.from, act.key, act.value);
  return out;
}

// Runs whose courses begin alike are neighbours in the order of their courses: each stretch of
// neighbours that are alike for longer than with those around them is a trunk.
std::vector<Trunk> shared_trunks(std::span<const Recipe* const> runs) {
  std::vector<Course> courses;
  for (const Recipe* run : runs) courses.push_back(course_of(*run));
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto by_course = courses[a] <=> courses[b];
    return by_course != 0 ? by_course < 0 : a < b;
  });

  std::vector<Trunk> closed;   // children before their parents
  std::vector<Trunk> open(1);  // each within the one before; the first is no trunk
  std::vector<std::vector<std::size_t>> children(1);  // closed ones, of each open one
  const auto enter = [&](int64_t until) {
    if (open.back().until == until) return;
    open.push_back({.until = until, .recipe = runs.size(), .members = {}});
    children.emplace_back();
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int64_t next =
        i + 1 < order.size() ? split(courses[order[i]], courses[order[i + 1]]).epochs : 0;
    if (next > open.back().until) enter(next);
    if (open.size() > 1) open.back().members.push_back(order[i]);
    while (open.back().until > next) {
      Trunk trunk = std::move(open.back());
      const std::vector<std::size_t> inner = std::move(children.back());
      open.pop_back();
      children.pop_back();
      if (next > open.back().until) enter(next);
      std::sort(trunk.members.begin(), trunk.members.end());
      for (const std::size_t member : trunk.members) trunk.recipe = std::min(trunk.recipe, member);
      for (const std::size_t child : inner) {
        closed[child].parent = closed.size();
        trunk.recipe = std::min(trunk.recipe, closed[child].recipe);
      }
      children.back().push_back(closed.size());
      closed.push_back(std::move(trunk));
    }
  }
  std::reverse(closed.begin(), closed.end());
  for (Trunk& trunk : closed)
    if (trunk.parent) trunk.parent = closed.size() - 1 - *trunk.parent;
  return closed;
}

int64_t epochs_saved(std::span<const Trunk> trunks) {
  std::vector<int64_t> users(trunks.size(), 0);
  for (std::size_t i = 0; i < trunks.size(); ++i) {
    users[i] += static_cast<int64_t>(trunks[i].members.size());
    if (trunks[i].parent) ++users[*trunks[i].parent];
  }
  int64_t saved = 0;
  for (std::size_t i = 0; i < trunks.size(); ++i) saved += (users[i] - 1) * trunks[i].until;
  return saved;
}

}  // namespace gh::host
