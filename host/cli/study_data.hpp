// What a study needs to know of data sets and plugins, from those who have them.
#pragma once

#include "plugins/registry.hpp"
#include "study/data_facts.hpp"
#include "study/identity.hpp"

namespace gh::host {

// Opens every split of the recipe's data set, samples are not read. Generated data are those of
// seed 0: of other seeds, the seed is enough to know. A split other than "train" that is not there
// is none.
DataFact read_data_fact(const Recipe& recipe, Registry& registry);

// Components must have been looked up: recipes that name them have been resolved.
PluginOf plugins_of(const Registry& registry);

}  // namespace gh::host
