// ghhost run and resume.
#include "machine/interrupt.hpp"
#include "plan/refusals.hpp"
#include "session/assembly.hpp"
#include "session/describing.hpp"
#include "session/harmony.hpp"
#include "session/opening.hpp"
#include "session/outcome.hpp"
#include "session/same_start.hpp"
#include "session/session.hpp"
#include "train/last_batch.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

// What follows from a last batch of one sample, if there is one.
void check_last_batch(Assembly& run) {
  const std::string text = lone_last_sample(run.plan, run.train.size());
  if (text.empty()) return;
  TensorFile state;
  StateSaver saver(state, "method");
  run.components.method.call("visit_state", &SslMethod::visit_state, saver);
  if (takes_batch_statistics(state))
    throw RecipeRefused(run.recipe, "train.batch", text + ". Batch normalisation needs two");
  run.log.say(Severity::warning, text + ". Losses that compare samples learn nothing from it");
}

enum class Ending { finished, stopped_by_signal, reached_what_was_asked };

Ending train(Assembly& run, RunDirectory& directory, RunStatus& status,
             const std::optional<Checkpoint>& from, std::optional<int64_t> until) {
  Loader loader(run.train, run.plan.views, run.plan.seed, run.plan.loader);
  CheckpointStore checkpoints(directory.path(), run.plan.checkpoints);
  Trainer trainer = run.trainer(directory, checkpoints, status, loader);
  const bool finished = placed_in(run.recipe, [&] {
    return trainer.train(
        from ? &from->content : nullptr,
        [&] {
          if (directory.written()) checkpoints.go_on_from(*from);
        },
        until);
  });
  const bool reached = !finished && trainer.reached();
  if (reached && directory.written()) checkpoints.keep_newest();
  run.process.console.finish();
  if (const auto pictures = run.notebook.all_pictures(); !pictures.empty())
    directory.write_result(
        {{"evaluator", run.components.method.slot.id}, {"moment", "end"}, {"label", "training"}},
        pictures);
  write_harmony(run, directory, trainer.epochs_done(), trainer.harmonized());
  return finished  ? Ending::finished
         : reached ? Ending::reached_what_was_asked
                   : Ending::stopped_by_signal;
}

RunOutcome outcome_of(Ending ending, const RunDirectory& directory, RunStatus& status, Ranks& ranks,
                      std::optional<int64_t> until) {
  RunOutcome out{.directory = directory.path(), .first = ranks.first()};
  out.failed = failed_evaluations(directory, ranks);
  if (ending == Ending::finished) {
    status.ended("finished", describe_failed(out.failed));
  } else if (ending == Ending::reached_what_was_asked) {
    out.until = until;
    status.ended("interrupted", fmt::format("stopped after {} epochs, as was asked", *until));
  } else {
    out.interrupted = true;
    status.ended("interrupted", "stopped by a signal");
  }
  return out;
}

// What was thrown on the way is written down before it goes on up.
RunOutcome train_and_record(Assembly& run, Opened& opened, const RunOptions& options) {
  RunDirectory& directory = opened.directory;
  Ranks& ranks = *run.process.ranks;
  RunStatus status(directory);
  InterruptGuard interrupts;  // goes before what its last words need
  interrupts.last_words([&] { status.ended("interrupted", kLeftAtOnce); });
  try {
    if (opened.from)
      run.log.say(Severity::info, fmt::format("going on from {}", opened.from->file.string()));
    else
      describe_run(run, directory, options.command);
    if (opened.fork) opened.from = fork_into(*opened.fork, run, directory);
    const Ending ending = train(run, directory, status, opened.from, options.until);
    return outcome_of(ending, directory, status, ranks, options.until);
  } catch (const std::exception& error) {
    run.process.console.finish();
    // Another rank left in the middle of something when it was told to stop, as this one was.
    if (run.plan.world > 1 && interrupted()) {
      status.ended("interrupted", error.what());
      fail(ErrorCode::interrupted,
           "stopped by a signal; what follows the last checkpoint is done "
           "again: ",
           error.what());
    }
    record_failure(directory, status, error.what());
    throw;
  }
}

// What ranks have to agree on.
std::string command_of(const RunOptions& options) {
  std::string out = options.resume ? "run --resume" : "run";
  if (options.until) out += fmt::format(" --until {}", *options.until);
  if (!options.fork.empty()) out += fmt::format(" --fork {}", options.fork.string());
  return out;
}

RunOutcome run_assembly(Assembly& run, const RunOptions& options) {
  check_last_batch(run);
  Opened opened = open_run(run, options);
  const RunDirectory& directory = opened.directory;
  run.log.write_into(opened.directory);
  if (const std::string& text = directory.lock_warning(); !text.empty())
    run.log.say(Severity::warning, text);
  if (!opened.finished) return train_and_record(run, opened, options);
  run.log.say(Severity::info, directory.path().string() + " is finished; nothing to go on with");
  Ranks& ranks = *run.process.ranks;
  return {.directory = directory.path(),
          .failed = failed_evaluations(directory, ranks),
          .first = ranks.first()};
}

}  // namespace

RunOutcome run_recipe(const Recipe& recipe, Registry& registry, const RunOptions& options) {
  const TrainPlan plan = read_plan(recipe);
  Process process(plan.process, Process::Company::as_launched);
  require_same_start(*process.ranks, recipe, registry, process.device,
                     {{"command", command_of(options)}});
  Assembly run(recipe, registry, process, plan, {.run = run_to_resume(options, plan.name)});
  RunOutcome outcome = run_assembly(run, options);
  process.ranks->leave();
  return outcome;
}

void check_with_data(const Recipe& recipe, Registry& registry) {
  const TrainPlan plan = read_plan(recipe);
  Process process(plan.process, Process::Company::alone, at::kCPU);
  process.hears_data = false;  // whoever looked at the data before has heard it
  const Assembly checked(recipe, registry, process, plan, {});
}

}  // namespace gh::host
