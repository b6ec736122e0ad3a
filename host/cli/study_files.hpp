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

// Writes them while runs go on: so seldom that it takes less than a hundredth of the time, and of
// several workers one is enough.
class StudyFiles {
 public:
  // Both outlive this.
  StudyFiles(const std::filesystem::path& study, const JobList& jobs);
  void update();  // once a minute at most

 private:
  std::filesystem::file_time_type page_time() const;

  const std::filesystem::path& study_;
  const JobList& jobs_;
  std::chrono::steady_clock::time_point next_{};
  std::filesystem::file_time_type seen_{};  // when the page was written, the last time this looked
};

}  // namespace gh::host
