// How evenly the means of classes lie, as the paper measures it (its section on uniformity): U, the
// mean distance between two class means, and U_k, that to the k nearest.
#include "gh/class_groups.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/number_text.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string fixed(double value) { return gh::number_text("%.3f", value); }

struct ClassMeans {
  std::vector<int64_t> samples;  // [C] of each class
  std::vector<int64_t> present;  // classes with a sample
  at::Tensor means;              // [present, D] float64
};

ClassMeans class_means(const at::Tensor& x, const at::Tensor& targets, int64_t classes) {
  ClassMeans out;
  const at::Tensor counts = targets.bincount({}, classes);
  const at::Tensor sums =
      at::zeros({classes, x.size(1)}, at::kDouble).index_add_(0, targets, x.to(at::kDouble));
  const at::Tensor present = counts.nonzero().squeeze(1);
  out.means = (sums / counts.clamp_min(1).unsqueeze(1)).index_select(0, present);
  out.samples.assign(counts.data_ptr<int64_t>(), counts.data_ptr<int64_t>() + classes);
  out.present.assign(present.data_ptr<int64_t>(), present.data_ptr<int64_t>() + present.numel());
  return out;
}

// Of each class: how far others are, NaN where it has no sample.
struct Distances {
  std::vector<double> all, nearest;  // mean to all others, to the k nearest
  std::vector<int64_t> next;         // the nearest other, −1 where there is none
};

Distances distances(const ClassMeans& classes, int64_t k) {
  const std::size_t count = classes.samples.size(), present = classes.present.size();
  Distances out{std::vector<double>(count, kNone), std::vector<double>(count, kNone),
                std::vector<int64_t>(count, -1)};
  const auto mean = classes.means.accessor<double, 2>();
  for (std::size_t i = 0; i < present; ++i) {
    std::vector<std::pair<double, int64_t>> others;
    for (std::size_t j = 0; j < present; ++j) {
      if (i == j) continue;
      double square = 0;
      for (int64_t d = 0; d < classes.means.size(1); ++d)
        square += std::pow(mean[static_cast<int64_t>(i)][d] - mean[static_cast<int64_t>(j)][d], 2);
      others.emplace_back(std::sqrt(square), classes.present[j]);
    }
    std::sort(others.begin(), others.end());
    const auto average = [&](std::size_t n) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += others[j].first;
      return sum / static_cast<double>(n);
    };
    const auto label = static_cast<std::size_t>(classes.present[i]);
    out.all[label] = average(others.size());
    out.nearest[label] = average(static_cast<std::size_t>(k));
    out.next[label] = others.front().second;
  }
  return out;
}

class Uniformity final : public gh::Evaluator {
 public:
  explicit Uniformity(const gh::Params& params)
      : chosen_(gh::read_features(params)),
        k_(params.integer("k")),
        unit_(params.text("normalize") == "unit") {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    if (!gh::check_class_features(facts, chosen_, "class means need class labels", out)) return;
    const std::vector<int64_t>* const counts = gh::class_counts_of(facts, chosen_.split);
    if (!counts) return;
    const auto present =
        std::count_if(counts->begin(), counts->end(), [](int64_t n) { return n > 0; });
    if (present < 2)
      out.add("split", "split '" + chosen_.split + "' has samples of " + std::to_string(present) +
                           " classes; distances need two");
    else if (k_ >= present)
      out.add("k", "expected less than the " + std::to_string(present) + " classes of split '" +
                       chosen_.split + "', got " + std::to_string(k_));
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& features =
        evaluation.features({.level = chosen_.level, .split = chosen_.split});
    const at::Tensor lengths = features.x.to(at::kDouble).norm(2, {1}, true);
    const at::Tensor x = unit_ ? features.x / lengths.clamp_min(1e-12) : features.x;
    const ClassMeans classes = class_means(x, features.targets, evaluation.class_counts().numel());
    const auto present = static_cast<int64_t>(classes.present.size());
    gh::require(present >= 2, gh::ErrorCode::missing_data, "split '", chosen_.split,
                "' has samples of ", present, " classes; distances need two");
    gh::require(k_ < present, gh::ErrorCode::invalid_param, "k = ", k_, ", but each of the ",
                present, " classes of split '", chosen_.split, "' has ", present - 1, " others");
    const Distances found = distances(classes, k_);
    report(evaluation, found, present);
    evaluation.metric("length", lengths.mean().item<double>(),
                      "mean |feature| before any scaling; U and U_k of features that are not "
                      "scaled grow with it");
    write_classes(evaluation, features, classes, found);
  }

 private:
  void report(gh::Evaluation& evaluation, const Distances& found, int64_t present) const {
    const gh::ClassGroups groups = gh::class_groups(chosen_.groups, evaluation.class_counts());
    const std::string of = " of " + gh::level_name(chosen_.level) + " features" +
                           (unit_ ? " of unit length" : ", not scaled") + ", split " +
                           chosen_.split + ", " + std::to_string(present) + " classes";
    const auto tell = [&](const std::string& name, const std::vector<double>& values,
                          const std::string& definition) {
      const gh::GroupAverages averages = gh::average_groups(groups, values);
      evaluation.metric(name, averages.average, definition + of);
      for (std::size_t g = 0; g < groups.groups.size(); ++g)
        evaluation.metric(
            name + "_" + groups.groups[g].name, averages.means[g],
            "the same from the means of this group's classes to all; " + groups.definition);
    };
    tell("inter_class", found.all, "U: mean Euclidean distance between two class means");
    tell("neighbourhood", found.nearest,
         "U_k: mean Euclidean distance of a class mean to the " +
             (k_ == 1 ? "nearest other" : std::to_string(k_) + " nearest others"));
  }

  void write_classes(gh::Evaluation& evaluation, const gh::Features& features,
                     const ClassMeans& classes, const Distances& found) const {
    const auto name = [&](std::size_t c) {
      return c < features.class_names.size() ? features.class_names[c]
                                             : "class " + std::to_string(c);
    };
    std::vector<std::size_t> order(found.all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return classes.samples[a] > classes.samples[b];
    });
    std::vector<std::vector<std::string>> rows;
    for (const std::size_t c : order)
      rows.push_back({name(c), std::to_string(classes.samples[c]), fixed(found.all[c]),
                      fixed(found.nearest[c]),
                      found.next[c] < 0 ? "—" : name(static_cast<std::size_t>(found.next[c]))});
    const std::vector<std::string> columns = {
        "class", "samples", "mean distance to others",
        k_ == 1 ? "to the nearest" : "to the " + std::to_string(k_) + " nearest", "nearest"};
    evaluation.table("classes",
                     "Means of classes, split " + chosen_.split + ", largest class first", columns,
                     rows);
  }

  gh::FeatureChoice chosen_;
  int64_t k_;
  bool unit_;
};

constexpr gh::Param kParams[] = {
    GH_FEATURE_PARAMS("whose class means", "backbone"),
    gh::integer("k", "1", "neighbours of U_k; the paper does not say how many it took")
        .at_least(1)
        .at_most(1000000),
    gh::choice("normalize", "none", "none|unit",
               "features as they are (the paper's values exceed 2, so its were), or of unit length "
               "before they are averaged"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Uniformity>("uniformity", "distances between class means: U and U_k of the paper",
                             kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "How evenly class means lie")
