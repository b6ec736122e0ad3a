#include "gh/classification.hpp"

#include "gh/class_groups.hpp"
#include "gh/number_text.hpp"
#include "gh/plot.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

constexpr std::size_t kConfusionCells = 20;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string percent(double value) { return number_text("%.2f", value); }

// What came of each class.
struct Outcome {
  std::vector<int64_t> counts;                  // training samples
  std::vector<int64_t> tested;                  // samples of the split
  std::vector<double> accuracy;                 // percent; NaN where none was tested
  std::vector<std::vector<int64_t>> predicted;  // [class][class]
  double overall = 0, top = kNone;              // percent
};

void require_fitting(const Classified& given, int64_t classes) {
  const bool shapes = given.ranked.dim() == 2 && given.targets.dim() == 1 &&
                      given.ranked.size(0) == given.targets.size(0) && given.ranked.size(1) >= 1 &&
                      given.ranked.scalar_type() == at::kLong &&
                      given.targets.scalar_type() == at::kLong;
  require(shapes, ErrorCode::shape,
          "report_classification: expected ranked [n, r] and targets [n], int64");
  require(given.targets.numel() > 0, ErrorCode::missing_data, "there is no sample to classify");
  const int64_t largest = std::max(given.targets.max().item<int64_t>(),
                                   given.ranked.select(1, 0).max().item<int64_t>());
  const int64_t smallest = std::min(given.targets.min().item<int64_t>(),
                                    given.ranked.select(1, 0).min().item<int64_t>());
  require(smallest >= 0 && largest < classes, ErrorCode::invalid_param, "label ",
          smallest < 0 ? smallest : largest, " is none of the training set's ", classes,
          " classes; the splits of the data set do not belong together");
}

Outcome count(const Classified& given, const at::Tensor& class_counts) {
  const at::Tensor ranked = given.ranked.contiguous(), targets = given.targets.contiguous();
  const int64_t n = targets.size(0), r = ranked.size(1);
  const auto classes = static_cast<std::size_t>(class_counts.numel());
  Outcome out;
  out.counts.assign(class_counts.data_ptr<int64_t>(), class_counts.data_ptr<int64_t>() + classes);
  out.tested.assign(classes, 0);
  out.predicted.assign(classes, std::vector<int64_t>(classes, 0));
  const int64_t* rank = ranked.data_ptr<int64_t>();
  const int64_t* target = targets.data_ptr<int64_t>();
  int64_t first = 0, five = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* row = rank + i * r;
    ++out.tested[static_cast<std::size_t>(target[i])];
    ++out.predicted[static_cast<std::size_t>(target[i])][static_cast<std::size_t>(row[0])];
    first += row[0] == target[i];
    five +=
        std::find(row, row + std::min<int64_t>(r, 5), target[i]) < row + std::min<int64_t>(r, 5);
  }
  out.overall = 100.0 * static_cast<double>(first) / static_cast<double>(n);
  if (r >= 5) out.top = 100.0 * static_cast<double>(five) / static_cast<double>(n);
  for (std::size_t c = 0; c < classes; ++c)
    out.accuracy.push_back(out.tested[c] == 0 ? kNone
                                              : 100.0 * static_cast<double>(out.predicted[c][c]) /
                                                    static_cast<double>(out.tested[c]));
  return out;
}

std::string name_of_class(const Classified& given, std::size_t c) {
  return c < given.class_names.size() ? given.class_names[c] : "class " + std::to_string(c);
}

void require_every_class(const Classified& given, const Outcome& outcome,
                         const ClassificationSettings& settings) {
  if (settings.leave_out) return;
  std::string names;
  int64_t missing = 0;
  for (std::size_t c = 0; c < outcome.tested.size(); ++c)
    if (outcome.tested[c] == 0 && ++missing <= 5)
      names += (names.empty() ? "" : ", ") + name_of_class(given, c);
  require(missing == 0, ErrorCode::missing_data, missing, " of ", outcome.tested.size(),
          " classes have no sample in split '", settings.split, "' (", names,
          missing > 5 ? ", …" : "",
          "): averages over classes would not mean what they say. Choose another split, or set "
          "missing = \"leave-out\" to average over the others");
}

// Largest class first, of equal ones the first.
std::vector<std::size_t> largest_first(const Outcome& outcome) {
  std::vector<std::size_t> order(outcome.counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return outcome.counts[a] > outcome.counts[b];
  });
  return order;
}

std::vector<std::string> group_of_class(const ClassGroups& groups, std::size_t classes) {
  std::vector<std::string> out(classes, "—");
  for (const ClassGroup& group : groups.groups)
    for (const int64_t c : group.classes) out[static_cast<std::size_t>(c)] = group.name;
  return out;
}

