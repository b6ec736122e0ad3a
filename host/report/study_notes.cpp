#include "report/study_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace gh::host {
namespace {

// Pairs and arms of the tests in a table.
struct Tests {
  std::size_t most_pairs = 0;           // of any
  std::size_t fewest = 0, most = 0;     // of a column that has some
  bool compared = false, real = false;  // any at all
  bool seeds = false;                   // any mean over more than one
};

Tests tests_of(const StudyResults& results) {
  Tests out;
  for (std::size_t c = 0; c < results.columns.size(); ++c) {
    std::size_t tested = 0;
    for (const StudyRow& row : results.rows) {
      const StudyCell& cell = row.cells[c];
      out.seeds = out.seeds || cell.sample.deviation;
      if (!cell.comparison || !cell.comparison->p) continue;
      ++tested;
      out.compared = true;
      out.real = out.real || cell.comparison->real();
      out.most_pairs = std::max(out.most_pairs, cell.comparison->differences.n);
    }
    if (tested == 0) continue;
    out.fewest = out.fewest == 0 ? tested : std::min(out.fewest, tested);
    out.most = std::max(out.most, tested);
  }
  return out;
}

std::string short_number(double value) {
  return value >= 1e-3 ? fmt::format("{:.3g}", value) : fmt::format("{:.1e}", value);
}

std::string plural(std::size_t n, const char* word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

// Why nothing is bold, or what bold means.
std::string bold_note(const Tests& tests) {
  const std::string least = short_number(least_p(tests.most_pairs));
  if (static_cast<double>(tests.fewest) * least_p(tests.most_pairs) >= kSignificant) {
    std::string out =
        fmt::format("Nothing is bold, because nothing can be: with {} no p is below 2/2^{} = {}",
                    plural(tests.most_pairs, "seed"), tests.most_pairs, least);
    if (tests.fewest > 1) out += fmt::format(", times {} arms", tests.fewest);
    return out + fmt::format("; below {} takes {} seeds", kSignificant, pairs_needed(tests.fewest));
  }
  return fmt::format("{}: p after Holm's correction below {}, for better or for worse",
                     tests.real ? "Bold" : "Nothing is bold, which would mean", kSignificant);
}

}  // namespace

StudyNotes::StudyNotes(const StudySummary& study, std::span<const RunRecord> runs)
    : study_(study), runs_(runs) {}

void StudyNotes::say(Said& said, const std::string& text, const std::string& label) {
  if (text.empty()) return;
  auto it = std::find_if(said.begin(), said.end(), [&](auto& s) { return s.first == text; });
  if (it == said.end()) it = said.insert(it, {text, {}});
  if (it->second.empty() || it->second.back() != label) it->second.push_back(label);
}

void StudyNotes::add(const StudyColumn& column, std::span<const ColumnValue> values) {
  if (column.no_result()) {
    missing_.push_back(column.metric);
    return;
  }
  auto it = std::find_if(evaluators_.begin(), evaluators_.end(),
                         [&](auto& e) { return e.evaluator == column.evaluator; });
  if (it == evaluators_.end()) {
    it = evaluators_.emplace(it);
    it->evaluator = column.evaluator;
  }
  OfColumn& of = it->columns.emplace_back(OfColumn{column.heading, {}});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].result) continue;
    const std::string& label = study_.runs[i].label;
    say(it->how, values[i].how, label);
    say(of.definitions, values[i].definition, label);
    const int64_t epoch = values[i].result->epoch;
    it->first_epoch = it->any ? std::min(it->first_epoch, epoch) : epoch;
    it->last_epoch = it->any ? std::max(it->last_epoch, epoch) : epoch;
    it->any = true;
  }
}

StudyProtocol StudyNotes::protocol(const OfEvaluator& of) {
  StudyProtocol out{of.evaluator, {}};
  const std::string epoch =
      of.first_epoch == of.last_epoch
          ? fmt::format("epoch {}", of.last_epoch)
          : fmt::format("the last epoch of each run, {} to {}", of.first_epoch, of.last_epoch);
  if (of.how.empty()) out.sentences.push_back(fmt::format("At {}", epoch));
  for (const auto& [how, labels] : of.how)
    out.sentences.push_back(of.how.size() == 1
                                ? fmt::format("{}, {}", how, epoch)
                                : fmt::format("{}, {} ({})", how, epoch, listed(labels)));
  // Columns that share a meaning have it once.
  std::vector<const OfColumn*> left;
  for (const OfColumn& column : of.columns) left.push_back(&column);
  while (!left.empty()) {
    const Said& said = left.front()->definitions;
    std::vector<std::string> headings;
    for (const OfColumn* column : left)
      if (column->definitions == said) headings.push_back(column->heading);
    const std::string names = headings.size() == of.columns.size() ? "" : listed(headings, 99);
    std::erase_if(left, [&](const OfColumn* column) { return column->definitions == said; });
    if (said.size() == 1)
      out.sentences.push_back(names.empty() ? said[0].first : names + ": " + said[0].first);
    if (said.size() < 2) continue;
    out.sentences.push_back(
        fmt::format("{} by more than one definition, and not compared across them",
                    names.empty() ? "All columns are" : names + ":"));
    for (const auto& [text, labels] : said)
      out.sentences.push_back(fmt::format("{}: {}", listed(labels), text));
  }
  return out;
}

