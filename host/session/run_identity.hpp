// Which run a checkpoint is of. Recipe and data are written into each, so that one that came from
// another directory is not taken for this run's.
#pragma once

#include "data/sample_set.hpp"
#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"
#include "run/checkpoint_store.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace gh::host {

struct RunIdentity {
  Table recipe;      // resolved
  std::string data;  // JSON with the fingerprints of what is trained on; empty: not known

  // For the metadata of a checkpoint. The same for runs that must have the same checkpoints.
  std::map<std::string, std::string> metadata() const;
};

RunIdentity identity_of(const Recipe& recipe, const SampleSet& train);
// By what `run` says of itself.
RunIdentity recorded_identity(const std::filesystem::path& run, Registry& registry);

// Throws gh::Error (invalid_param) naming the keys in which the checkpoint's run is another; warns
// of one that does not say, as those of versions before 1.1.
void require_own_checkpoint(const Checkpoint& checkpoint, const RunIdentity& run,
                            Registry& registry,
                            const std::function<void(const std::string&)>& warn);

}  // namespace gh::host
