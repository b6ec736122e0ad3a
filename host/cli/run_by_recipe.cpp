#include "cli/run_by_recipe.hpp"

#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "machine/interrupt.hpp"
#include "report/report.hpp"
#include "report/run_record.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include <filesystem>

namespace gh::host {
namespace {

int code_of(const RunOutcome& outcome) {
  if (outcome.interrupted) return kInterrupted;
  if (outcome.until) return kOk;  // evaluations that failed are told of at the end
  return outcome.failed.empty() ? kOk : kEvaluationFailed;
}

}  // namespace

// The report is written even where there was nothing to do: the process may have been killed just
// before that.
int show_outcome(const RunOutcome& outcome, bool json) {
  if (!outcome.first) return code_of(outcome);
  {
    const InterruptGuard interrupts;  // a launcher may repeat the signal that stopped the run
    write_report(outcome.directory);
  }
  const std::filesystem::path report = outcome.directory / "report.html";
  if (json) {
    const bool stopped = outcome.interrupted || outcome.until;
    const nlohmann::ordered_json out = {{"state", stopped ? "interrupted" : "finished"},
                                        {"directory", outcome.directory.string()},
                                        {"report", report.string()},
                                        {"failed_evaluations", outcome.failed}};
    print_result("{}\n", json_text(out, 2));
  } else {
    print_result("{}\nReport: {}\n", summary_text(load_run(outcome.directory)), report.string());
    if (outcome.interrupted)
      print_result("Stopped by a signal. Go on with: ghhost resume {}\n",
                   outcome.directory.string());
    if (outcome.until)
      print_result("Stopped after {} epochs, as was asked. Go on with: ghhost resume {}\n",
                   *outcome.until, outcome.directory.string());
    for (const std::string& reason : outcome.failed) print_message("ghhost: {}\n", reason);
    if (!outcome.failed.empty())
      print_message("Once that is mended, evaluate again with: ghhost eval {}\n",
                    outcome.directory.string());
  }
  return code_of(outcome);
}

int run_by_recipe(const RecipeArguments& recipe, const RunOptions& options,
                  const GlobalOptions& global) {
  Registry registry = open_registry(global);
  const std::optional<Recipe> read =
      read_recipe(recipe.file, recipe.overrides, registry, recipe.scale);
  return read ? show_outcome(run_recipe(*read, registry, options), recipe.json) : kBadRecipe;
}

}  // namespace gh::host
