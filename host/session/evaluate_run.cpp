// ghhost eval: what [[eval]] finds, without training.
#include "machine/interrupt.hpp"
#include "session/assembly.hpp"
#include "session/describing.hpp"
#include "session/opening.hpp"
#include "session/outcome.hpp"
#include "session/restoring.hpp"
#include "session/same_run.hpp"
#include "session/same_start.hpp"
#include "session/session.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

using Facts = nlohmann::ordered_json;

RunOutcome evaluate_all(Assembly& run, RunDirectory& directory, std::optional<RunStatus>& status,
                        const Restored& restored, const Facts& facts) {
  try {
    const std::vector<std::string> failed =
        run.evaluators(status ? &*status : nullptr)
            .run_afterwards(directory, restored.epochs, restored.harmonized, facts);
    if (status)
      status->ended("finished",
                    failed.empty() ? "evaluated without training" : describe_failed(failed));
    return {.directory = directory.path(), .failed = failed, .first = run.process.ranks->first()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted && status)
      status->ended("interrupted", "stopped by a signal");
    else if (status)
      record_failure(directory, *status, error.what());
    throw;
  } catch (const std::exception& error) {
    if (status) record_failure(directory, *status, error.what());
    throw;
  }
}

RunOutcome evaluate_afterwards(Assembly& run, const EvalOptions& options) {
  require(!run.components.evaluators.empty(), ErrorCode::invalid_param,
          "the recipe has no [[eval]]; add one, as in '+eval={id=\"…\"}' (ghhost plugins list)");
  Facts facts = {{"weights", options.weights.string()}, {"changed", Facts::object()}};
  if (!options.run.empty())
    for (const Difference& d : changes_since(options.run, run.recipe, run.registry))
      facts["changed"][d.key] = d.is;
  Restored restored;
  if (options.weights.empty()) {
    restored = restore(run, options.run, options.which);
    facts["weights"] = restored.file.filename().string();
  }
  const bool into_run = options.out.empty() && !options.run.empty();
  RunDirectory directory =
      open_for_results(run, into_run ? ResultsGo::into_run : ResultsGo::into_new, options);
  run.log.write_into(directory);
  run.log.say(Severity::info, fmt::format("evaluating {} → {}", facts["weights"].get<std::string>(),
                                          directory.path().string()));
  std::optional<RunStatus> status;  // a run that is evaluated keeps its own
  InterruptGuard interrupts;        // goes before what its last words need
  if (!into_run) {
    status.emplace(directory);
    interrupts.last_words([&] { status->ended("interrupted", kLeftAtOnce); });
    describe_run(run, directory, options.command);
  }
  return evaluate_all(run, directory, status, restored, facts);
}

}  // namespace

RunOutcome evaluate_run(const Recipe& recipe, Registry& registry, const EvalOptions& options) {
  const TrainPlan plan = read_plan(recipe);
  Process process(plan.process, Process::Company::as_launched);
  require_same_start(*process.ranks, recipe, registry, process.device,
                     {{"command", options.which == Which::best ? "eval --best" : "eval"},
                      {"--weights", options.weights.empty() ? "no" : "yes"}});
  Assembly run(recipe, registry, process, plan, {.run = options.run, .encoder = options.weights});
  RunOutcome outcome = evaluate_afterwards(run, options);
  process.ranks->leave();
  return outcome;
}

}  // namespace gh::host
