#include "report/run_diff.hpp"

#include "report/differences.hpp"
#include "report/format.hpp"
#include "report/group_rows.hpp"
#include "report/metrics.hpp"
#include "report/training_diff.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace gh::host {
namespace {

constexpr std::size_t kInline = 40;  // longer values have lines of their own

struct ComparedEvaluator {
  MetricGroup metrics;  // two columns
  std::vector<std::string> warnings;
};

struct Diff {
  std::vector<DifferenceGroup> differences;
  TrainingDiff training;
  std::vector<ComparedEvaluator> results;
};

ComparedEvaluator compare(const EvaluatorMatch& match, const std::string& label) {
  ComparedEvaluator out{metrics_by_run(match, label), protocol_differences(match)};
  for (std::size_t i = 0; i < match.of_run.size(); ++i)
    if (!match.of_run[i]) out.warnings.push_back(i == 0 ? "only in B" : "only in A");
  std::string names;
  for (const MetricRow& row : out.metrics.rows)
    if (row.definitions.size() > 1) names += (names.empty() ? "" : ", ") + row.name;
  if (!names.empty()) out.warnings.push_back("not the same definition: " + names);
  return out;
}

Diff diff_of(std::span<const RunRecord, 2> runs) {
  Diff out{run_differences(runs), training_diff(runs), {}};
  const std::vector<std::vector<EvaluatorSeries>> series = {evaluator_series(runs[0]),
                                                            evaluator_series(runs[1])};
  const auto matches = match_evaluators(series);
  const std::vector<std::string> labels = match_labels(matches);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ComparedEvaluator compared = compare(matches[i], labels[i]);
    if (!compared.metrics.rows.empty()) out.results.push_back(std::move(compared));
  }
  return out;
}

// Columns as wide as their widest cell, the first flush left.
std::string columns(const std::vector<std::array<std::string, 4>>& rows, std::string_view indent) {
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - display_width(row[i]), ' ');
      line += i == 0 ? row[i] + gap : "  " + gap + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string text_of(const DifferenceGroup& group) {
  std::string out = group.heading + "\n";
  std::size_t widest = 0, widest_a = 1;
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("(absent)") : one_line(value);
  };
  const auto fits = [&](const DifferenceRow& row) {
    return std::all_of(row.values.begin(), row.values.end(),
                       [&](auto& value) { return display_width(shown(value)) <= kInline; });
  };
  for (const DifferenceRow& row : group.rows) {
    if (!fits(row)) continue;
    widest = std::max(widest, display_width(row.key));
    widest_a = std::max(widest_a, display_width(shown(row.values[0])));
  }
  for (const DifferenceRow& row : group.rows) {
    const std::string a = shown(row.values[0]), b = shown(row.values[1]);
    if (!fits(row)) {
      out += fmt::format("  {}\n    A  {}\n    B  {}\n", one_line(row.key), a, b);
      continue;
    }
    const std::string gap(widest - display_width(row.key), ' ');
    const std::string gap_a(widest_a - display_width(a), ' ');
    out += fmt::format("  {}{}  {}{}  {}\n", one_line(row.key), gap, a, gap_a, b);
  }
  return out + "\n";
}

std::string text_of(const ComparedEvaluator& compared) {
  std::string out = "  " + one_line(compared.metrics.evaluator);
  for (const ResultRecord* result : compared.metrics.columns)
    if (result) {
      out += fmt::format(", epoch {}", result->epoch);
      break;
    }
  out += "\n";
  for (const std::string& warning : compared.warnings)
    out += fmt::format("    ! {}\n", one_line(warning));
  std::vector<std::array<std::string, 4>> rows = {{"", "A", "B", "B − A"}};
  for (const MetricRow& row : compared.metrics.rows) {
    const std::vector<std::string> numbers = format_numbers(row.values);
    rows.push_back(
        {one_line(row.name), numbers[0], numbers[1], format_change(change(row), numbers)});
  }
  return out + columns(rows, "    ");
}

nlohmann::ordered_json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nullptr;
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace

std::string diff_text(std::span<const RunRecord, 2> runs) {
  const RunRecord &a = runs[0], &b = runs[1];
  const Diff diff = diff_of(runs);
  std::string out = fmt::format("A  {} ({})\nB  {} ({})\n\n", one_line(a.directory.string()),
                                one_line(a.name), one_line(b.directory.string()), one_line(b.name));
  for (const auto* run : {&a, &b})
    for (const auto* lines : {&run->failures, &run->problems})
      for (const std::string& line : *lines)
        out += fmt::format("! {}: {}{}\n", run == &a ? "A" : "B",
                           lines == &run->failures ? "evaluation failed: " : "", one_line(line));
  for (const DifferenceGroup& group : diff.differences) out += text_of(group);
  if (diff.differences.empty())
    out += "No difference in recipe, data, plugins and environment.\n\n";
  if (diff.training.identical())
    out += "Identical: metrics, checkpoints and results have the same bytes.\n\n";
  out += training_text(diff.training);
  out += diff.results.empty() ? "No results to compare.\n" : "Results\n";
  if (!diff.results.empty() &&
      pair_value(a.data, "fingerprint") != pair_value(b.data, "fingerprint"))
    out += "  ! not the same training data\n";
  for (const ComparedEvaluator& compared : diff.results) out += text_of(compared);
  return out;
}

nlohmann::ordered_json diff_json(std::span<const RunRecord, 2> runs) {
  const Diff diff = diff_of(runs);
  nlohmann::ordered_json differences = nlohmann::ordered_json::object();
  for (const DifferenceGroup& group : diff.differences)
    for (const DifferenceRow& row : group.rows)
      differences[group.id].push_back({{"key", row.key},
                                       {"a", text_or_null(row.values[0])},
                                       {"b", text_or_null(row.values[1])}});
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const ComparedEvaluator& compared : diff.results) {
    nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
    for (const MetricRow& row : compared.metrics.rows)
      metrics.push_back({{"name", row.name},
                         {"a", number_or_null(row.values[0])},
                         {"b", number_or_null(row.values[1])},
                         {"difference", number_or_null(change(row))}});
    results.push_back({{"evaluator", compared.metrics.evaluator},
                       {"warnings", compared.warnings},
                       {"metrics", metrics}});
  }
  return {{"a", runs[0].directory.string()},
          {"b", runs[1].directory.string()},
          {"differences", differences},
          {"training", training_json(diff.training)},
          {"results", results}};
}

}  // namespace gh::host
