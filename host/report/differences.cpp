#include "report/differences.hpp"

#include "recipe/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace gh::host {
namespace {

constexpr std::size_t kListedClasses = 8;

// Keys and values of one run under one heading.
using Values = std::map<std::string, std::string>;

struct Heading {
  const char* id;
  const char* text;
};
constexpr std::array<Heading, 7> kHeadings = {{{"recipe", "Recipe"},
                                               {"augmentation", "Augmentation"},
                                               {"evaluation", "Evaluation protocol"},
                                               {"data", "Data"},
                                               {"plugins", "Plugins"},
                                               {"environment", "Environment"},
                                               {"neutral", "Without effect on numbers"}}};

std::string_view heading_of(std::string_view key) {
  const std::string_view table = key.substr(0, key.find('.'));
  if (!changes_numbers(key)) return "neutral";
  if (table == "views") return "augmentation";
  if (table == "eval") return "evaluation";
  return table == "data" ? "data" : "recipe";
}

// "eval.1.k" is "eval.knn.k", of the second such evaluator "eval.knn 2.k".
std::string evaluator_key(const RunRecord& run, const std::string& key) {
  const std::size_t number = std::string_view("eval.").size(), end = key.find('.', number);
  if (!key.starts_with("eval.") || end == key.npos) return key;
  const auto id_of = [&](int slot) { return run.value(fmt::format("eval.{}.id", slot)); };
  const int slot = std::atoi(key.c_str() + number);
  int nth = 1;
  for (int before = 0; before < slot; ++before) nth += id_of(before) == id_of(slot);
  return fmt::format("eval.{}{}{}", id_of(slot), nth > 1 ? fmt::format(" {}", nth) : "",
                     key.substr(end));
}

std::map<std::string_view, Values> values_of(const RunRecord& run) {
  std::map<std::string_view, Values> out;
  for (const auto& [key, value] : run.values) out[heading_of(key)][evaluator_key(run, key)] = value;
  for (const auto& [key, value] : run.data) out["data"]["training set: " + key] = value;
  if (run.samples > 0) out["data"]["training set: samples"] = std::to_string(run.samples);
  for (const PluginRecord& plugin : run.plugins)
    out["plugins"][plugin.name] =
        fmt::format("{} ({})", plugin.version, plugin.sha256.substr(0, 12));
  for (const auto& [key, value] : run.environment)
    if (key != "command" && key != "started") out["environment"][key] = value;
  return out;
}

// Sizes of the classes in which runs differ: a thousand of them would say nothing.
DifferenceRow class_counts(std::span<const RunRecord> runs) {
  std::size_t classes = 0;
  for (const RunRecord& run : runs) classes = std::max(classes, run.class_counts.size());
  const auto size = [](const RunRecord& run, std::size_t c) {
    return c < run.class_counts.size() ? std::to_string(run.class_counts[c]) : "—";
  };
  std::vector<std::size_t> differing;
  for (std::size_t c = 0; c < classes; ++c)
    if (std::any_of(runs.begin(), runs.end(),
                    [&](auto& run) { return size(run, c) != size(runs[0], c); }))
      differing.push_back(c);
  DifferenceRow row{"training set: class counts", {}};
  if (differing.empty()) return row;
  for (const RunRecord& run : runs) {
    std::string text;
    for (std::size_t i = 0; i < std::min(differing.size(), kListedClasses); ++i)
      text +=
          fmt::format("{}class {}: {}", i == 0 ? "" : ", ", differing[i], size(run, differing[i]));
    if (differing.size() > kListedClasses)
      text += fmt::format(", … {} of {} classes differ", differing.size(), classes);
    row.values.push_back(run.class_counts.empty() ? "" : text);
  }
  return row;
}

// "k = 20 and 200" for each key in which the first run that has the evaluator differs from another.
void add_differing(const EvaluatorMatch& match, Pairs ResultRecord::*pairs, const char* what,
                   std::vector<std::string>& out) {
  const Pairs& first = match.first().last().*pairs;
  for (const EvaluatorSeries* series : match.of_run) {
    if (!series) continue;
    const Pairs& other = series->last().*pairs;
    Values a(first.begin(), first.end()), b(other.begin(), other.end());
    a.insert(b.begin(), b.end());
    for (const auto& [key, any] : a) {
      const std::string was = pair_value(first, key), is = pair_value(other, key);
      const std::string text = fmt::format("{}: {} is {} and {}", what, key, was, is);
      if (was != is && std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
    }
  }
}

}  // namespace

std::vector<std::string> protocol_differences(const EvaluatorMatch& match) {
  std::vector<std::string> out;
  add_differing(match, &ResultRecord::params, "not the same protocol", out);
  add_differing(match, &ResultRecord::splits, "not the same data", out);
  const ResultRecord& first = match.first().last();
  for (const EvaluatorSeries* series : match.of_run)
    if (series && series->last().epoch != first.epoch)
      out.push_back(
          fmt::format("not the same moment: epoch {} and {}", first.epoch, series->last().epoch));
  return out;
}

std::vector<DifferenceGroup> run_differences(std::span<const RunRecord> runs) {
  std::vector<std::map<std::string_view, Values>> all;
  for (const RunRecord& run : runs) all.push_back(values_of(run));
  std::vector<DifferenceGroup> out;
  for (const Heading& heading : kHeadings) {
    Values keys;
    for (auto& of_run : all) keys.insert(of_run[heading.id].begin(), of_run[heading.id].end());
    DifferenceGroup group{heading.id, heading.text, {}};
    for (const auto& [key, any] : keys) {
      DifferenceRow row{key, {}};
      for (auto& of_run : all) {
        const Values& values = of_run[heading.id];
        const auto it = values.find(key);
        row.values.push_back(it == values.end() ? "" : it->second.empty() ? "\"\"" : it->second);
      }
      if (std::any_of(row.values.begin(), row.values.end(),
                      [&](auto& value) { return value != row.values[0]; }))
        group.rows.push_back(std::move(row));
    }
    if (group.id == "data")
      if (DifferenceRow counts = class_counts(runs); !counts.values.empty())
        group.rows.push_back(std::move(counts));
    if (!group.rows.empty()) out.push_back(std::move(group));
  }
  return out;
}

}  // namespace gh::host
