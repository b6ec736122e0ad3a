// How far a study is, from what its directory says.
#pragma once

#include "report/study_summary.hpp"
#include "study/job_list.hpp"
#include "study/lease.hpp"

#include <filesystem>

namespace gh::host {

// `leases` may watch for longer: a worker of another machine that fell silent is told from one that
// works only by asking again after its grace period. Throws gh::Error (io, invalid_param) for files
// that cannot be read.
StudySummary summarize(const std::filesystem::path& study, const JobList& jobs, Leases& leases);

// Of all that is left to do, one after the other; nothing where nobody can tell.
std::optional<double> seconds_of_work(const std::filesystem::path& study, const JobList& jobs);

}  // namespace gh::host
