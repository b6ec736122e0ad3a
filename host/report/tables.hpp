// Tables as HTML. Every table scrolls inside its own box, so a page never becomes wider than the
// screen.
#pragma once

#include "report/group_rows.hpp"
#include "report/metrics.hpp"
#include "report/run_record.hpp"

#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct Column {
  std::string heading;
  std::string detail;  // second, smaller line; may be empty
};

// A plain table; columns whose cells are all numbers are set flush right.
std::string html_table(std::span<const std::string> columns,
                       std::span<const std::vector<std::string>> rows);

// Metrics with their definitions, a column per moment or run. Of two runs, also their difference.
enum class Changes { hidden, shown };
std::string metric_table(const MetricGroup& group, std::span<const Column> columns,
                         Changes changes = Changes::hidden);

// Results by group of classes, the numbers large, under a line of headings for each set of columns.
// What the columns mean is printed below, each meaning once.
struct GroupLine {
  std::string heading, detail;
  GroupRow row;
};
std::string group_table(std::span<const GroupLine> lines);
// The same with numbers of the size of text and no definitions.
std::string compact_group_table(std::span<const GroupLine> lines);

// The tables that an evaluator left, but for "groups", at its last moment, and those of earlier
// moments that are not the same. Long ones are folded and come last.
std::string series_tables(const EvaluatorSeries& series);
std::string earlier_tables(const EvaluatorSeries& series);

// Parameters and fingerprints of splits, folded.
std::string protocol(const EvaluatorSeries& series);

}  // namespace gh::host
