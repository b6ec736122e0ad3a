// What evaluators ask of splits before training: that they are there, have the targets that are
// needed and enough samples. Each complains about `key`, with the numbers on both sides. What the
// host does not know (EvalFacts::split_facts is empty, or the split cannot be opened yet) is not
// complained about twice. Since SDK 1.1.
#pragma once

#include "gh/evaluator.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

#if GH_SDK_MINOR < 1
#error "gh/split_checks.hpp is of SDK 1.1, GH_SDK_TARGET asks for less"
#endif

namespace gh {
inline namespace v1 {

// The data set has the split and can open it.
GH_API bool check_split(const EvalFacts& facts, std::string_view split, std::string_view key,
                        Complaints& out);

// The same, and each sample has a class that the training set knows. False without a complaint
// where the data have no classes at all (EvalFacts::class_targets).
GH_API bool check_labelled_split(const EvalFacts& facts, std::string_view split,
                                 std::string_view key, Complaints& out);

// Samples of each class of the split; null where that is not known.
GH_API const std::vector<int64_t>* class_counts_of(const EvalFacts& facts, std::string_view split);

// The rule can be read, and names no class that the training set does not have.
GH_API void check_groups(const EvalFacts& facts, std::string_view rule, std::string_view key,
                         Complaints& out);

// How many samples training_samples() (gh/classification.hpp) will give; −1: not known. Complains
// about `list_key` where the list cannot be read.
GH_API int64_t count_training_samples(const EvalFacts& facts, std::string_view split, int64_t shots,
                                      std::string_view file, std::string_view list_key,
                                      Complaints& out);

}  // namespace v1
}  // namespace gh
