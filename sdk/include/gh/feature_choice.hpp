// What evaluators that look at features by groups of classes have in common: whose features, of
// which level, and which groups. Since SDK 1.1.
//
//   constexpr gh::Param kParams[] = {GH_FEATURE_PARAMS("which samples", "backbone"), …};
//   chosen_ = gh::read_features(params);                                        // constructor
//   gh::check_class_features(facts, chosen_, "means need class labels", out);   // check()
//   evaluation.features({.level = chosen_.level, .split = chosen_.split});      // evaluate()
#pragma once

#include "gh/class_groups.hpp"
#include "gh/evaluator.hpp"
#include "gh/params.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#define GH_TRAIN_SPLIT_PARAM(whose) \
  ::gh::text("split", "\"train\"", whose "; train is the thinned training set")
#define GH_GROUPS_PARAM                \
  ::gh::text("groups", "\"terciles\"", \
             "classes by training samples: terciles, deciles, shots(100,20), lists(0-3; 4-9)")
#define GH_LEVEL_PARAM(level) ::gh::choice("level", level, "backbone|embedding", "which features")
// The three in this order.
#define GH_FEATURE_PARAMS(whose, level) \
  GH_TRAIN_SPLIT_PARAM(whose), GH_GROUPS_PARAM, GH_LEVEL_PARAM(level)

namespace gh {
inline namespace v1 {

inline FeatureLevel feature_level(const Params& params) {
  return params.text("level") == "embedding" ? FeatureLevel::embedding : FeatureLevel::backbone;
}
// Of the two that "level" chooses from.
inline std::string level_name(FeatureLevel level) {
  return level == FeatureLevel::embedding ? "embedding" : "backbone";
}

struct FeatureChoice {
  std::string split, groups;
  FeatureLevel level = FeatureLevel::backbone;
};

// From "split", "groups" and "level".
inline FeatureChoice read_features(const Params& params) {
  return {std::string(params.text("split")), std::string(params.text("groups")),
          feature_level(params)};
}

// The split and the groups are there.
inline void check_features(const EvalFacts& facts, const FeatureChoice& chosen, Complaints& out) {
  check_split(facts, chosen.split, "split", out);
  check_groups(facts, chosen.groups, "groups", out);
}
// And each sample has a class. Where the data have none the complaint is `why`; false: there is no
// more to be checked about the split.
inline bool check_class_features(const EvalFacts& facts, const FeatureChoice& chosen,
                                 std::string_view why, Complaints& out) {
  check_groups(facts, chosen.groups, "groups", out);
  if (!facts.class_targets) out.add(".data", why);
  return check_labelled_split(facts, chosen.split, "split", out);
}

// Positions of a group's samples, [n] int64 ascending; `targets` [N] int64.
inline at::Tensor samples_of(const ClassGroup& group, const at::Tensor& targets) {
  std::vector<int64_t> members;
  const auto label = targets.accessor<int64_t, 1>();
  for (int64_t i = 0; i < targets.numel(); ++i)
    if (std::find(group.classes.begin(), group.classes.end(), label[i]) != group.classes.end())
      members.push_back(i);
  return at::tensor(members, at::kLong);
}

}  // namespace v1
}  // namespace gh
