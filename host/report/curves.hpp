// Scalars of metrics.jsonl and metrics of evaluators as line plots.
#pragma once

#include "report/evaluator_series.hpp"
#include "report/run_record.hpp"

#include "gh/plot.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// The metrics of an evaluator over the epochs, not finite where they were not; a series each.
std::vector<PlotSeries> metric_curves(const EvaluatorSeries& series);

// Every logged scalar over the epochs; those of later stages follow those of earlier ones.
std::map<std::string, PlotSeries> scalar_curves(const RunRecord& run);

// Every scalar over the epochs: losses in one plot, the learning rate in its own, others with those
// that share their first word and their scale. What never changed is a sentence. Marks the end of
// warm-up and, in a run of several stages, their boundaries. "" when nothing was logged.
std::string run_curves(const RunRecord& run);

// Metrics of evaluators that work at regular moments, over the epochs. "" when there are none.
std::string evaluation_curves(const RunRecord& run);

// Each scalar of several runs in one plot, losses first; "" when nothing was logged.
std::string compared_curves(std::span<const RunRecord> runs, std::span<const std::string> labels);

// Metrics over the epochs, a line per run; `evaluators` are the names of the matches.
std::string compared_evaluation_curves(std::span<const EvaluatorMatch> matches,
                                       std::span<const std::string> evaluators,
                                       std::span<const std::string> labels);

}  // namespace gh::host
