// Runs by a recipe, and what is said when they have ended: for run, resume and eval.
#pragma once

#include "cli/command.hpp"
#include "cli/read_recipe.hpp"
#include "session/session.hpp"

namespace gh::host {

// Exit code of a run by this recipe.
int run_by_recipe(const RecipeArguments& recipe, const RunOptions& options,
                  const GlobalOptions& global);

// Writes the report and prints what came of it, as JSON or for people; returns the exit code.
int show_outcome(const RunOutcome& outcome, bool json);

}  // namespace gh::host
