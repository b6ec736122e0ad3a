// What may stand where a user of the command line has got to: for `ghhost complete`.
#pragma once

#include "plugins/registry.hpp"

#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct Candidate {
  std::string text;  // in place of the word that is being typed
  std::string doc;   // half a line; may be empty
};
using Candidates = std::vector<Candidate>;

// Directories with `file` in them, by which runs (status.json) and studies (jobs.json) are known:
// those beside what is `typed`, and where no directory has been typed yet, those in `usual`, too.
Candidates directories_with(const char* file, const std::string& typed, const char* usual);

Candidates kinds_of_plugins();

// Ids of components, read from notes: no plugin runs.
Candidates component_ids(const Registry& registry);

// Keys that an override of `recipe` can name, "train.epochs=" or, where it begins with ~, as they
// are; once there is a "=", its values. Loads the plugins that the recipe names. Where the recipe
// cannot be read, the host's own keys.
Candidates overrides_of(const std::string& recipe, std::span<const std::string> earlier,
                        const std::string& typed, Registry& registry);

}  // namespace gh::host
