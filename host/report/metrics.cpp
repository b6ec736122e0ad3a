#include "report/metrics.hpp"

#include <algorithm>

namespace gh::host {
namespace {

// Finds or appends the element that `same` accepts.
template <class T, class Same>
T& find_or_add(std::vector<T>& list, T fresh, Same same) {
  const auto it = std::find_if(list.begin(), list.end(), same);
  if (it != list.end()) return *it;
  list.push_back(std::move(fresh));
  return list.back();
}

MetricGroup lined_up(std::vector<const ResultRecord*> columns, std::string label) {
  MetricGroup group{std::move(label), std::move(columns), {}};
  for (std::size_t column = 0; column < group.columns.size(); ++column) {
    if (!group.columns[column]) continue;
    for (const MetricRecord& metric : group.columns[column]->metrics) {
      MetricRow& row = find_or_add(
          group.rows,
          MetricRow{metric.name, {}, std::vector<std::optional<double>>(group.columns.size())},
          [&](const MetricRow& r) { return r.name == metric.name; });
      row.values[column] = metric.value;
      if (!metric.definition.empty())
        find_or_add(row.definitions, metric.definition,
                    [&](const std::string& d) { return d == metric.definition; });
    }
  }
  return group;
}

}  // namespace

MetricGroup metrics_by_moment(const EvaluatorSeries& series, std::string label) {
  return lined_up(series.shown(), std::move(label));
}

std::vector<MetricGroup> metrics_by_moment(const RunRecord& run) {
  const std::vector<EvaluatorSeries> series = evaluator_series(run);
  const std::vector<std::string> labels = evaluator_labels(series);
  std::vector<MetricGroup> groups;
  for (std::size_t i = 0; i < series.size(); ++i)
    if (MetricGroup group = metrics_by_moment(series[i], labels[i]); !group.rows.empty())
      groups.push_back(std::move(group));
  return groups;
}

MetricGroup metrics_by_run(const EvaluatorMatch& match, std::string label) {
  std::vector<const ResultRecord*> columns;
  for (const EvaluatorSeries* series : match.of_run)
    columns.push_back(series ? &series->last() : nullptr);
  return lined_up(std::move(columns), std::move(label));
}

std::optional<double> change(const MetricRow& row) {
  if (row.values.size() != 2 || !row.values[0] || !row.values[1]) return std::nullopt;
  return *row.values[1] - *row.values[0];
}

}  // namespace gh::host
