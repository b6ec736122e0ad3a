// ghhost replay.
#include "plan/refusals.hpp"
#include "session/assembly.hpp"
#include "session/run_identity.hpp"
#include "session/session.hpp"
#include "train/failed_step.hpp"

#include <fmt/format.h>

namespace gh::host {

ReplayOutcome replay_run(const Recipe& recipe, Registry& registry,
                         const std::filesystem::path& run) {
  const TrainPlan plan = read_plan(recipe);
  Process process(plan.process, Process::Company::alone);
  Assembly assembly(recipe, registry, process, plan, {.run = run, .evaluates = false});
  const StepExamination recorded = read_failure(run);
  CheckpointStore store(run, assembly.plan.checkpoints);
  const auto warn = [&](const std::string& text) { process.console.warn(text); };
  const auto from = store.newest(warn);
  if (from) require_own_checkpoint(*from, recorded_identity(run, registry), registry, warn);
  RunDirectory directory = RunDirectory::unwritten(run);
  RunStatus status(directory);
  Loader loader(assembly.train, assembly.plan.views, assembly.plan.seed, assembly.plan.loader);
  Trainer trainer = assembly.trainer(directory, store, status, loader);
  process.console.say(fmt::format("going from {} to step {}",
                                  from ? from->file.filename().string() : "the start",
                                  recorded.step + 1));
  const StepExamination seen = placed_in(
      recipe, [&] { return trainer.replay(from ? &from->content : nullptr, recorded.step); });
  const bool same = seen == recorded;
  return {.same = same,
          .text = summary(seen) +
                  (same ? "\nThe same as in the run, number for number."
                        : "\nNot the same as in the run, which had:\n" + summary(recorded))};
}

}  // namespace gh::host
