#include "gh/split_checks.hpp"

#include "gh/class_groups.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <string>

namespace gh {
inline namespace v1 {
namespace {

std::string quoted(std::string_view split) { return "split '" + std::string(split) + "'"; }

}  // namespace

const std::vector<int64_t>* class_counts_of(const EvalFacts& facts, std::string_view split) {
  for (std::size_t i = 0; i < facts.split_facts.size() && i < facts.class_counts.size(); ++i)
    if (facts.split_facts[i].name == split && facts.split_facts[i].targets == TargetKind::classes)
      return &facts.class_counts[i];
  return nullptr;
}

bool check_split(const EvalFacts& facts, std::string_view split, std::string_view key,
                 Complaints& out) {
  if (std::find(facts.splits.begin(), facts.splits.end(), split) == facts.splits.end()) {
    std::string names;
    for (const std::string& name : facts.splits) names += (names.empty() ? "" : ", ") + name;
    out.add(key, "the data set has no " + quoted(split) + "; it has " + names);
    return false;
  }
  if (facts.split_facts.empty() || facts_of(facts, split)) return true;
  out.add(key, quoted(split) + " of the data set cannot be opened");
  return false;
}

bool check_labelled_split(const EvalFacts& facts, std::string_view split, std::string_view key,
                          Complaints& out) {
  // Data without any classes are the evaluator's to complain about, once.
  if (!check_split(facts, split, key, out) || !facts.class_targets) return false;
  const SplitFacts* const known = facts_of(facts, split);
  if (!known) return true;
  if (known->targets != TargetKind::classes) {
    out.add(key, quoted(split) + " has no class labels, which are needed here");
    return false;
  }
  const SplitFacts* const train = facts_of(facts, "train");
  if (!train || train->targets != TargetKind::classes || known->classes <= train->classes)
    return true;
  out.add(key, quoted(split) + " has the label " + std::to_string(known->classes - 1) +
                   ", which is none of the training set's " + std::to_string(train->classes) +
                   " classes; the splits of the data set do not belong together");
  return false;
}

void check_groups(const EvalFacts& facts, std::string_view rule, std::string_view key,
                  Complaints& out) {
  const std::vector<int64_t>* const counts = class_counts_of(facts, "train");
  if (!counts) return check_class_groups(rule, key, out);
  try {
    class_groups(rule, at::tensor(*counts, at::kLong));
  } catch (const Error& error) {
    out.add(key, error.what());
  }
}

int64_t count_training_samples(const EvalFacts& facts, std::string_view split, int64_t shots,
                               std::string_view file, std::string_view list_key, Complaints& out) {
  const SplitFacts* const known = facts_of(facts, split);
  if (!known) return -1;
  if (!file.empty()) {
    if (!facts.positions) return -1;
    try {
      return facts.positions(split, file).numel();
    } catch (const Error& error) {
      out.add(list_key, error.what());
      return -1;
    }
  }
  if (shots == 0) return known->samples;
  const std::vector<int64_t>* const counts = class_counts_of(facts, split);
  if (!counts) return -1;
  int64_t sum = 0;
  for (const int64_t count : *counts) sum += std::min(count, shots);
  return sum;
}

}  // namespace v1
}  // namespace gh
