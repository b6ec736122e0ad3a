#include "cli/study_files.hpp"

#include "files/file_write.hpp"
#include "files/process_mark.hpp"
#include "report/study_page.hpp"
#include "report/study_results.hpp"
#include "report/study_table.hpp"
#include "run/standard_streams.hpp"
#include "study/progress.hpp"
#include "study/worker.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::array kTables = {
    std::pair{"table.md", TableFormat::markdown}, std::pair{"table.tex", TableFormat::latex},
    std::pair{"table.csv", TableFormat::csv}, std::pair{"table.json", TableFormat::json}};

// Under a name that nobody else uses first: workers end at the same time.
void publish(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  const fs::path own = file.parent_path() / fmt::format(".{}-{}-{}", machine_name(), ::getpid(),
                                                        file.filename().string());
  write(own);
  fs::rename(own, file);
}

}  // namespace

void write_study_files(const StudySummary& study) {
  try {
    publish(study.directory / "study.html",
            [&](const fs::path& file) { write_study_page(study, file); });
    const StudyResults results = study_results(study, load_study_runs(study, ForCurves::no));
    for (const auto& [name, format] : kTables)
      publish(study.directory / name, [&, format = format](const fs::path& file) {
        write_file_atomically(file, study_table(study, results, format));
      });
  } catch (const std::exception& error) {
    print_message("The study's page and tables are not written: {}\n", error.what());
  }
}

StudyFiles::StudyFiles(const fs::path& study, const JobList& jobs) : study_(study), jobs_(jobs) {}

void StudyFiles::update() {
  const Clock::time_point begun = Clock::now();
  if (begun < next_) return;
  try {
    Leases leases(leases_of(study_));
    write_study_files(summarize(study_, jobs_, leases));
  } catch (const Error&) {  // whoever works will come upon it, too
  }
  const Clock::time_point now = Clock::now();
  next_ = now + std::max<Clock::duration>(std::chrono::minutes(1), 100 * (now - begun));
}

}  // namespace gh::host