void write_metrics(Evaluation& evaluation, const Outcome& outcome, const ClassGroups& groups,
                   const GroupAverages& averages, const std::string& how) {
  evaluation.metric("accuracy", outcome.overall, "samples classified correctly, percent; " + how);
  if (!std::isnan(outcome.top))
    evaluation.metric("top5", outcome.top,
                      "samples whose class is among the five likeliest, percent");
  evaluation.metric("average", averages.average, "mean accuracy of the classes, percent");
  for (std::size_t g = 0; g < groups.groups.size(); ++g)
    evaluation.metric(groups.groups[g].name, averages.means[g],
                      "mean accuracy of the group's " +
                          std::to_string(groups.groups[g].classes.size()) + " classes, percent; " +
                          groups.definition);
  evaluation.metric("deviation", averages.deviation,
                    "sample standard deviation (n − 1) of the group means, percent");
}

void write_groups(Evaluation& evaluation, const ClassGroups& groups, const GroupAverages& averages,
                  const std::string& how) {
  std::vector<std::string> columns, row;
  for (std::size_t g = 0; g < groups.groups.size(); ++g) {
    columns.push_back(groups.groups[g].name);
    row.push_back(percent(averages.means[g]));
  }
  columns.insert(columns.end(), {"std", "avg"});
  row.insert(row.end(), {percent(averages.deviation), percent(averages.average)});
  const std::vector<std::vector<std::string>> rows = {row};
  evaluation.table(
      "groups",
      how + ". Accuracy in percent, mean over the classes of a group; " + groups.definition +
          ". std: sample standard deviation (n − 1) of the group means; avg: mean over "
          "all classes",
      columns, rows);
}

void write_confusion_table(Evaluation& evaluation, const Outcome& outcome,
                           const ClassGroups& groups) {
  const std::vector<std::string> of_class = group_of_class(groups, outcome.counts.size());
  std::vector<std::string> columns = {"true group"};
  for (const ClassGroup& to : groups.groups) columns.push_back("said: " + to.name);
  std::vector<std::vector<std::string>> rows;
  for (const ClassGroup& from : groups.groups) {
    double tested = 0;
    std::vector<double> said(groups.groups.size(), 0);
    for (const int64_t c : from.classes) {
      const auto& row = outcome.predicted[static_cast<std::size_t>(c)];
      tested += static_cast<double>(outcome.tested[static_cast<std::size_t>(c)]);
      for (std::size_t g = 0; g < groups.groups.size(); ++g)
        for (const int64_t other : groups.groups[g].classes)
          if (other != c) said[g] += static_cast<double>(row[static_cast<std::size_t>(other)]);
    }
    auto& line = rows.emplace_back(std::vector<std::string>{from.name});
    for (const double wrong : said)
      line.push_back(percent(tested > 0 ? 100 * wrong / tested : kNone));
  }
  evaluation.table(
      "confusion",
      "Mistakes: samples of a group that were given to a wrong class of each group, in "
      "percent of the group's samples",
      columns, rows);
}

void write_classes(Evaluation& evaluation, const Classified& given, const Outcome& outcome,
                   const ClassGroups& groups) {
  const std::vector<std::string> of_class = group_of_class(groups, outcome.counts.size());
  const std::vector<std::string> columns = {"class",  "name",     "training samples", "group",
                                            "tested", "accuracy", "taken most for"};
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t c : largest_first(outcome)) {
    std::size_t rival = c == 0 && outcome.counts.size() > 1 ? 1 : 0;
    for (std::size_t other = 0; other < outcome.counts.size(); ++other)
      if (other != c && outcome.predicted[c][other] > outcome.predicted[c][rival]) rival = other;
    const bool mistaken = rival != c && outcome.predicted[c][rival] > 0;
    rows.push_back({std::to_string(c), name_of_class(given, c), std::to_string(outcome.counts[c]),
                    of_class[c], std::to_string(outcome.tested[c]), percent(outcome.accuracy[c]),
                    mistaken ? name_of_class(given, rival) + " (" +
                                   std::to_string(outcome.predicted[c][rival]) + ")"
                             : "—"});
  }
  evaluation.table("classes", "Every class, largest training set first; accuracy in percent",
                   columns, rows);
}

void draw_classes(Evaluation& evaluation, const Outcome& outcome, const ClassGroups& groups) {
  const std::vector<std::string> of_class = group_of_class(groups, outcome.counts.size());
  std::vector<std::size_t> order = largest_first(outcome);
  // Each group's bars stand together, largest classes first within a group.
  BarPlot plot;
  plot.title = "accuracy of each class, %";
  plot.x_label = "classes, largest first within each group";
  plot.top = 100;
  plot.height = 380;  // stands beside the confusion
  for (const ClassGroup& group : groups.groups) {
    BarSeries bars{.name = group.name, .values = {}};
    for (const std::size_t c : order)
      if (of_class[c] == group.name) bars.values.push_back(outcome.accuracy[c]);
    plot.add(std::move(bars));
  }
  evaluation.picture("classes", "Accuracy of every class, ordered by the size of its training set.",
                     "image/svg+xml", plot.svg());
}

