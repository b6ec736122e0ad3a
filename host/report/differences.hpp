// What runs do not have in common, resolved to the last default: for comparisons and `ghhost diff`.
#pragma once

#include "report/evaluator_series.hpp"
#include "report/run_record.hpp"

#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct DifferenceRow {
  std::string key;
  std::vector<std::string> values;  // one per run; "" where it has none
};

struct DifferenceGroup {
  std::string id;       // "recipe"
  std::string heading;  // "Recipe"
  std::vector<DifferenceRow> rows;
};

// In this order, those that have rows: recipe, augmentation, evaluation, data, plugins,
// environment, and keys of the recipe that change no number. Evaluators are compared kind by kind
// ("eval.knn.k"), wherever they stand in the recipes.
std::vector<DifferenceGroup> run_differences(std::span<const RunRecord> runs);

// Why the numbers of one evaluator in several runs should not be compared: its parameters, what it
// was put to, and the epoch, where they differ. A sentence each.
std::vector<std::string> protocol_differences(const EvaluatorMatch& match);

}  // namespace gh::host
