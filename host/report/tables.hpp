// Tables as HTML. Every table scrolls inside its own box, so a page never becomes wider than the
// screen.
#pragma once

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

// Metrics with their definitions, a column per moment or run.
std::string metric_table(const MetricGroup& group, std::span<const Column> columns);

// The tables that evaluators left, the same one at successive moments side by side.
std::string run_tables(const RunRecord& run);

}  // namespace gh::host