// Classes in order of size, at most kConfusionCells cells of them a side.
void draw_confusion(Evaluation& evaluation, const Outcome& outcome) {
  const std::vector<std::size_t> order = largest_first(outcome);
  const std::size_t classes = order.size(), cells = std::min(classes, kConfusionCells);
  std::vector<std::size_t> cell(classes);
  for (std::size_t i = 0; i < classes; ++i) cell[order[i]] = i * cells / classes;
  GridPlot plot;
  plot.title = "who is taken for whom";
  plot.row_label = "true class, largest on top";
  plot.column_label = "said class, largest on the left";
  plot.rows.assign(cells, std::vector<double>(cells, 0));
  std::vector<double> tested(cells, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    tested[cell[c]] += static_cast<double>(outcome.tested[c]);
    for (std::size_t other = 0; other < classes; ++other)
      plot.rows[cell[c]][cell[other]] += static_cast<double>(outcome.predicted[c][other]);
  }
  for (std::size_t i = 0; i < cells; ++i)
    for (double& value : plot.rows[i]) value = tested[i] > 0 ? 100 * value / tested[i] : kNone;
  plot.top = 100;
  std::string caption =
      "Share of the samples of each row, in percent, right answers on the diagonal.";
  if (cells < classes)
    caption += " A cell holds about " + std::to_string((classes + cells / 2) / cells) + " classes.";
  evaluation.picture("confusion", caption, "image/svg+xml", plot.svg());
}

}  // namespace

ClassificationSettings read_classification(const Params& params) {
  return {.split = std::string(params.text("split")),
          .groups = std::string(params.text("groups")),
          .leave_out = params.text("missing") == "leave-out"};
}

void check_classification(const ClassificationSettings& settings, const EvalFacts& facts,
                          Complaints& out) {
  check_groups(facts, settings.groups, "groups", out);
  if (!facts.class_targets) out.add(".data", "this evaluator needs class labels");
  if (!check_labelled_split(facts, settings.split, "split", out) || settings.leave_out) return;
  const std::vector<int64_t>* const tested = class_counts_of(facts, settings.split);
  const std::vector<int64_t>* const trained = class_counts_of(facts, "train");
  if (!tested || !trained) return;
  const auto present =
      std::count_if(tested->begin(), tested->end(), [](int64_t n) { return n > 0; });
  const auto missing = static_cast<int64_t>(trained->size()) - present;
  if (missing > 0)
    out.add("split", std::to_string(missing) + " of " + std::to_string(trained->size()) +
                         " classes have no sample in split '" + settings.split +
                         "': averages over classes would not mean what they say. Choose another "
                         "split, or set missing = \"leave-out\" to average over the others");
}

at::Tensor ranked_classes(const at::Tensor& scores) {
  const at::Tensor order = std::get<1>(at::sort(scores, /*stable=*/true, 1, /*descending=*/true));
  return order.narrow(1, 0, std::min<int64_t>(5, scores.size(1))).contiguous();
}

void report_classification(Evaluation& evaluation, const ClassificationSettings& settings,
                           const Classified& given, std::string_view how) {
  const at::Tensor counts = evaluation.class_counts().contiguous();
  require_fitting(given, counts.numel());
  const Outcome outcome = count(given, counts);
  require_every_class(given, outcome, settings);
  const ClassGroups groups = class_groups(settings.groups, counts);
  const GroupAverages averages = average_groups(groups, outcome.accuracy);
  const std::string words = std::string(how) + ", split " + settings.split;
  write_metrics(evaluation, outcome, groups, averages, words);
  write_groups(evaluation, groups, averages, words);
  write_confusion_table(evaluation, outcome, groups);
  write_classes(evaluation, given, outcome, groups);
  draw_classes(evaluation, outcome, groups);
  draw_confusion(evaluation, outcome);
}

at::Tensor training_samples(Evaluation& evaluation, std::string_view split, int64_t shots,
                            std::string_view file) {
  if (!file.empty()) {
    auto* services = static_cast<EvaluationServices*>(evaluation.query(EvaluationServices::kId));
    require(services != nullptr, ErrorCode::unsupported, "this host reads no lists of samples");
    return std::get<0>(services->positions(split, file).sort());
  }
  if (shots == 0) return {};
  const at::Tensor targets =
      evaluation.features({.level = FeatureLevel::none, .split = split}).targets.contiguous();
  const int64_t* target = targets.data_ptr<int64_t>();
  Random random = evaluation.random("shots");
  const at::Tensor shuffled = random.permutation(targets.numel());
  const int64_t* order = shuffled.data_ptr<int64_t>();
  std::vector<int64_t> left(static_cast<std::size_t>(targets.max().item<int64_t>() + 1), shots);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < targets.numel(); ++i)
    if (left[static_cast<std::size_t>(target[order[i]])]-- > 0) chosen.push_back(order[i]);
  std::sort(chosen.begin(), chosen.end());
  return at::tensor(chosen, at::kLong);
}

}  // namespace v1
}  // namespace gh
