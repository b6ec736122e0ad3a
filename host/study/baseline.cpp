#include "study/baseline.hpp"

#include "recipe/difference.hpp"
#include "recipe/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace gh::host {
namespace {

// ---- which row ----

class Baselines {
 public:
  Baselines(const StudyFile& study, std::vector<StudyRow>& rows) : study_(study), rows_(rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const StudyRow& row = rows[i];
      if (row.label == study.baseline) only_ = &row;
      if (study.arms[row.arm].label != study.baseline) continue;
      arm_ = row.arm;
      by_point_.emplace(row.axes, &row);
    }
    if (by_point_.size() == 1) only_ = by_point_.begin()->second;
  }

  bool found() const { return only_ || !by_point_.empty(); }

  const StudyRow* of(const StudyRow& row) const {
    if (only_) return only_;
    if (row.arm == arm_) return &row;
    const auto at = by_point_.find(row.axes.empty() ? point_of(row.recipe) : row.axes);
    return at == by_point_.end() ? nullptr : at->second;
  }

  // Whatever may be a baseline.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const StudyArm& arm : study_.arms)
      if (!arm.label.empty()) out.push_back(arm.label);
    for (const StudyRow& row : rows_)
      if (std::find(out.begin(), out.end(), row.label) == out.end()) out.push_back(row.label);
    return out;
  }

 private:
  using Axes = std::vector<std::pair<std::string, std::string>>;

  // What a recipe has where the study has axes.
  Axes point_of(const Recipe& recipe) const {
    Axes out;
    for (const auto& [key, ignored] : by_point_.begin()->first) {
      const Value* value = recipe.find(key);
      out.emplace_back(key, value ? to_toml_value(*value) : "");
    }
    // A file says 100 where the recipe has 100.0.
    for (const auto& [axes, row] : by_point_) {
      bool same = true;
      for (std::size_t i = 0; i < out.size() && same; ++i) {
        const Value* there = row->recipe.find(out[i].first);
        same = there && to_toml_value(*there) == out[i].second;
      }
      if (same) return axes;
    }
    return out;
  }

  const StudyFile& study_;
  std::vector<StudyRow>& rows_;
  std::size_t arm_ = 0;
  const StudyRow* only_ = nullptr;  // every row is compared with this one
  std::map<Axes, const StudyRow*> by_point_;
};

// ---- what was meant ----

bool is_below(std::string_view key, std::string_view table) {
  return key == table || (key.starts_with(table) && key[table.size()] == '.');
}

std::string parent_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

// "+a.b=1" names a.b.
std::string key_of(const std::string& override_text) {
  const std::size_t begin = override_text.find_first_not_of("+~ ");
  if (begin == std::string::npos) return "";
  std::string key = override_text.substr(begin, override_text.find('=') - begin);
  while (key.ends_with(' ')) key.pop_back();
  return key;
}

// Keys by which the others of their table mean something else.
bool picks_all(const std::string& key) {
  return key.ends_with(".id") || key.ends_with(".preset") || key.ends_with(".mode");
}

// Tables and keys that somebody named.
class Named {
 public:
  Named(const StudyFile& study, const StudyRow& a, const StudyRow& b) : a_(a), b_(b) {
    add_all(study.intended);
    for (const StudyRow* row : {&a, &b}) {
      const StudyArm& arm = study.arms[row->arm];
      for (const auto& [key, value] : row->axes) add(key);
      for (const WrittenOverride& o : arm.overrides) add(key_of(o.text));
      add_all(arm.intended);
      if (!arm.recipe.file.empty()) add_all({"method", "harmonize"});
    }
  }

  bool has(const std::string& key) const {
    return std::any_of(keys_.begin(), keys_.end(),
                       [&](const std::string& named) { return is_below(key, named); });
  }

 private:
  void add_all(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) add(key);
  }
  void add(std::string key) {
    if (picks_all(key)) key = parent_of(key);
    if (!a_.recipe.find(key) && !b_.recipe.find(key) && !parent_of(key).empty())
      key = parent_of(key);  // moved elsewhere, as keys of a preset are
    if (!key.empty()) keys_.push_back(std::move(key));
  }

  const StudyRow &a_, &b_;
  std::vector<std::string> keys_;
};

// The table above `key` that only one has or that has another id, outermost first; else the key.
std::string told_as(const std::string& key, const Recipe& a, const Recipe& b) {
  for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    const std::string table = key.substr(0, dot);
    const Value *in_a = a.find(table), *in_b = b.find(table);
    if (!in_a != !in_b) return table;
    const std::string id = table + ".id";
    const Value *id_a = a.find(id), *id_b = b.find(id);
    if (id_a && id_b && to_toml_value(*id_a) != to_toml_value(*id_b)) return id;
  }
  return key;
}

// An evaluation more, or at other moments: no number that both have is another for it.
bool is_harmless(const std::string& key) {
  return key.starts_with("eval.") &&
         (parent_of(key) == "eval" || key.ends_with(".when") || key.ends_with(".every"));
}

}  // namespace

std::vector<std::string> unintended_keys(const StudyFile& study, const StudyRow& baseline,
                                         const StudyRow& row) {
  const Named named(study, baseline, row);
  std::vector<std::string> out;
  const auto differences = numeric_differences(baseline.recipe.resolved, row.recipe.resolved);
  for (const Difference& d : differences) {
    if (named.has(d.key)) continue;
    const std::string key = told_as(d.key, baseline.recipe, row.recipe);
    if (is_harmless(key) || std::find(out.begin(), out.end(), key) != out.end()) continue;
    out.push_back(key);
  }
  return out;
}

void compare_with_baseline(const StudyFile& study, std::vector<StudyRow>& rows, Diagnostics& out) {
  if (study.baseline.empty() || rows.empty()) return;
  const Baselines baselines(study, rows);
  if (!baselines.found()) {
    const std::vector<std::string> names = baselines.names();
    const std::string hint = nearest(study.baseline, names);
    constexpr std::size_t kShown = 20;
    const std::size_t shown = std::min(kShown, names.size());
    return out.error(
        study.baseline_at, "baseline",
        fmt::format(
            "no arm is called \"{}\"{}; there are {}{}", study.baseline,
            hint.empty() ? "" : fmt::format(", did you mean \"{}\"?", hint),
            fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
            shown < names.size() ? ", …" : ""));
  }
  for (StudyRow& row : rows) {
    const StudyRow* baseline = baselines.of(row);
    if (!baseline) continue;
    row.baseline = baseline->label;
    if (baseline != &row) row.unintended = unintended_keys(study, *baseline, row);
  }
}

}  // namespace gh::host