std::vector<std::string> StudyNotes::statistics(const StudyResults& results) const {
  const Tests tests = tests_of(results);
  std::vector<std::string> out;
  if (tests.seeds)
    out.emplace_back("Mean ± sample standard deviation (n − 1) over the n seeds that are done");
  const bool deviation =
      std::any_of(results.columns.begin(), results.columns.end(),
                  [](const StudyColumn& c) { return c.percent && c.metric == "deviation"; });
  if (tests.seeds && deviation)
    out.emplace_back("Std is over the groups of a run: the mean of the runs' Std, ± over seeds");
  if (!tests.compared) return out;
  out.push_back(
      fmt::format("Differences to the baseline are means over pairs of the same seed. [ ]: 95 % "
                  "bootstrap interval of {} resamples of the pairs, which is too narrow where "
                  "there are few: of 2 to 4 pairs it spans little more than what was seen",
                  kResamples));
  out.push_back(fmt::format(
      "p: exact sign-flip test of the mean difference over all 2^n signs, two-sided, not below "
      "2/2^n (0.25 of 3 seeds, 0.0625 of 5); Holm's correction over the {} of a column",
      tests.fewest == tests.most ? plural(tests.most, "arm")
                                 : fmt::format("{} to {} arms", tests.fewest, tests.most)));
  out.push_back(bold_note(tests));
  return out;
}

std::vector<std::string> StudyNotes::flags(const StudyResults& results) const {
  std::vector<std::string> out;
  const std::size_t done = count_state(study_, ArmState::done);
  if (done < study_.runs.size()) {
    std::string states;
    for (const ArmState state :
         {ArmState::running, ArmState::resumable, ArmState::failed, ArmState::fresh})
      if (const std::size_t n = count_state(study_, state))
        states += fmt::format("{}{} {}", states.empty() ? "" : ", ", n, arm_state_name(state));
    out.push_back(fmt::format("{} of {} runs are done; {}", done, study_.runs.size(), states));
  }
  if (!missing_.empty() && done > 0)
    out.push_back(fmt::format("No run that is done reports {}", listed(missing_, 99)));
  for (const StudyRow& row : results.rows)
    if (!row.unintended.empty())
      out.push_back(
          fmt::format("† {} differs from its baseline also in {}, which no axis and no arm names",
                      row.label, listed(row.unintended, 8)));
  // Why an arm is not put against its baseline, once for all columns that share the reason.
  Said refused;
  for (const StudyRow& row : results.rows)
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      if (const auto& comparison = row.cells[c].comparison;
          comparison && !comparison->refused.empty())
        say(refused,
            fmt::format("not compared with {} in {}, because {}", row.baseline,
                        results.columns[c].evaluator, comparison->refused),
            row.label);
  for (const auto& [why, labels] : refused)
    out.push_back(fmt::format("{}: {}", listed(labels), why));
  for (std::string& line : scaled(results.rows.size())) out.push_back(std::move(line));
  return out;
}

// Changes that the same arms share stand together.
std::vector<std::string> StudyNotes::scaled(std::size_t arms) const {
  Said changes;
  for (const RunOfStudy& run : study_.runs) {
    std::istringstream lines(run.scaled);
    for (std::string line; std::getline(lines, line);)
      say(changes, line.substr(std::min(line.find_first_not_of(' '), line.size())), run.label);
  }
  std::vector<std::string> out;
  while (!changes.empty()) {
    const std::vector<std::string> labels = changes.front().second;
    std::string text;
    for (const auto& [change, of] : changes)
      if (of == labels) text += (text.empty() ? "Scaled: " : "; ") + change;
    std::erase_if(changes, [&](const auto& change) { return change.second == labels; });
    if (labels.size() < arms) text += fmt::format(" ({})", listed(labels));
    out.push_back(std::move(text));
  }
  return out;
}

std::vector<std::string> StudyNotes::trouble() const {
  Said said;  // of label and reason, the seeds
  for (std::size_t i = 0; i < study_.runs.size(); ++i) {
    const RunOfStudy& run = study_.runs[i];
    const std::string seed = run.seed.empty() ? "its only one" : run.seed;
    if (run.state == ArmState::failed)
      say(said,
          fmt::format("{} failed: {}", run.label,
                      run.failure.empty() ? "nothing says why" : run.failure),
          seed);
    for (const std::string& failure : runs_[i].failures)
      say(said, fmt::format("{}: an evaluation failed, {}", run.label, failure), seed);
    if (run.state != ArmState::done) continue;
    for (const std::string& problem : runs_[i].problems)
      say(said, fmt::format("{}: {}", run.label, problem), seed);
  }
  std::vector<std::string> out;
  for (const auto& [what, seeds] : said)
    out.push_back(
        fmt::format("{} (seed{} {})", what, seeds.size() == 1 ? "" : "s", listed(seeds, 99)));
  return out;
}

void StudyNotes::finish(StudyResults& results) const {
  for (const OfEvaluator& of : evaluators_)
    if (of.any) results.protocols.push_back(protocol(of));
  results.notes = statistics(results);
  results.flags = flags(results);
  results.trouble = study_.problems;
  for (std::string& line : trouble()) results.trouble.push_back(std::move(line));
}

}  // namespace gh::host
