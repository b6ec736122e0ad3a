// The sentences below a study's tables: what was measured and how, what tests and intervals can and
// cannot say, what stands out, what failed. For study_results() alone.
#pragma once

#include "report/study_results.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

class StudyNotes {
 public:
  // Refers to both.
  StudyNotes(const StudySummary& study, std::span<const RunRecord> runs);

  // `values` are those of the study's runs.
  void add(const StudyColumn& column, std::span<const ColumnValue> values);
  // Writes protocols, notes, flags and trouble; needs the finished rows.
  void finish(StudyResults& results) const;

 private:
  // A text, and the labels of those it is true of.
  using Said = std::vector<std::pair<std::string, std::vector<std::string>>>;
  struct OfColumn {
    std::string heading;
    Said definitions;
  };
  struct OfEvaluator {
    std::string evaluator;
    Said how;
    int64_t first_epoch = 0, last_epoch = 0;
    bool any = false;
    std::vector<OfColumn> columns;
  };

  static void say(Said& said, const std::string& text, const std::string& label);
  static StudyProtocol protocol(const OfEvaluator& of);
  std::vector<std::string> statistics(const StudyResults& results) const;
  std::vector<std::string> flags(const StudyResults& results) const;
  std::vector<std::string> scaled(std::size_t arms) const;
  std::vector<std::string> trouble() const;

  const StudySummary& study_;
  std::span<const RunRecord> runs_;
  std::vector<OfEvaluator> evaluators_;
  std::vector<std::string> missing_;  // metrics that no run has
};

}  // namespace gh::host
