#include "report/study_results.hpp"

#include "report/study_notes.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace gh::host {
namespace {

// Which scalars of a run are kept.
enum class Scalars { none, losses, all };

// Of a run only what columns and curves are made from: a study may have thousands.
RunRecord slim(RunRecord run, Scalars scalars) {
  run.recipe.clear();
  run.class_counts.clear();
  if (scalars == Scalars::none) run.epochs = {};
  for (EpochRecord& epoch : run.epochs)
    std::erase_if(epoch.scalars, [&](const auto& scalar) {
      const bool loss = scalar.first.starts_with("loss");
      return scalar.first.starts_with("time.") || (scalars == Scalars::losses && !loss);
    });
  for (ResultRecord& result : run.results)
    std::erase_if(result.tables, [](const TableRecord& table) { return table.name != "groups"; });
  return run;
}

std::vector<StudyRow> rows_of(const StudySummary& study) {
  std::vector<StudyRow> rows;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const RunOfStudy& run = study.runs[i];
    const auto [it, fresh] = known.emplace(run.label, rows.size());
    if (fresh)
      rows.push_back({run.label, run.arm, run.baseline, run.axes, {}, 0, run.unintended, {}});
    StudyRow& row = rows[it->second];
    row.runs.push_back(i);
    row.done += run.state == ArmState::done;
    for (const std::string& key : run.unintended)
      if (std::find(row.unintended.begin(), row.unintended.end(), key) == row.unintended.end())
        row.unintended.push_back(key);
  }
  return rows;
}

// What every run says in one column, and the comparisons that follow.
class ColumnFiller {
 public:
  ColumnFiller(const StudySummary& study, const StudyColumn& column,
               std::vector<ColumnValue> values)
      : study_(study),
        values_(std::move(values)),
        bootstrap_(study.name, column.evaluator + "." + column.metric) {}

  void fill(std::vector<StudyRow>& rows) {
    std::map<std::string_view, const StudyRow*> by_label;
    for (StudyRow& row : rows) {
      by_label[row.label] = &row;
      row.cells.push_back(cell_of(row));
    }
    std::vector<Comparison*> tested;
    std::vector<double> p;
    for (StudyRow& row : rows) {
      const auto base = by_label.find(row.baseline);
      if (row.baseline.empty() || row.is_baseline() || base == by_label.end()) continue;
      Comparison& comparison = row.cells.back().comparison.emplace(compare(row, *base->second));
      if (!comparison.p) continue;
      tested.push_back(&comparison);
      p.push_back(*comparison.p);
    }
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted = adjusted[i];
  }

 private:
  StudyCell cell_of(const StudyRow& row) const {
    StudyCell cell;
    std::vector<double> there;
    for (const std::size_t run : row.runs) {
      cell.values.push_back(values_[run].value);
      if (values_[run].value) there.push_back(*values_[run].value);
    }
    cell.sample = mean_and_deviation(there);
    return cell;
  }

  Comparison compare(const StudyRow& row, const StudyRow& base) {
    Comparison out;
    std::vector<double> differences;
    for (const std::size_t a : row.runs)
      for (const std::size_t b : base.runs) {
        if (study_.runs[a].seed != study_.runs[b].seed) continue;
        if (!values_[a].value || !values_[b].value) continue;
        if (out.refused = incomparable(values_[a], values_[b]); !out.refused.empty()) return out;
        differences.push_back(*values_[a].value - *values_[b].value);
      }
    out.differences = mean_and_deviation(differences);
    out.interval = bootstrap_.mean(differences);
    out.p = sign_flip_p(differences);
    return out;
  }

  const StudySummary& study_;
  std::vector<ColumnValue> values_;  // of study_.runs
  Bootstrap bootstrap_;
};

RunRecord load_one(const RunOfStudy& run, Scalars scalars) {
  std::error_code error;
  RunRecord out;
  if (run.directory.empty() || !std::filesystem::exists(run.directory, error)) {
    if (run.state == ArmState::done)
      out.problems = {run.directory.string() + ": no such run directory"};
    return out;
  }
  try {
    return slim(load_run(run.directory, RunParts::numbers), scalars);
  } catch (const Error& e) {
    // A run that has only just begun has no recipe yet.
    if (run.state == ArmState::done || run.state == ArmState::failed) out.problems = {e.what()};
    return out;
  }
}

}  // namespace

std::vector<RunRecord> load_study_runs(const StudySummary& study, ForCurves curves) {
  const std::vector<StudyRow> rows = rows_of(study);
  std::vector<RunRecord> out(study.runs.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool drawn = curves == ForCurves::yes && r < kArmsWithCurves;
    const Scalars scalars = !drawn                               ? Scalars::none
                            : rows.size() > kArmsWithEveryScalar ? Scalars::losses
                                                                 : Scalars::all;
    for (const std::size_t i : rows[r].runs) out[i] = load_one(study.runs[i], scalars);
  }
  return out;
}

StudyResults study_results(const StudySummary& study, std::span<const RunRecord> runs) {
  // What a run says before it is done stays out of tables, and with it the column that only such a
  // run would have.
  std::vector<std::vector<EvaluatorSeries>> series;
  for (std::size_t i = 0; i < runs.size(); ++i)
    series.push_back(study.runs[i].state == ArmState::done ? evaluator_series(runs[i])
                                                           : std::vector<EvaluatorSeries>{});
  const std::vector<EvaluatorMatch> matches = match_evaluators(series);
  StudyResults out;
  out.columns = study_columns(study.metrics, matches, match_labels(matches));
  out.rows = rows_of(study);
  StudyNotes notes(study, runs);
  for (const StudyColumn& column : out.columns) {
    std::vector<ColumnValue> values(runs.size());
    if (!column.no_result())
      for (std::size_t i = 0; i < runs.size(); ++i)
        values[i] = column_value(column, matches[column.match].of_run[i]);
    notes.add(column, values);
    ColumnFiller(study, column, std::move(values)).fill(out.rows);
  }
  notes.finish(out);
  return out;
}

std::string listed(std::span<const std::string> names, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? out + fmt::format(" and {} more", names.size() - most) : out;
}

}  // namespace gh::host
