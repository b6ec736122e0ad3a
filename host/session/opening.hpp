// The directory of a run: a new one, or one to go on with. The first rank opens it and tells the
// others where it is and which checkpoint to read.
#pragma once

#include "run/checkpoint_store.hpp"
#include "run/run_directory.hpp"
#include "session/forking.hpp"
#include "session/session.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace gh::host {

struct Assembly;

// Where `--resume` looks; empty without it.
std::filesystem::path run_to_resume(const RunOptions& options, const std::string& name);

struct Opened {
  RunDirectory directory;
  std::optional<Checkpoint> from = {};  // to go on from
  std::optional<ForkPoint> fork = {};   // or to begin with
  bool finished = false;                // nothing to go on with
};

// Throws gh::Error as require_same_run(), require_own_checkpoint() and find_fork_point().
Opened open_run(Assembly& run, const RunOptions& options);

// For evaluations without training: the run's own directory, or a new one.
enum class ResultsGo { into_run, into_new };
RunDirectory open_for_results(const Assembly& run, ResultsGo where, const EvalOptions& options);

}  // namespace gh::host
