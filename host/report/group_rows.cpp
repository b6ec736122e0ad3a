#include "report/group_rows.hpp"

#include "recipe/difference.hpp"
#include "report/study_statistics.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>

namespace gh::host {
namespace {

// The table has two decimals; the metrics beside it have all, which matters for means over seeds.
std::optional<double> exact(const ResultRecord& result, const std::string& column,
                            const std::string& cell) {
  const std::string name = column == "std" ? "deviation" : column == "avg" ? "average" : column;
  if (const MetricRecord* metric = find_metric(result, name)) return metric->value;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// What makes two runs arms of one experiment: everything but the seed.
std::map<std::string, std::string> arm_of(const RunRecord& run) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : run.values)
    if (key != "seed" && changes_numbers(key)) out[key] = value;
  return out;
}

using Arm = std::vector<const RunRecord*>;

std::vector<Arm> arms_of(std::span<const RunRecord> runs) {
  std::vector<std::pair<std::map<std::string, std::string>, Arm>> found;
  for (const RunRecord& run : runs) {
    const auto key = arm_of(run);
    auto it = std::find_if(found.begin(), found.end(), [&](auto& f) { return f.first == key; });
    if (it == found.end()) it = found.insert(found.end(), {key, {}});
    for (const RunRecord* other : it->second)
      require(other->value("seed") != run.value("seed"), ErrorCode::invalid_param,
              other->directory.string(), " and ", run.directory.string(),
              " have the same recipe and the same seed; a mean over seeds takes one of them");
    it->second.push_back(&run);
  }
  std::vector<Arm> arms;
  for (auto& [key, arm] : found) arms.push_back(std::move(arm));
  return arms;
}

// `rows` are of one evaluator, of runs that differ in their seed.
GroupRow mean_row(const std::vector<GroupRow>& rows) {
  GroupRow out = rows.front();
  out.seeds = static_cast<int64_t>(rows.size());
  out.spreads.resize(out.values.size());
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    std::vector<double> values;
    for (const GroupRow& row : rows)
      if (i < row.values.size() && row.values[i]) values.push_back(*row.values[i]);
    const Sample sample = mean_and_deviation(values);
    out.values[i] = sample.mean;
    out.spreads[i] = sample.deviation;
  }
  return out;
}

void require_same_epoch(const RunRecord& a, const GroupRow& row_a, const RunRecord& b,
                        const GroupRow& row_b) {
  require(row_a.epoch == row_b.epoch && row_a.columns == row_b.columns, ErrorCode::invalid_param,
          row_a.evaluator, " of ", a.directory.string(), " is of epoch ", row_a.epoch, ", that of ",
          b.directory.string(), " of epoch ", row_b.epoch,
          "; a mean over seeds is of the same moment and the same groups");
}

}  // namespace

std::string format_percent(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.2f}", *value) : "—";
}

std::string column_heading(const std::string& column) {
  std::string out = column;
  std::replace(out.begin(), out.end(), '_', ' ');
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

std::optional<GroupRow> group_row(const ResultRecord& result) {
  const TableRecord* table = find_table(result, "groups");
  if (!table || table->rows.empty()) return std::nullopt;
  GroupRow row{.run = {},
               .evaluator = result.evaluator,
               .how = {},
               .definition = table->caption,
               .epoch = result.epoch,
               .columns = table->columns,
               .values = {}};
  // Of the caption, the first sentence says what was done, the others what the numbers are.
  if (const auto end = table->caption.find(". "); end != std::string::npos) {
    row.how = table->caption.substr(0, end);
    row.definition = table->caption.substr(end + 2);
  }
  const std::vector<std::string>& cells = table->rows.front();
  for (std::size_t i = 0; i < row.columns.size(); ++i)
    row.values.push_back(i < cells.size() ? exact(result, row.columns[i], cells[i]) : std::nullopt);
  return row;
}

std::vector<GroupRow> group_rows(const RunRecord& run, const std::string& run_label) {
  std::vector<GroupRow> out;
  const std::vector<EvaluatorSeries> series = evaluator_series(run);
  const std::vector<std::string> labels = evaluator_labels(series);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::optional<GroupRow> row = group_row(series[i].last());
    if (!row) continue;
    row->run = run_label;
    row->evaluator = labels[i];
    out.push_back(std::move(*row));
  }
  return out;
}

std::vector<GroupRow> mean_group_rows(std::span<const RunRecord> runs) {
  const std::vector<Arm> arms = arms_of(runs);
  std::vector<const RunRecord*> firsts;  // which give the arms their names
  for (const Arm& arm : arms) firsts.push_back(arm.front());
  const std::vector<std::string> labels = run_labels(firsts);
  std::vector<GroupRow> out;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    // Rows of the arm's runs have one order: their recipes have the same evaluators.
    std::vector<std::vector<GroupRow>> of_evaluator;
    for (const RunRecord* run : arms[a]) {
      for (GroupRow& row : group_rows(*run, labels[a])) {
        auto it = std::find_if(of_evaluator.begin(), of_evaluator.end(),
                               [&](auto& rows) { return rows.front().evaluator == row.evaluator; });
        if (it == of_evaluator.end()) it = of_evaluator.emplace(it);
        if (!it->empty()) require_same_epoch(*arms[a].front(), it->front(), *run, row);
        it->push_back(std::move(row));
      }
    }
    for (const auto& rows : of_evaluator) out.push_back(mean_row(rows));
  }
  return out;
}

std::vector<std::string> run_labels(std::span<const RunRecord> runs) {
  std::vector<const RunRecord*> pointers;
  for (const RunRecord& run : runs) pointers.push_back(&run);
  return run_labels(pointers);
}

std::vector<std::string> run_labels(std::span<const RunRecord* const> runs) {
  const auto repeated = [](const std::vector<std::string>& all, const std::string& label) {
    return std::count(all.begin(), all.end(), label) > 1;
  };
  std::vector<std::string> names, labels;
  for (const RunRecord* run : runs) names.push_back(run->name);
  for (const RunRecord* run : runs) {
    const std::string folder = run->directory.lexically_normal().filename().string();
    labels.push_back(repeated(names, run->name) ? run->name + " (" + folder + ")" : run->name);
  }
  const std::vector<std::string> before = labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (repeated(before, before[i])) labels[i] += fmt::format(" #{}", i + 1);
  return labels;
}

}  // namespace gh::host
