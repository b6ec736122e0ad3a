#include "report/study_columns.hpp"

#include "report/group_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gh::host {
namespace {

// The table by group of classes calls these otherwise than the metrics beside it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kAliases = {
    {{"std", "deviation"}, {"avg", "average"}}};

std::string metric_of(std::string_view column) {
  for (const auto& [in_table, metric] : kAliases)
    if (column == in_table) return std::string(metric);
  return std::string(column);
}

std::string heading_of(const std::string& metric) {
  for (const auto& [in_table, name] : kAliases)
    if (metric == name) return column_heading(std::string(in_table));
  return column_heading(metric);
}

// What the evaluator says by group of classes, in the table's order; empty: nothing.
std::vector<std::string> group_metrics(const EvaluatorMatch& match) {
  std::vector<std::string> out;
  for (const EvaluatorSeries* series : match.of_run) {
    if (!series) continue;
    if (const TableRecord* table = find_table(series->last(), "groups"))
      for (const std::string& column : table->columns)
        if (std::find(out.begin(), out.end(), metric_of(column)) == out.end())
          out.push_back(metric_of(column));
  }
  return out;
}

std::vector<std::string> every_metric(const EvaluatorMatch& match) {
  std::vector<std::string> out;
  for (const EvaluatorSeries* series : match.of_run) {
    if (!series) continue;
    for (const MetricRecord& metric : series->last().metrics)
      if (std::find(out.begin(), out.end(), metric.name) == out.end()) out.push_back(metric.name);
  }
  return out;
}

// Finds what the names in `metrics` mean.
class Columns {
 public:
  Columns(std::span<const EvaluatorMatch> matches, std::span<const std::string> labels)
      : matches_(matches), labels_(labels) {
    for (const EvaluatorMatch& match : matches) {
      groups_.push_back(group_metrics(match));
      metrics_.push_back(every_metric(match));
    }
  }

  void add_default() {
    for (std::size_t m = 0; m < matches_.size(); ++m) add_all(m, groups_[m]);
    if (!columns_.empty()) return;
    for (std::size_t m = 0; m < matches_.size(); ++m) add_all(m, metrics_[m]);
  }

  void add(const std::string& name) {
    const std::size_t before = columns_.size(), known = repeated_;
    for (std::size_t m = 0; m < matches_.size(); ++m)
      if (is_called(m, name)) add_all(m, groups_[m].empty() ? metrics_[m] : groups_[m]);
    if (columns_.size() > before || repeated_ > known) return;
    for (std::size_t m = 0; m < matches_.size(); ++m)
      for (const std::string& prefix : {labels_[m], matches_[m].evaluator})
        if (name.starts_with(prefix + "."))
          add_metric(m, metric_of(std::string_view(name).substr(prefix.size() + 1)));
    if (columns_.size() > before || repeated_ > known) return;
    for (std::size_t m = 0; m < matches_.size(); ++m) add_metric(m, metric_of(name));
    if (columns_.size() > before || repeated_ > known) return;
    columns_.push_back({{}, 0, name, heading_of(name), false});
  }

  std::vector<StudyColumn> take() { return std::move(columns_); }

 private:
  bool is_called(std::size_t m, const std::string& name) const {
    return name == labels_[m] || name == matches_[m].evaluator;
  }

  void add_all(std::size_t m, const std::vector<std::string>& metrics) {
    for (const std::string& metric : metrics) add_metric(m, metric);
  }

  void add_metric(std::size_t m, const std::string& metric) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), metric) != names.end();
    };
    if (!has(groups_[m]) && !has(metrics_[m])) return;
    const auto same = [&](const StudyColumn& c) {
      return c.evaluator == labels_[m] && c.metric == metric;
    };
    if (std::any_of(columns_.begin(), columns_.end(), same)) {
      ++repeated_;
      return;
    }
    columns_.push_back({labels_[m], m, metric, heading_of(metric), has(groups_[m])});
  }

  std::span<const EvaluatorMatch> matches_;
  std::span<const std::string> labels_;
  std::vector<std::vector<std::string>> groups_, metrics_;  // of each match
  std::vector<StudyColumn> columns_;
  std::size_t repeated_ = 0;  // columns that were asked for more than once
};

}  // namespace

std::vector<StudyColumn> study_columns(std::span<const std::string> metrics,
                                       std::span<const EvaluatorMatch> matches,
                                       std::span<const std::string> labels) {
  Columns columns(matches, labels);
  for (const std::string& name : metrics) columns.add(name);
  if (metrics.empty()) columns.add_default();
  std::vector<StudyColumn> out = columns.take();
  // Those of one evaluator stand together: they become one table.
  std::vector<StudyColumn> grouped;
  for (const StudyColumn& first : out) {
    const auto same = [&](const StudyColumn& c) { return c.evaluator == first.evaluator; };
    if (std::any_of(grouped.begin(), grouped.end(), same)) continue;
    std::copy_if(out.begin(), out.end(), std::back_inserter(grouped), same);
  }
  return grouped;
}

ColumnValue column_value(const StudyColumn& column, const EvaluatorSeries* series) {
  ColumnValue out;
  if (!series) return out;
  out.result = &series->last();
  if (const MetricRecord* metric = find_metric(*out.result, column.metric)) {
    out.value = metric->value;
    out.definition = metric->definition;
  }
  // Where the table by group has the number, its caption says more than the metric does.
  const std::optional<GroupRow> row = column.percent ? group_row(*out.result) : std::nullopt;
  if (!row) return out;
  for (std::size_t i = 0; i < row->columns.size(); ++i)
    if (metric_of(row->columns[i]) == column.metric) {
      out.value = row->values[i];
      out.how = row->how;
      out.definition = row->definition;
    }
  return out;
}

std::string incomparable(const ColumnValue& a, const ColumnValue& b) {
  if (!a.result || !b.result) return {};
  if (a.definition != b.definition) return "it is defined otherwise";
  const auto differing = [](const Pairs& x, const Pairs& y) -> std::string {
    for (const auto& [one, other] : {std::pair(&x, &y), std::pair(&y, &x)})
      for (const auto& [key, value] : *one)
        if (pair_value(*other, key) != value) return key;
    return {};
  };
  if (const std::string key = differing(a.result->params, b.result->params); !key.empty())
    return fmt::format("its {} is {} and not {}", key, pair_value(a.result->params, key),
                       pair_value(b.result->params, key));
  const auto evaluated = [](const Pairs& splits) {
    Pairs out;  // what was trained on may be what the study is about
    for (const auto& pair : splits)
      if (pair.first != "train") out.push_back(pair);
    return out;
  };
  if (const std::string key = differing(evaluated(a.result->splits), evaluated(b.result->splits));
      !key.empty())
    return fmt::format("it was evaluated on another split {}", key);
  return {};
}

}  // namespace gh::host
