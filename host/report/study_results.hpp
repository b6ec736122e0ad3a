// The numbers of a study, read from its runs: a row an arm, a column a metric, the seeds in a cell.
#pragma once

#include "report/evaluator_series.hpp"
#include "report/run_record.hpp"
#include "report/study_columns.hpp"
#include "report/study_statistics.hpp"
#include "report/study_summary.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// An arm against its baseline, in pairs of the same seed.
struct Comparison {
  std::string refused;  // why there is none: "its k is 5 and not 20"; empty: there is one
  Sample differences;   // n may be 0: no seed that both have
  std::optional<Interval> interval;   // of their mean
  std::optional<double> p, adjusted;  // of the sign-flip test; after Holm's correction
  bool real() const { return adjusted && *adjusted < kSignificant; }
};

struct StudyCell {
  std::vector<std::optional<double>> values;  // of the row's runs; empty of those not done
  Sample sample;
  std::optional<Comparison> comparison;  // none: it is a baseline, or has none
};

// An arm under all its seeds.
struct StudyRow {
  std::string label, arm, baseline;
  Pairs axes;
  std::vector<std::size_t> runs;  // of StudySummary::runs
  std::size_t done = 0;           // runs of these
  std::vector<std::string> unintended;
  std::vector<StudyCell> cells;  // one per column
  bool is_baseline() const { return baseline == label; }
};

// What the numbers of an evaluator are, for readers of tables.
struct StudyProtocol {
  std::string evaluator;
  std::vector<std::string> sentences;  // what was done, when, what the numbers mean
};

struct StudyResults {
  std::vector<StudyColumn> columns;  // those of one evaluator together
  std::vector<StudyRow> rows;        // in the order of the file
  std::vector<StudyProtocol> protocols;
  std::vector<std::string> notes;    // of tests and intervals, in sentences
  std::vector<std::string> flags;    // arms with unintended keys, and what was scaled
  std::vector<std::string> trouble;  // what failed and why; results that cannot be read
};

// Curves are drawn of the first arms of a study, and of few arms every scalar: of more, losses.
inline constexpr std::size_t kArmsWithCurves = 200, kArmsWithEveryScalar = 24;

// The runs of a study as far as tables need them, or also curves; one for each of
// StudySummary::runs, an empty one with a line in `problems` where its directory cannot be read.
enum class ForCurves { no, yes };
std::vector<RunRecord> load_study_runs(const StudySummary& study, ForCurves curves);

// `runs` are load_study_runs(). Numbers are those of runs that are done, at their last moment.
StudyResults study_results(const StudySummary& study, std::span<const RunRecord> runs);

// "A, B, C and 12 more".
std::string listed(std::span<const std::string> names, std::size_t most = 4);

}  // namespace gh::host
