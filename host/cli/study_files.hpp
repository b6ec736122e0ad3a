// What a study shows of itself in its directory: study.html and table.{md,tex,csv,json}.
#pragma once

#include "report/study_summary.hpp"
#include "study/job_list.hpp"

#include <chrono>
#include <filesystem>

namespace gh::host {

// Page and tables as things stand. Several may do so at the same time. What cannot be written is a
// message: runs are worth more than what is shown of them.
void write_study_files(const StudySummary& study);

// Writes them while others wait: so seldom that it takes less than a hundredth of the time.
class StudyFiles {
 public:
  // Both outlive this.
  StudyFiles(const std::filesystem::path& study, const JobList& jobs);
  void update();  // once a minute at most

 private:
  const std::filesystem::path& study_;
  const JobList& jobs_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace gh::host
