#include "study/nearest_run.hpp"

#include "recipe/difference.hpp"
#include "recipe/toml.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRows = 200, kMostDropped = 100;
constexpr std::size_t kNoArm = static_cast<std::size_t>(-1);

// Hashes of key and value of each number-changing leaf but the seed, sorted.
using Leaves = std::vector<std::size_t>;

Leaves leaves_of(const Table& resolved) {
  Leaves out;
  for_each_leaf(resolved, [&](const std::string& path, const Value& value) {
    if (path != "seed" && changes_numbers(path))
      out.push_back(std::hash<std::string>()(path + "=" + to_toml_value(value)));
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t distance(const Leaves& a, const Leaves& b) {
  std::size_t same = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) ++same;
    const bool step_a = *x <= *y, step_b = *y <= *x;
    x += step_a;
    y += step_b;
  }
  return a.size() + b.size() - 2 * same;
}

// A run to compare with: of a row, or dropped.
struct Candidate {
  std::string name;
  const Table* recipe = nullptr;
  std::size_t arm = kNoArm;
  Leaves leaves;
};

class Neighbours {
 public:
  Neighbours(const std::vector<StudyRow>& rows, const fs::path& directory, StudyPlan& plan)
      : rows_(rows), plan_(plan) {
    for (std::size_t i = 0; i < plan.jobs.size(); ++i)
      if (plan.list.jobs[i].until == 0 && plan.jobs[i].state != ArmState::fresh)
        seeds_[plan.jobs[i].row].push_back(plan.list.jobs[i].seed);
    read_dropped(directory);
    for (const auto& [row, seeds] : seeds_) {
      if (candidates_.size() >= kMostRows + tables_.size()) break;
      const Table& recipe = rows[row].recipe.resolved;
      candidates_.push_back({rows[row].label, &recipe, rows[row].arm, leaves_of(recipe)});
    }
  }

  void find() {
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
      const Job& job = plan_.list.jobs[i];
      PlannedJob& planned = plan_.jobs[i];
      if (planned.state != ArmState::fresh || job.until > 0 || job.repeated) continue;
      if (const auto own = seeds_.find(planned.row); own != seeds_.end()) {
        planned.nearest = job.label;
        planned.differences = {{"seed", own->second.front(), job.seed}};
        continue;
      }
      const Nearest& nearest = of_row(planned.row);
      planned.nearest = nearest.name;
      planned.differences = nearest.differences;
    }
  }

 private:
  struct Nearest {
    std::string name;
    std::vector<Difference> differences;
  };

  void read_dropped(const fs::path& directory) {
    tables_.reserve(kMostDropped);
    for (const std::string& run : plan_.dropped) {
      if (tables_.size() == kMostDropped) break;
      try {
        const fs::path file = directory / run / "recipe.toml";
        Diagnostics ignored;
        std::optional<Table> table =
            parse_toml(read_regular_file(file.string()), file.string(), ignored);
        if (table) tables_.push_back(std::move(*table));
        if (table) candidates_.push_back({run, &tables_.back(), kNoArm, leaves_of(tables_.back())});
      } catch (const Error&) {  // it had not begun
      }
    }
  }

  const Nearest& of_row(std::size_t row) {
    const auto [at, fresh] = known_.try_emplace(row);
    if (!fresh || candidates_.empty()) return at->second;
    const StudyRow& wanted = rows_[row];
    const Leaves leaves = leaves_of(wanted.recipe.resolved);
    const auto rank = [&](const Candidate& c) {
      return std::pair(distance(leaves, c.leaves), c.arm != wanted.arm);
    };
    const auto nearest =
        std::min_element(candidates_.begin(), candidates_.end(),
                         [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
    at->second.name = nearest->name;
    at->second.differences = numeric_differences(*nearest->recipe, wanted.recipe.resolved);
    std::erase_if(at->second.differences, [](const Difference& d) { return d.key == "seed"; });
    // The recipe is not all that makes a run what it is.
    if (at->second.differences.empty())
      at->second.differences.push_back({"data, files or plugins", "others", "these"});
    return at->second;
  }

  const std::vector<StudyRow>& rows_;
  StudyPlan& plan_;
  std::map<std::size_t, std::vector<std::string>> seeds_;  // that rows have runs of
  std::vector<Table> tables_;                              // of dropped runs
  std::vector<Candidate> candidates_;
  std::map<std::size_t, Nearest> known_;
};

}  // namespace

void find_nearest(const std::vector<StudyRow>& rows, const fs::path& directory, StudyPlan& plan) {
  const bool any_new = std::any_of(plan.jobs.begin(), plan.jobs.end(), [](const PlannedJob& job) {
    return job.state == ArmState::fresh;
  });
  if (any_new) Neighbours(rows, directory, plan).find();
}

}  // namespace gh::host
