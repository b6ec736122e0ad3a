// Whether the ranks of a run were started alike, asked as soon as they meet: with other recipes,
// plugins or data they would train something that nobody asked for, or send each other what does
// not fit together.
#pragma once

#include "data/sample_set.hpp"
#include "plugins/registry.hpp"
#include "ranks/agreement.hpp"
#include "ranks/ranks.hpp"
#include "recipe/recipe.hpp"

namespace gh::host {

// Recipe, plugins, program, and `more` of what was typed. Free are keys that only say how a rank
// does its work: name, loader.threads, loader.prefetch, ranks.timeout, train.threads, the number of
// train.device, and where the data lie, whose fingerprint is compared by require_same_samples().
// Throws gh::Error (invalid_param) on every rank, naming what differs.
void require_same_start(Ranks& ranks, const Recipe& recipe, const Registry& registry,
                        at::Device device, Facts more);

// The same for what is trained on.
void require_same_samples(Ranks& ranks, const SampleSet& train);

}  // namespace gh::host
