// What evaluators that name a class for every sample have in common: which split, which groups, and
// what is told of the outcome.
//
//   constexpr gh::Param kParams[] = {GH_CLASSIFICATION_PARAMS, …};
//   settings_ = gh::read_classification(params);                     // constructor
//   gh::check_classification(settings_, facts, out);                 // check()
//   gh::report_classification(evaluation, settings_, {ranked, …});   // evaluate()
#pragma once

#include "gh/evaluator.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#define GH_CLASSIFICATION_PARAMS                                                             \
  ::gh::text("split", "\"test\"", "what is classified"),                                     \
      ::gh::text(                                                                            \
          "groups", "\"terciles\"",                                                          \
          "classes by training samples: terciles, deciles, shots(100,20), lists(0-3; 4-9)"), \
      ::gh::choice("missing", "refuse", "refuse|leave-out",                                  \
                   "classes without a sample in the split are an error, or count nowhere")

namespace gh {
inline namespace v1 {

struct ClassificationSettings {
  std::string split, groups;
  // Classes that the split does not have.
  bool leave_out = false;
};

GH_API ClassificationSettings read_classification(const Params& params);
// Class labels, the split and the rule for groups must be there.
GH_API void check_classification(const ClassificationSettings& settings, const EvalFacts& facts,
                                 Complaints& out);

// The outcome for the samples of settings.split, in its order.
struct Classified {
  // [n, r] int64: r ≥ 1 classes of each sample, likeliest first.
  at::Tensor ranked;
  // [n] int64.
  at::Tensor targets;
  // May be empty.
  std::vector<std::string> class_names;
};

// The r largest of each row, largest first, of equal ones the lower column first: [n, C] → [n, r],
// with r = min(5, C).
GH_API at::Tensor ranked_classes(const at::Tensor& scores);

// Metrics accuracy, top5 (where ranked has five columns), average, deviation and one for each
// group; the table "groups" (one row, which reports and paper tables are made from), "confusion"
// between groups and "classes"; pictures "classes" (accuracy by class size) and "confusion". All in
// percent. `how` says in a few words what was done. Throws Error missing_data naming classes that
// the split does not have, unless settings.leave_out.
GH_API void report_classification(Evaluation& evaluation, const ClassificationSettings& settings,
                                  const Classified& outcome, std::string_view how);

// Which training samples a classifier may learn from: `shots` of each class drawn by `random` (0:
// all; a class with fewer gives all it has), or those that `file` names ("": none). [n] int64
// positions in `split`, ascending; undefined: all of it.
GH_API at::Tensor training_samples(Evaluation& evaluation, std::string_view split, int64_t shots,
                                   std::string_view file);

}  // namespace v1
}  // namespace gh
