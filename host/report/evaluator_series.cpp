#include "report/evaluator_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace gh::host {
namespace {

constexpr std::string_view kRegular = "epoch";

template <class T>
const T* find_named(const std::vector<T>& list, std::string_view name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](auto& x) { return x.name == name; });
  return it == list.end() ? nullptr : &*it;
}

// Parameters in which the `peers` are not all the same, as they are in `one`.
std::string distinction(const EvaluatorSeries& one,
                        const std::vector<const EvaluatorSeries*>& peers) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const EvaluatorSeries* peer : peers)
    for (const auto& [key, value] : peer->params)
      if (value != pair_value(one.params, key) && seen.insert(key).second) keys.push_back(key);
  std::string out;
  for (const std::string& key : keys)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", key, pair_value(one.params, key));
  return out.empty() ? one.slot : out;
}

}  // namespace

std::vector<const ResultRecord*> EvaluatorSeries::shown() const {
  std::vector<const ResultRecord*> out;
  for (const ResultRecord* result : results) {
    if (result->moment == kRegular && result != results.back()) continue;
    // Evaluated again at the same moment: the later result stands.
    if (!out.empty() && out.back()->moment == result->moment &&
        out.back()->epoch == result->epoch && out.back()->splits == result->splits)
      out.pop_back();
    out.push_back(result);
  }
  return out;
}

bool EvaluatorSeries::regular() const {
  return results.size() > 1 &&
         std::any_of(results.begin(), results.end(), [](auto* r) { return r->moment == kRegular; });
}

std::vector<EvaluatorSeries> evaluator_series(const RunRecord& run) {
  std::vector<EvaluatorSeries> all;
  for (const ResultRecord& r : run.results) {
    auto it = std::find_if(all.begin(), all.end(), [&](const EvaluatorSeries& s) {
      return s.evaluator == r.evaluator && s.slot == r.slot && s.params == r.params;
    });
    if (it == all.end()) it = all.insert(all.end(), {r.evaluator, r.slot, r.params, {}});
    it->results.push_back(&r);
  }
  // At one epoch, a named moment comes after the regular one: it is the one to show.
  const auto earlier = [](const ResultRecord* a, const ResultRecord* b) {
    return std::pair(a->epoch, a->moment != kRegular) < std::pair(b->epoch, b->moment != kRegular);
  };
  for (EvaluatorSeries& s : all) std::stable_sort(s.results.begin(), s.results.end(), earlier);
  return all;
}

std::vector<std::string> evaluator_labels(std::span<const EvaluatorSeries> series) {
  std::vector<std::string> labels;
  for (const EvaluatorSeries& one : series) {
    std::vector<const EvaluatorSeries*> peers;
    for (const EvaluatorSeries& other : series)
      if (&other != &one && other.evaluator == one.evaluator) peers.push_back(&other);
    labels.push_back(peers.empty()
                         ? one.evaluator
                         : fmt::format("{} ({})", one.evaluator, distinction(one, peers)));
  }
  return labels;
}

const EvaluatorSeries& EvaluatorMatch::first() const {
  return **std::find_if(of_run.begin(), of_run.end(), [](auto* s) { return s != nullptr; });
}

std::vector<EvaluatorMatch> match_evaluators(std::span<const std::vector<EvaluatorSeries>> series) {
  std::vector<EvaluatorMatch> all;
  for (std::size_t run = 0; run < series.size(); ++run) {
    std::vector<const EvaluatorSeries*> left;
    const auto take = [&](const EvaluatorSeries& s, bool equal_params) {
      for (EvaluatorMatch& match : all) {
        if (match.evaluator != s.evaluator || match.of_run[run]) continue;
        if (equal_params && match.first().params != s.params) continue;
        match.of_run[run] = &s;
        return true;
      }
      return false;
    };
    for (const EvaluatorSeries& s : series[run])
      if (!take(s, true)) left.push_back(&s);
    for (const EvaluatorSeries* s : left) {
      if (take(*s, false)) continue;
      all.push_back({s->evaluator, std::vector<const EvaluatorSeries*>(series.size())});
      all.back().of_run[run] = s;
    }
  }
  return all;
}

std::vector<std::string> match_labels(std::span<const EvaluatorMatch> matches) {
  std::vector<EvaluatorSeries> firsts;
  for (const EvaluatorMatch& match : matches) firsts.push_back(match.first());
  return evaluator_labels(firsts);
}

std::string moment_label(const ResultRecord& result) {
  if (result.label.empty()) return result.moment;
  return result.moment == "afterwards" ? result.label + ", afterwards" : result.label;
}

std::string epoch_beside(const std::string& label, int64_t epoch) {
  const std::string text = fmt::format("epoch {}", epoch);
  return label.find(text) == label.npos ? text : std::string();
}

std::string pair_value(const Pairs& pairs, std::string_view key) {
  for (const auto& [name, value] : pairs)
    if (name == key) return value;
  return "—";
}

const TableRecord* find_table(const ResultRecord& result, std::string_view name) {
  return find_named(result.tables, name);
}

const MetricRecord* find_metric(const ResultRecord& result, std::string_view name) {
  return find_named(result.metrics, name);
}

}  // namespace gh::host
