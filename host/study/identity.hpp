// What makes the numbers of a run, as a few digits: equal ones are one run, whatever it is called
// and whichever arm asks for it.
//
// In it are the resolved recipe without keys that change no number (recipe/difference.hpp) and
// without train.threads and loader.on_error, which a run may change on its way; the fingerprint of
// the data and of files that the recipe names; name and declared version of each plugin; the seed.
// A rebuilt plugin is the same plugin unless its version says otherwise or builds are strict: who
// compiles again does not want to train again.
#pragma once

#include "recipe/recipe.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace gh::host {

struct PluginVersion {
  std::string name, version, sha256;
};
// Of the plugin that provides a component.
using PluginOf = std::function<PluginVersion(gh_kind kind, const std::string& id)>;

enum class Builds { by_version, strict };

// Everything but the seed, as text: the same for every seed of a row. `data` is the fingerprint.
std::string identity_text(const Recipe& recipe, const std::string& data, const PluginOf& plugin_of,
                          Builds builds);

// The same of the first `epochs` alone (study/sharing.hpp), without what comes in later, such as
// evaluators: of a trunk.
std::string identity_text_until(const Recipe& recipe, int64_t epochs, const std::string& data,
                                const PluginOf& plugin_of, Builds builds);

// 16 hexadecimal digits.
std::string run_id(const std::string& identity_text, int64_t seed);

}  // namespace gh::host
