// Whether two runs were trained alike: their metrics epoch by epoch, and the newest checkpoint that
// both have.
#pragma once

#include "report/run_record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct MetricDifference {
  std::string name;
  std::optional<double> a, b;  // empty where a run has no such metric
};

struct TensorDifference {
  std::string name;
  std::optional<double> largest;  // |A − B|; empty: `problem` says why there is none
  std::string problem;            // "only in A", "[3] and [4]"
};

struct TrainingDiff {
  // metrics.jsonl
  bool same_metrics = false;              // the same bytes
  std::vector<std::size_t> epochs;        // of each run
  EpochRecord first;                      // the first epoch in which they differ, of A
  std::vector<MetricDifference> metrics;  // in that epoch; empty: one just goes on for longer

  // checkpoints/
  std::optional<int64_t> step;              // the newest of both; empty: none in common
  bool same_checkpoint = false;             // the same bytes
  std::size_t tensors = 0;                  // in either
  std::vector<TensorDifference> differing;  // largest difference first
  std::string problem;                      // why checkpoints could not be compared, else ""

  bool same_results = false;  // the same files of results/, those made afterwards aside

  // Every byte that does not depend on the clock, as far as a run writes such.
  bool identical() const {
    return same_metrics && same_checkpoint && same_results && (epochs[0] > 0 || step);
  }
};

// Reads metrics.jsonl, checkpoints/ and results/ of both.
TrainingDiff training_diff(std::span<const RunRecord, 2> runs);

// A part of `ghhost diff`, with a heading.
std::string training_text(const TrainingDiff& diff);
nlohmann::ordered_json training_json(const TrainingDiff& diff);

}  // namespace gh::host
