#include "report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

void add_column(MetricGroup& group, const ResultRecord& result, std::size_t column) {
  for (const MetricRecord& metric : result.metrics) {
    MetricRow& row = find_or_add(group.rows, MetricRow{metric.name, {}, {}},
                                 [&](const MetricRow& r) { return r.name == metric.name; });
    row.values.resize(std::max(row.values.size(), column + 1));
    row.values[column] = metric.value;
    if (!metric.definition.empty())
      find_or_add(row.definitions, metric.definition,
                  [&](const std::string& d) { return d == metric.definition; });
  }
}

}  // namespace

std::string epoch_beside(const std::string& label, int64_t epoch) {
  const std::string text = fmt::format("epoch {}", epoch);
  return label.find(text) == label.npos ? text : std::string();
}

std::vector<MetricGroup> metrics_by_moment(const RunRecord& run) {
  std::vector<MetricGroup> groups;
  for (const ResultRecord& r : run.results) {
    if (r.metrics.empty()) continue;
    MetricGroup& group = find_or_add(
        groups, MetricGroup{r.evaluator, r.slot, {}, {}},
        [&](const MetricGroup& g) { return g.evaluator == r.evaluator && g.slot == r.slot; });
    group.moments.push_back({r.moment, r.label.empty() ? r.moment : r.label, r.epoch});
    add_column(group, r, group.moments.size() - 1);
  }
  for (MetricGroup& group : groups)
    for (MetricRow& row : group.rows) row.values.resize(group.moments.size());
  return groups;
}

std::vector<MetricGroup> metrics_by_run(std::span<const RunRecord> runs) {
  struct Keyed {
    MetricGroup group;
    int nth;
  };
  std::vector<Keyed> found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::map<std::string, int> seen;
    for (const ResultRecord& r : runs[i].results) {
      if (r.moment != "end" || r.metrics.empty()) continue;
      const int nth = seen[r.evaluator]++;
      Keyed& keyed = find_or_add(
          found, Keyed{{r.evaluator, r.slot, {}, {}}, nth},
          [&](const Keyed& k) { return k.group.evaluator == r.evaluator && k.nth == nth; });
      add_column(keyed.group, r, i);
    }
  }
  std::vector<MetricGroup> groups;
  for (Keyed& keyed : found) {
    for (MetricRow& row : keyed.group.rows) row.values.resize(runs.size());
    groups.push_back(std::move(keyed.group));
  }
  return groups;
}

}  // namespace gh::host
