#include "report/class_changes.hpp"

#include "report/format.hpp"

#include "gh/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <vector>

namespace gh::host {
namespace {

struct ClassRow {
  std::string id, group;
  double accuracy = std::numeric_limits<double>::quiet_NaN();
};

// The rows of a table "classes", which has the largest class first.
std::vector<ClassRow> classes_of(const TableRecord* table) {
  if (!table) return {};
  const auto column = [&](std::string_view name) {
    const auto it = std::find(table->columns.begin(), table->columns.end(), name);
    return static_cast<std::size_t>(it - table->columns.begin());
  };
  const std::size_t id = column("class"), group = column("group"), accuracy = column("accuracy");
  std::vector<ClassRow> out;
  for (const auto& row : table->rows) {
    if (std::max({id, group, accuracy}) >= row.size()) continue;
    char* end = nullptr;
    const double value = std::strtod(row[accuracy].c_str(), &end);
    out.push_back(
        {row[id], row[group],
         end == row[accuracy].c_str() ? std::numeric_limits<double>::quiet_NaN() : value});
  }
  return out;
}

}  // namespace

std::string class_changes(const EvaluatorMatch& match, std::span<const std::string> labels) {
  if (match.of_run.size() != 2 || !match.of_run[0] || !match.of_run[1]) return {};
  const auto before = classes_of(find_table(match.of_run[0]->last(), "classes"));
  std::map<std::string, double> after;
  for (const ClassRow& row : classes_of(find_table(match.of_run[1]->last(), "classes")))
    after[row.id] = row.accuracy;
  std::vector<BarSeries> groups;
  int better = 0, worse = 0;
  for (const ClassRow& row : before) {
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const BarSeries& g) { return g.name == row.group; });
    if (it == groups.end()) it = groups.insert(it, {row.group, {}});
    const auto found = after.find(row.id);
    it->values.push_back(found == after.end() ? std::numeric_limits<double>::quiet_NaN()
                                              : found->second - row.accuracy);
    better += it->values.back() > 0;
    worse += it->values.back() < 0;
  }
  if (better + worse == 0) return {};
  BarPlot plot;
  plot.title = "change of each class's accuracy, percentage points";
  plot.x_label = "classes, largest first within each group";
  for (BarSeries& group : groups) plot.add(std::move(group));
  return fmt::format(
      "<div class=\"row\">\n<figure class=\"large\" style=\"--w:640px\"><div class=\"scroll\">{}"
      "</div>\n<figcaption>{} less {}: {} of {} classes gain, {} lose.</figcaption></figure>\n"
      "</div>\n",
      plot.svg(), escape_html(labels[1]), escape_html(labels[0]), better, before.size(), worse);
}

}  // namespace gh::host
