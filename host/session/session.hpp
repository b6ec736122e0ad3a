// A whole run: components from a resolved recipe, data, checks, training, evaluations.
// Under a launcher (torchrun, srun, mpirun) this process is one of its ranks; the first writes.
#pragma once

#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct RunOptions {
  std::filesystem::path out;          // empty: runs/<name>-NNN
  bool resume = false;                // go on with the run that is there; start one where none is
  std::filesystem::path fork = {};    // a run that starts begins with what this one trained
  std::optional<int64_t> until = {};  // epochs of the run after which it stops, to be gone on with
  std::vector<std::string> command;   // as typed, for the record
};

struct RunOutcome {
  std::filesystem::path directory;
  bool interrupted = false;              // by a signal
  std::optional<int64_t> until = {};     // stopped as asked, after so many epochs
  std::vector<std::string> failed = {};  // evaluations without a result, with the reason
  bool first = true;                     // this rank speaks for the run
};

// Opens the data and asks every component what it has against this recipe and these data, as
// run_recipe() does before it trains. Throws as it does; trains and writes nothing.
void check_with_data(const Recipe& recipe, Registry& registry);

// Throws RecipeRefused when components cannot work together, gh::Error otherwise. From the moment
// the run directory exists, whatever is thrown has been written into it first.
RunOutcome run_recipe(const Recipe& recipe, Registry& registry, const RunOptions& options);

enum class Which { newest, best };

// Writes the encoder of a checkpoint of `run` (whose recipe this is) as safetensors. Returns a
// sentence on what was written.
std::string export_run(const Recipe& recipe, Registry& registry, const std::filesystem::path& run,
                       Which which, const std::filesystem::path& out);

// Evaluates by the recipe's [[eval]], without training.
struct EvalOptions {
  std::filesystem::path run;      // whose recipe this is, but for what was overridden; or empty
  std::filesystem::path weights;  // of an encoder, in place of a checkpoint of `run`
  Which which = Which::newest;    // checkpoint
  std::filesystem::path out;      // new directory; empty: results go into `run`, or runs/<name>-NNN
  std::vector<std::string> command;
};
// Throws as run_recipe(), and gh::Error (missing_data) where there are no weights to evaluate,
// (invalid_param) where the recipe asks for other networks than `run` has.
RunOutcome evaluate_run(const Recipe& recipe, Registry& registry, const EvalOptions& options);

// Makes the step again at which the numbers of `run` stopped being finite, starting from its newest
// checkpoint. `same`: with the same outcome, number for number.
struct ReplayOutcome {
  bool same = false;
  std::string text;
};
ReplayOutcome replay_run(const Recipe& recipe, Registry& registry,
                         const std::filesystem::path& run);

}  // namespace gh::host
