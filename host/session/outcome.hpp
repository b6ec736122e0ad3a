// How a run came out, in words and in its directory.
#pragma once

#include "ranks/ranks.hpp"
#include "run/run_directory.hpp"

#include <string>
#include <vector>

namespace gh::host {

inline constexpr const char* kLeftAtOnce =
    "left at once at a second signal; what follows the last checkpoint is done again";

// "2 evaluations failed; tsne at end, epoch 160: …", "" where none did.
std::string describe_failed(const std::vector<std::string>& failed);

// Evaluations of the whole run that failed, also of what it did before it was stopped and went on.
// A collective: the first rank knows.
std::vector<std::string> failed_evaluations(const RunDirectory& directory, Ranks& ranks);

// On a full disk this fails too; what is thrown then must stay the first error.
void record_failure(RunDirectory& directory, RunStatus& status, const char* what) noexcept;

}  // namespace gh::host
