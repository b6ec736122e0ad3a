#include "cli/study_files.hpp"

#include "files/file_write.hpp"
#include "report/study_page.hpp"
#include "report/study_results.hpp"
#include "report/study_table.hpp"
#include "run/standard_streams.hpp"
#include "study/progress.hpp"
#include "study/worker.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kPage = "study.html";
constexpr std::array kTables = {
    std::pair{"table.md", TableFormat::markdown}, std::pair{"table.tex", TableFormat::latex},
    std::pair{"table.csv", TableFormat::csv}, std::pair{"table.json", TableFormat::json}};

}  // namespace

void write_study_files(const StudySummary& study) {
  try {
    write_study_page(study, study.directory / kPage);
    const StudyResults results = study_results(study, load_study_runs(study, ForCurves::no));
    for (const auto& [name, format] : kTables)
      write_shared_file(study.directory / name, study_table(study, results, format));
  } catch (const std::exception& error) {
    print_message("The study's page and tables are not written: {}\n", error.what());
  }
}

StudyFiles::StudyFiles(const fs::path& study, const JobList& jobs)
    : study_(study), jobs_(jobs), seen_(page_time()) {}

fs::file_time_type StudyFiles::page_time() const {
  std::error_code none;
  return fs::last_write_time(study_ / kPage, none);
}

void StudyFiles::update() {
  const Clock::time_point begun = Clock::now();
  if (begun < next_) return;
  // Written since by another worker: that will do. Compared with itself, as clocks may differ.
  if (const auto written = page_time(); written == seen_) {
    try {
      Leases leases(leases_of(study_));
      write_study_files(summarize(study_, jobs_, leases));
    } catch (const Error&) {  // whoever works will come upon it, too
    }
  }
  seen_ = page_time();
  const Clock::time_point now = Clock::now();
  next_ = now + std::max<Clock::duration>(std::chrono::minutes(1), 100 * (now - begun));
}

}  // namespace gh::host
