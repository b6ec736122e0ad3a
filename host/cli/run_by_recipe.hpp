// Runs by a recipe, and what is said when they have ended: for run, resume and eval.
#pragma once

#include "cli/command.hpp"
#include "session/session.hpp"

#include <string>
#include <vector>

namespace gh::host {

// Exit code of a run by the recipe in this file.
int run_by_recipe(const std::string& recipe, const std::vector<std::string>& overrides,
                  const RunOptions& options, const GlobalOptions& global, bool json,
                  const std::string& scale = {});

// Writes the report and prints what came of it, as JSON or for people; returns the exit code.
int show_outcome(const RunOutcome& outcome, bool json);

}  // namespace gh::host
