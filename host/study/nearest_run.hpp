// What makes a run new: the run of the study that is most like it, and what the two have otherwise.
#pragma once

#include "study/study_plan.hpp"

namespace gh::host {

// Fills in PlannedJob::nearest and ::differences of jobs that are new. Compared are runs of the
// plan that are not, and those that were dropped from it, up to a few hundred: its own row under
// another seed first, then those of its arm.
void find_nearest(const std::vector<StudyRow>& rows, const std::filesystem::path& directory,
                  StudyPlan& plan);

}  // namespace gh::host
