// Studies for tests: summaries whose runs lie in directories written by hand.
#pragma once

#include "report/study_summary.hpp"
#include "unit/report/run_fixture.hpp"

#include <deque>
#include <string>
#include <vector>

namespace gh::test {

class StudyFixture {
 public:
  StudyFixture();
  // A run that is done, with one evaluation of "knn" whose few is `few`; "null" for none.
  host::RunOfStudy& add(const std::string& label, int seed, const std::string& few,
                        const std::string& baseline = "base");
  // Seeds 0, 1, … of an arm.
  void add_arm(const std::string& label, const std::vector<std::string>& few,
               const std::string& baseline = "base");
  // One that has no directory.
  host::RunOfStudy& add_absent(const std::string& label, int seed, host::ArmState state);
  // Gives every run of the arm `label` these axes.
  void set_axes(const std::string& label, const host::Pairs& axes, const std::string& arm = "");

  RunFixture& last() { return directories_.back(); }  // of the run that was added last
  host::StudySummary study;

 private:
  std::deque<RunFixture> directories_;
};

}  // namespace gh::test
