// The columns of a study's tables: which metrics of which evaluators they are, and what a run says
// there.
#pragma once

#include "report/evaluator_series.hpp"
#include "report/run_record.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct StudyColumn {
  std::string evaluator;  // "knn (k = 20)"; empty: no run has such a metric yet
  std::size_t match = 0;  // of the evaluator, among match_evaluators()
  std::string metric;     // "few", "average"
  std::string heading;    // "Few", "Avg"
  bool percent = false;   // of a group of classes: two decimals
  bool no_result() const { return evaluator.empty(); }
};

// What one run says in a column.
struct ColumnValue {
  std::optional<double> value;
  const ResultRecord* result = nullptr;  // null: it has no such evaluator
  std::string how;                       // what was done, in words; may be empty
  std::string definition;                // of the number
};

// The columns for StudySummary::metrics. `matches` are the evaluators of the runs that have
// results, `labels` their names. What no evaluator reports is a column without an evaluator.
std::vector<StudyColumn> study_columns(std::span<const std::string> metrics,
                                       std::span<const EvaluatorMatch> matches,
                                       std::span<const std::string> labels);

ColumnValue column_value(const StudyColumn& column, const EvaluatorSeries* series);

// Why numbers of two runs in one column are not to be put against each other: the definition, a
// parameter of the evaluator, or what was evaluated differs. "" when they are.
std::string incomparable(const ColumnValue& a, const ColumnValue& b);

}  // namespace gh::host
