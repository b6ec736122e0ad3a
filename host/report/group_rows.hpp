// The rows of tables by group of classes: many, medium, few, their spread and the average, as the
// table "groups" of classifying evaluators has them.
#pragma once

#include "report/evaluator_series.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// One evaluation, or the mean of several over seeds.
struct GroupRow {
  std::string run;         // as it is called beside others
  std::string evaluator;   // likewise
  std::string how;         // what was done, in words
  std::string definition;  // of the groups, of Std and Avg
  int64_t epoch = 0;
  std::vector<std::string> columns;                 // "many", "medium", "few", "std", "avg"
  std::vector<std::optional<double>> values;        // percent; empty: the group is
  std::vector<std::optional<double>> spreads = {};  // over seeds; as many as values, or none
  int64_t seeds = 1;
};

// The row of a result; nullopt when it has no table "groups".
std::optional<GroupRow> group_row(const ResultRecord& result);

// A row per evaluator of the run that has one, at its last moment.
std::vector<GroupRow> group_rows(const RunRecord& run, const std::string& run_label);

// The same with one row for runs that differ only in seed and in keys that change no number: mean
// and sample standard deviation (n − 1) over the runs. Throws gh::Error invalid_param when two of
// them have the same seed, or were evaluated at different epochs.
std::vector<GroupRow> mean_group_rows(std::span<const RunRecord> runs);

// Names to tell runs apart: the recipe's, with the directory where several share one, and a number
// where that does not help either.
std::vector<std::string> run_labels(std::span<const RunRecord> runs);
std::vector<std::string> run_labels(std::span<const RunRecord* const> runs);

// A percentage as tables print it: two decimals, "—" for nothing.
std::string format_percent(std::optional<double> value);

// "Many" of "many".
std::string column_heading(const std::string& column);

}  // namespace gh::host
