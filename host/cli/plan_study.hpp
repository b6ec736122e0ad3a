// Planning a study from the command line: `ghhost study plan`, and whoever trains one by its file.
#pragma once

#include "cli/command.hpp"
#include "study/study_plan.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace gh::host {

struct StudyToPlan {
  std::string file, out, scale;  // as typed; empty: the default, none
  bool strict_builds = false;
  bool no_calibration = false;
};

// `study` says what STUDY may be.
void declare_planning(Options& options, StudyToPlan& wanted, const char* study);

struct PlannedStudy {
  std::filesystem::path directory;  // absolute; workers need nothing else
  StudyPlan plan;
};

// Writes the directory. Nothing comes back of a study with mistakes, which have been printed.
std::optional<PlannedStudy> plan_study(const StudyToPlan& wanted, const GlobalOptions& global);

}  // namespace gh::host
