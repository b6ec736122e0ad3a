// The tables of a study for programs: every seed's number, unrounded.
#include "report/format.hpp"
#include "report/study_table.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_cell(std::string_view text) {
  std::string line = one_line(text);
  if (line.find_first_of(",\"") == line.npos) return line;
  std::string out = "\"";
  for (const char c : line) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out.append(i == 0 ? "" : ",").append(csv_cell(cells[i]));
  return out + "\n";
}

// Every axis of any arm, in the order of the file.
std::vector<std::string> axes_of(const StudySummary& study) {
  std::vector<std::string> out;
  for (const RunOfStudy& run : study.runs)
    for (const auto& [key, value] : run.axes)
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
  return out;
}

Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json comparison_json(const Comparison& comparison, const std::string& baseline) {
  Json out = {{"to", baseline}};
  if (!comparison.refused.empty()) {
    out["refused"] = comparison.refused;
    return out;
  }
  out["pairs"] = comparison.differences.n;
  out["mean"] = number(comparison.differences.mean);
  out["deviation"] = number(comparison.differences.deviation);
  if (comparison.interval) out["interval"] = {comparison.interval->low, comparison.interval->high};
  out["p"] = number(comparison.p);
  out["p_holm"] = number(comparison.adjusted);
  return out;
}

Json row_json(const StudySummary& study, const StudyResults& results, const StudyRow& row) {
  Json out = {{"label", row.label},
              {"arm", row.arm},
              {"axes", Json::object()},
              {"done", row.done},
              {"runs", Json::array()}};
  for (const auto& [key, value] : row.axes) out["axes"][key] = value;
  if (!row.baseline.empty()) out["baseline"] = row.baseline;
  if (!row.unintended.empty()) out["unintended"] = row.unintended;
  for (const std::size_t i : row.runs) {
    const RunOfStudy& run = study.runs[i];
    Json one = {{"seed", run.seed},
                {"state", arm_state_name(run.state)},
                {"directory", run.directory.string()}};
    if (!run.failure.empty()) one["failure"] = run.failure;
    if (!run.scaled.empty()) one["scaled"] = run.scaled;
    out["runs"].push_back(std::move(one));
  }
  out["results"] = Json::array();
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    const StudyCell& cell = row.cells[c];
    Json result = {{"evaluator", results.columns[c].evaluator},
                   {"metric", results.columns[c].metric},
                   {"n", cell.sample.n},
                   {"mean", number(cell.sample.mean)},
                   {"deviation", number(cell.sample.deviation)},
                   {"seeds", Json::object()}};
    for (std::size_t i = 0; i < row.runs.size(); ++i)
      result["seeds"][study.runs[row.runs[i]].seed] = number(cell.values[i]);
    if (cell.comparison) result["difference"] = comparison_json(*cell.comparison, row.baseline);
    out["results"].push_back(std::move(result));
  }
  return out;
}

}  // namespace

std::string study_csv(const StudySummary& study, const StudyResults& results) {
  const std::vector<std::string> axes = axes_of(study);
  std::vector<std::string> heading = {"label", "arm"};
  heading.insert(heading.end(), axes.begin(), axes.end());
  heading.insert(heading.end(), {"seed", "state", "baseline", "evaluator", "metric", "value"});
  std::string out = csv_line(heading);
  for (const StudyRow& row : results.rows)
    for (std::size_t i = 0; i < row.runs.size(); ++i) {
      const RunOfStudy& run = study.runs[row.runs[i]];
      std::vector<std::string> begin = {row.label, row.arm};
      for (const std::string& key : axes) {
        const auto it = std::find_if(row.axes.begin(), row.axes.end(),
                                     [&](auto& pair) { return pair.first == key; });
        begin.push_back(it == row.axes.end() ? "" : it->second);
      }
      begin.insert(begin.end(), {run.seed, std::string(arm_state_name(run.state)), row.baseline});
      for (std::size_t c = 0; c < results.columns.size(); ++c) {
        std::vector<std::string> line = begin;
        const auto& value = row.cells[c].values[i];
        line.insert(line.end(), {results.columns[c].evaluator, results.columns[c].metric,
                                 value && std::isfinite(*value) ? fmt::format("{}", *value) : ""});
        out += csv_line(line);
      }
    }
  return out;
}

std::string study_json(const StudySummary& study, const StudyResults& results) {
  Json out = {{"study", study.name},
              {"baseline", study.baseline},
              {"updated", study.updated},
              {"arms", Json::array()},
              {"protocols", Json::object()}};
  for (const StudyRow& row : results.rows) out["arms"].push_back(row_json(study, results, row));
  for (const StudyProtocol& protocol : results.protocols)
    out["protocols"][protocol.evaluator] = protocol.sentences;
  out["notes"] = results.notes;
  out["flags"] = results.flags;
  out["trouble"] = results.trouble;
  return json_text(out, 1) + "\n";
}

}  // namespace gh::host
