// The evaluators of a run, each with its results over time, and which of those are shown.
#pragma once

#include "report/run_record.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// One evaluator with one set of parameters. Points into the RunRecord it was made from.
struct EvaluatorSeries {
  std::string evaluator, slot;
  Pairs params;
  std::vector<const ResultRecord*> results;  // by epoch; never empty

  // What tables and pictures show: start, warm-up, end, but of the regular moments ("epoch") only
  // one that is the newest there is. Never empty.
  std::vector<const ResultRecord*> shown() const;
  const ResultRecord& last() const { return *results.back(); }
  // Evaluated at regular moments: its metrics are curves.
  bool regular() const;
};

std::vector<EvaluatorSeries> evaluator_series(const RunRecord& run);

// A name for each: the evaluator's, with the parameters in which it differs from others of its
// kind: "knn (k = 20)".
std::vector<std::string> evaluator_labels(std::span<const EvaluatorSeries> series);

// Evaluators of several runs that stand beside each other: of one kind, with equal parameters where
// there are such, otherwise in their order.
struct EvaluatorMatch {
  std::string evaluator;
  std::vector<const EvaluatorSeries*> of_run;  // one per run; null where it has none
  const EvaluatorSeries& first() const;        // of the first run that has one
};
// `series` holds the evaluator_series() of each run.
std::vector<EvaluatorMatch> match_evaluators(std::span<const std::vector<EvaluatorSeries>> series);

// evaluator_labels() of what stands beside each other.
std::vector<std::string> match_labels(std::span<const EvaluatorMatch> matches);

// The moment in words: its label or name.
std::string moment_label(const ResultRecord& result);
// "epoch 60" to stand beside a label; "" where the label says it already.
std::string epoch_beside(const std::string& label, int64_t epoch);

// "—" where there is no such key.
std::string pair_value(const Pairs& pairs, std::string_view key);

// Null when the result has none of that name.
const TableRecord* find_table(const ResultRecord& result, std::string_view name);
const MetricRecord* find_metric(const ResultRecord& result, std::string_view name);

}  // namespace gh::host
