// Two runs against each other: every resolved difference, where their training parts, their
// results.
#pragma once

#include "report/run_record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

namespace gh::host {

// For a terminal. Differences stand under headings, then the first epoch in which metrics differ
// and the tensors in which the newest common checkpoint does, then each evaluator's metrics at the
// last moment with b − a, after a warning where protocol, data or moment are not the same. Ends
// with a newline.
std::string diff_text(std::span<const RunRecord, 2> runs);

// {"a": directory, "b": …, "differences": {"recipe": [{"key", "a", "b"}], …}, "training":
// {"identical", "metrics", "checkpoint", "results"}, "results": [{"evaluator", "warnings",
// "metrics": [{"name", "a", "b", "difference"}]}]}; null where a run has no value.
nlohmann::ordered_json diff_json(std::span<const RunRecord, 2> runs);

}  // namespace gh::host
