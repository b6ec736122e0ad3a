// Scalars of metrics.jsonl as line plots.
#pragma once

#include "report/run_record.hpp"

#include <span>
#include <string>

namespace gh::host {

// Every scalar over the epochs: losses in one plot, the learning rate in its own, others with those
// that share their first word and their scale. What never changed is a sentence. Marks the end of
// warm-up and, in a run of several stages, their boundaries. "" when nothing was logged.
std::string run_curves(const RunRecord& run);

// The scalar `name` of every run in one plot; "" when no run has it.
std::string compared_curves(std::span<const RunRecord> runs, std::span<const std::string> labels,
                            const std::string& name);

}  // namespace gh::host
