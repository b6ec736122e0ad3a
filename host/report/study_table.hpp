// The tables of a study as text: for a terminal, a paper, a spreadsheet, a program.
#pragma once

#include "report/study_results.hpp"
#include "report/study_summary.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

enum class TableFormat { markdown, latex, csv, json };

// markdown, latex (needs the package booktabs): a table per evaluator, laid out as the study says,
// mean ± deviation over seeds, "—" for what is missing; the differences to the baseline with
// interval and p; what was measured, what the statistics say, what stands out and what failed, as a
// list or as comments. csv: a line per run and metric. json: all of it, with every seed's value.
// Ends with a newline. Reads the runs' directories; what cannot be read is a line of the list.
std::string study_table(const StudySummary& study, TableFormat format);
// The same from results that are there already.
std::string study_table(const StudySummary& study, const StudyResults& results, TableFormat format);

// Columns first, first + 1, … of one evaluator: they make one table.
struct EvaluatorColumns {
  std::string evaluator;  // empty: metrics that no run has
  std::size_t first = 0, count = 0;
};
std::vector<EvaluatorColumns> evaluator_columns(const StudyResults& results);

// The numbers of a column as tables print them, with the same decimals: a pair a row. Empty texts
// where there is none.
struct MeanText {
  std::string mean, deviation;
};
std::vector<MeanText> mean_texts(const StudyResults& results, std::size_t column);

// A difference as it stands beside its row's mean: "+2.41".
std::string difference_text(double difference, const MeanText& beside);
// "0.25", "0.0039".
std::string p_text(std::optional<double> p);
// "3", or "2 of 3" where some are not done.
std::string seeds_text(const StudyRow& row);

// What was put against a baseline, in words: a line per arm and metric.
struct DifferenceLine {
  std::string label, baseline, metric;  // with a mark where other keys differ, too
  std::string mean, interval;           // "+2.41", "[+1.90, +2.95]"; empty: no interval
  std::string p, adjusted;
  std::size_t pairs = 0;
};
std::vector<DifferenceLine> difference_lines(const StudyResults& results);

// "weight" for the axis "harmonize.weight", the whole key where another axis ends alike.
std::map<std::string, std::string> short_axes(const StudyResults& results);

// The layout "paper": blocks below each other, arms side by side.
struct PaperLayout {
  std::vector<std::string> arms;    // headings
  std::vector<std::string> blocks;  // "ratio = 100"; "—" for arms without such axes
  // [block][arm] → row of the results; nullopt where there is none.
  std::vector<std::vector<std::optional<std::size_t>>> rows;
};
PaperLayout paper_layout(const StudySummary& study, const StudyResults& results);

// Data formats (study_export.cpp).
std::string study_csv(const StudySummary& study, const StudyResults& results);
std::string study_json(const StudySummary& study, const StudyResults& results);

}  // namespace gh::host
