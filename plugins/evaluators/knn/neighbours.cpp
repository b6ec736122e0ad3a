#include "neighbours.hpp"

#include "gh/class_groups.hpp"
#include "gh/plot.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kSamples = 2;  // of a class
constexpr int64_t kShown = 8;        // neighbours of a sample
constexpr int kSide = 64;            // pixels

struct WorstClass {
  int64_t label;
  double accuracy;               // percent
  std::vector<int64_t> samples;  // of the split, those that went wrong first
};

// The classes of a group with the lowest accuracy, of equal ones the first.
std::vector<WorstClass> worst_classes(const gh::ClassGroup& group, const gh::Classified& outcome) {
  const at::Tensor targets = outcome.targets.contiguous(),
                   said = outcome.ranked.select(1, 0).contiguous();
  std::vector<WorstClass> worst;
  for (const int64_t label : group.classes) {
    std::vector<int64_t> wrong, right;
    for (int64_t i = 0; i < targets.numel(); ++i)
      if (targets.const_data_ptr<int64_t>()[i] == label)
        (said.const_data_ptr<int64_t>()[i] == label ? right : wrong).push_back(i);
    if (wrong.empty() && right.empty()) continue;
    const auto tested = static_cast<double>(wrong.size() + right.size());
    WorstClass entry{label, 100 * static_cast<double>(right.size()) / tested, std::move(wrong)};
    entry.samples.insert(entry.samples.end(), right.begin(), right.end());
    worst.push_back(std::move(entry));
  }
  std::stable_sort(worst.begin(), worst.end(), [](const WorstClass& a, const WorstClass& b) {
    return a.accuracy < b.accuracy;
  });
  if (worst.size() > kClasses) worst.resize(kClasses);
  return worst;
}

std::string name_of(const gh::Classified& outcome, int64_t label) {
  const auto at = static_cast<std::size_t>(label);
  return at < outcome.class_names.size() ? outcome.class_names[at]
                                         : "class " + std::to_string(label);
}

}  // namespace

void draw_neighbours(gh::Evaluation& evaluation, const gh::ClassificationSettings& settings,
                     const gh::Classified& outcome, const Neighbourhood& around) {
  auto* const services =
      static_cast<gh::EvaluationServices*>(evaluation.query(gh::EvaluationServices::kId));
  if (!services || services->png(settings.split, 0, kSide).empty()) return;
  const at::Tensor counts = evaluation.class_counts();
  const gh::ClassGroups groups = gh::class_groups(settings.groups, counts);
  const auto smallest =
      std::find_if(groups.groups.rbegin(), groups.groups.rend(),
                   [](const gh::ClassGroup& group) { return !group.classes.empty(); });
  if (smallest == groups.groups.rend()) return;

  gh::PictureRows picture;
  picture.side = kSide;
  for (const WorstClass& worst : worst_classes(*smallest, outcome)) {
    const std::string name = name_of(outcome, worst.label);
    char accuracy[32];
    std::snprintf(accuracy, sizeof accuracy, "%.1f", worst.accuracy);
    for (std::size_t s = 0; s < std::min(kSamples, worst.samples.size()); ++s) {
      const int64_t sample = worst.samples[s];
      std::vector<gh::PictureCell> cells = {
          {services->png(settings.split, sample, kSide), settings.split + " sample"}};
      const at::Tensor rows = around.neighbours[sample];
      for (int64_t j = 0; j < std::min(kShown, rows.numel()); ++j) {
        const int64_t row = rows[j].item<int64_t>();
        const int64_t place = around.samples.defined() ? around.samples[row].item<int64_t>() : row;
        const int64_t label = around.bank_labels[row].item<int64_t>();
        cells.push_back({services->png(around.bank, place, kSide), name_of(outcome, label),
                         label == worst.label});
      }
      const int64_t said = outcome.ranked[sample][0].item<int64_t>();
      picture.add(name + (said == worst.label ? "" : ", taken for " + name_of(outcome, said)) +
                      " (class: " + accuracy + " % right, training samples: " +
                      std::to_string(counts[worst.label].item<int64_t>()) + ")",
                  std::move(cells));
    }
  }
  evaluation.picture("neighbours",
                     "The worst classes of group " + smallest->name + ": a sample of split " +
                         settings.split + ", one that went wrong if there is, and its nearest of " +
                         around.bank + ", nearest first. A frame marks the right class.",
                     "image/svg+xml", picture.svg());
}
