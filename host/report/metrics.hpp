// Metrics of a run or of several, lined up for reading across.
#pragma once

#include "report/evaluator_series.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct MetricRow {
  std::string name;
  std::vector<std::string> definitions;       // distinct ones; more than one is worth a warning
  std::vector<std::optional<double>> values;  // one per column
};

// The rows of one evaluator of the recipe.
struct MetricGroup {
  std::string evaluator;                     // as it is to be called
  std::vector<const ResultRecord*> columns;  // null where a run has no such evaluator
  std::vector<MetricRow> rows;
};

// A group per evaluator that measured something, a column per moment that is shown.
std::vector<MetricGroup> metrics_by_moment(const RunRecord& run);
MetricGroup metrics_by_moment(const EvaluatorSeries& series, std::string label);

// A column per run, values at the last moment of each.
MetricGroup metrics_by_run(const EvaluatorMatch& match, std::string label);

// The second value less the first, where both are there.
std::optional<double> change(const MetricRow& row);

}  // namespace gh::host
