#include "study/job_board.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <random>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Of each job the index of the one it begins with, or kNone.
std::vector<std::size_t> beginnings(const JobList& list) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < list.jobs.size(); ++i) index.try_emplace(list.jobs[i].id, i);
  std::vector<std::size_t> from(list.jobs.size(), kNone);
  for (std::size_t i = 0; i < list.jobs.size(); ++i) {
    const Job& job = list.jobs[i];
    if (job.from.empty()) continue;
    const auto found = index.find(job.from);
    require(found != index.end(), ErrorCode::invalid_param, "run ", job.directory,
            " begins with a job that is not there: ", job.from);
    from[i] = found->second;
  }
  return from;
}

// And did not fail.
bool has_begun(const Outcome& outcome) {
  return !outcome.attempts.empty() && failures(outcome) == 0;
}

// With epochs in place of seconds, unless it is known of all jobs how long they take.
JobList with_lengths(JobList list) {
  const bool known = std::all_of(list.jobs.begin(), list.jobs.end(),
                                 [](const Job& job) { return job.seconds > 0; });
  if (!known)
    for (Job& job : list.jobs) job.seconds = static_cast<double>(own_epochs(job));
  return list;
}

}  // namespace

std::vector<double> longest_paths(const JobList& list) {
  const std::vector<std::size_t> from = beginnings(list);
  const std::size_t count = list.jobs.size();
  std::vector<std::size_t> waiting(count, 0);  // dependents whose path is not known
  for (const std::size_t trunk : from)
    if (trunk != kNone) ++waiting[trunk];
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < count; ++i)
    if (waiting[i] == 0) known.push_back(i);
  std::vector<double> paths(count, 0), after(count, 0);
  for (std::size_t next = 0; next < known.size(); ++next) {
    const std::size_t i = known[next], trunk = from[i];
    paths[i] = std::max(0.0, list.jobs[i].seconds) + after[i];
    if (trunk == kNone) continue;
    after[trunk] = std::max(after[trunk], paths[i]);
    if (--waiting[trunk] == 0) known.push_back(trunk);
  }
  for (std::size_t i = 0; i < count; ++i)
    require(waiting[i] == 0, ErrorCode::invalid_param, "run ", list.jobs[i].directory,
            " begins with itself");
  return paths;
}

JobBoard::JobBoard(const JobList& jobs, const fs::path& outcomes, uint64_t seed)
    : jobs_(jobs),
      outcomes_(outcomes),
      entries_(jobs.jobs.size()),
      paths_(longest_paths(with_lengths(jobs))) {
  const std::vector<std::size_t> from = beginnings(jobs);
  std::unordered_set<std::string> attempted;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(outcomes_, none))
    attempted.insert(entry.path().stem().string());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].from = from[i];
    if (attempted.contains(jobs_.jobs[i].id)) refresh(i);
    if (!jobs_.jobs[i].repeated) order_.push_back(i);
  }
  std::shuffle(order_.begin(), order_.end(), std::mt19937_64(seed));
  sort();
}

void JobBoard::sort() {
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    if (entries_[a].setbacks != entries_[b].setbacks)
      return entries_[a].setbacks < entries_[b].setbacks;
    if (paths_[a] != paths_[b]) return paths_[a] > paths_[b];
    return has_begun(entries_[a].outcome) > has_begun(entries_[b].outcome);
  });
  sorted_ = true;
}

std::vector<std::size_t> JobBoard::ready() {
  if (!sorted_) sort();
  std::erase_if(order_, [&](std::size_t i) { return settled(i); });
  std::vector<std::size_t> out;
  for (const std::size_t i : order_) {
    const std::size_t from = entries_[i].from;
    if (entries_[i].busy || (from != kNone && entries_[from].verdict == Verdict::open)) continue;
    out.push_back(i);
  }
  return out;
}

const Outcome& JobBoard::refresh(std::size_t job) {
  Entry& entry = entries_[job];
  entry.outcome = read_outcome(outcomes_, jobs_.jobs[job].id);
  entry.verdict = judge(entry.outcome, jobs_.retries);
  return entry.outcome;
}

void JobBoard::set_back(std::size_t job) {
  ++entries_[job].setbacks;
  sorted_ = false;
}

bool JobBoard::settled(std::size_t job) const {
  if (entries_[job].verdict != Verdict::open) return true;
  for (std::size_t from = entries_[job].from; from != kNone; from = entries_[from].from)
    if (entries_[from].verdict == Verdict::failed) return true;
  return false;
}

bool JobBoard::all_settled() const {
  return std::all_of(order_.begin(), order_.end(), [&](std::size_t i) { return settled(i); });
}

}  // namespace gh::host
