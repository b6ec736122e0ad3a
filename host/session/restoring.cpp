#include "session/restoring.hpp"

#include "session/assembly.hpp"
#include "session/run_identity.hpp"

#include "gh/error.hpp"

namespace gh::host {

Restored restore(Assembly& assembly, const std::filesystem::path& run, Which which) {
  CheckpointStore store(run, assembly.plan.checkpoints);
  const auto warn = [&](const std::string& text) { assembly.process.console.warn(text); };
  const auto from = which == Which::best ? store.best() : store.newest(warn);
  require(from.has_value(), ErrorCode::missing_data, run.string(),
          which == Which::best ? " has no best checkpoint; set checkpoint.best in its recipe"
          : store.files().empty()
              ? " has no checkpoint: it was stopped before its first. Go on with it (ghhost "
                "resume), or give weights of a file"
              : " has no sound checkpoint");
  require_own_checkpoint(*from, recorded_identity(run, assembly.registry), assembly.registry, warn);
  RunDirectory directory = RunDirectory::unwritten(run);
  RunStatus status(directory);
  Loader loader(assembly.train, assembly.plan.views, assembly.plan.seed, assembly.plan.loader);
  Trainer trainer = assembly.trainer(directory, store, status, loader);
  trainer.restore_only(from->content);
  return {from->file, trainer.epochs_done(), trainer.harmonized()};
}

}  // namespace gh::host
