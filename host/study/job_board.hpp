// Which jobs of a study are settled, and which may be started now, in the order they should be.
// What one worker knows; it looks at files only where it is told to.
#pragma once

#include "study/job_list.hpp"
#include "study/outcomes.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace gh::host {

// Of each job, seconds from its start to the end of the last of those that wait for it, one after
// the other: what a study takes at least if it is begun now. Throws gh::Error (invalid_param) for
// jobs that begin with one that is not there or, around a circle, with themselves.
std::vector<double> longest_paths(const JobList& jobs);

class JobBoard {
 public:
  // Reads what outcomes there are. `jobs` outlives this. Workers of different `seed` begin with
  // different ones of jobs that are as long, so that they do not all want the same.
  JobBoard(const JobList& jobs, const std::filesystem::path& outcomes, uint64_t seed);

  // Indices of jobs that are open, not busy, and have what they begin with: those that went wrong
  // fewer times first, then those with the longest path (by epochs where times are
  // not known), and of equal ones those that have begun.
  std::vector<std::size_t> ready();

  // Reads its outcome again.
  const Outcome& refresh(std::size_t job);
  void set_busy(std::size_t job, bool busy) { entries_[job].busy = busy; }
  void set_back(std::size_t job);  // it went wrong here: others first

  Verdict verdict(std::size_t job) const { return entries_[job].verdict; }
  // Nothing will be done about it: it is done or failed, or what it begins with has failed.
  bool settled(std::size_t job) const;
  bool all_settled() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Entry {
    Outcome outcome;
    Verdict verdict = Verdict::open;
    std::size_t from = kNone;
    bool busy = false;
    int64_t setbacks = 0;
  };

  void sort();

  const JobList& jobs_;
  std::filesystem::path outcomes_;
  std::vector<Entry> entries_;
  std::vector<double> paths_;
  std::vector<std::size_t> order_;  // without repeated ones
  bool sorted_ = false;
};

}  // namespace gh::host
