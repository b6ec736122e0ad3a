// What a study is and how far its runs are, as its tables, its page and `status` need it: plain
// values. host/study fills them from a study directory; nobody here reads one.
#pragma once

#include "report/run_record.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

enum class ArmState { fresh, running, done, failed, resumable };

// "new", "running", "done", "failed", "resumable".
std::string_view arm_state_name(ArmState state);

// Of which row of a study a run is.
struct RowOfStudy {
  // Of its row in tables: every seed of an arm has the same, no two arms do. "GH, w = 0.5".
  std::string label;
  // Of its [[arm]] alone, without what the axes add: "GH"; empty where the study has none.
  std::string arm;
  // Every axis but the seed, key → value: {"harmonize.weight", "0.5"}; in the order of the file.
  Pairs axes;
  std::string seed;
  // The label of the arm that this one is put against: the baseline, at the same values of those
  // axes which the baseline has. Its own label for a baseline; empty: there is none.
  std::string baseline;
  // Keys that differ from the baseline's recipe though no axis and no [[arm]] names them.
  std::vector<std::string> unintended;
  std::string scaled;  // what --scale made smaller, in words; empty: nothing
};

// One arm under one seed, which is one run.
struct RunOfStudy : RowOfStudy {
  ArmState state = ArmState::fresh;
  int64_t epochs_done = 0, epochs_planned = 0;  // of all stages
  std::optional<double> seconds_left;           // of this run alone
  std::filesystem::path directory;              // of the run; may not exist
  std::string failure;                          // why it failed, and where there is more to read
};

// What its file says of all runs together.
struct StudyHeading {
  std::string name;
  std::filesystem::path file;  // the study file, absolute
  std::string baseline;        // label or [[arm]] of the baseline, for headings; may be empty
  // In the order of their columns: "few", "accuracy"; of one evaluator, "linear.few"; all that one
  // says by group of classes, or else at all, "linear". Empty: what evaluators say by group of
  // classes; where none does, every metric.
  std::vector<std::string> metrics;
  // "rows": a row an arm. "paper": a block of rows a data set or ratio, a column an arm, as the
  // paper's main table has them.
  std::string layout = "rows";
  // Axes whose values are blocks in the layout "paper". Empty: those of the table [data].
  std::vector<std::string> blocks;
};

struct StudySummary : StudyHeading {
  std::filesystem::path directory;  // where runs lie, and the page
  std::vector<RunOfStudy> runs;     // in the order of the file, seeds of an arm together
  int64_t epochs_done = 0, epochs_planned = 0;  // what is shared counts once
  std::optional<double> seconds_left;           // of the whole study, as it runs now
  std::string updated;                          // "2026-01-31T12:00:00Z"
  std::vector<std::string> problems;            // sentences for the top of the page
};

// Runs in `state`.
std::size_t count_state(const StudySummary& study, ArmState state);

}  // namespace gh::host
