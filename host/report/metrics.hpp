// Metrics of a run or of several, lined up for reading across.
#pragma once

#include "report/run_record.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// When something was evaluated.
struct Moment {
  std::string name;   // "warm-up"
  std::string label;  // "SimCLR warm-up"; the name when the run gave none
  int64_t epoch = 0;
};

// "epoch 60" to stand beside a label; "" where the label says it already.
std::string epoch_beside(const std::string& label, int64_t epoch);

struct MetricRow {
  std::string name;
  std::vector<std::string> definitions;       // distinct ones; more than one is worth a warning
  std::vector<std::optional<double>> values;  // one per column
};

// The rows of one evaluator of the recipe.
struct MetricGroup {
  std::string evaluator;
  std::string slot;             // of the first run
  std::vector<Moment> moments;  // the columns, when they are moments
  std::vector<MetricRow> rows;
};

// A column per moment at which the evaluator reported.
std::vector<MetricGroup> metrics_by_moment(const RunRecord& run);

// A column per run, values at the moment named "end". The n-th evaluator of a kind in one run
// stands beside the n-th of that kind in another.
std::vector<MetricGroup> metrics_by_run(std::span<const RunRecord> runs);

}  // namespace gh::host
