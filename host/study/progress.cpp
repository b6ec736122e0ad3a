#include "study/progress.hpp"

#include "run/run_directory.hpp"
#include "study/job_board.hpp"
#include "study/outcomes.hpp"
#include "study/worker.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

// Where one job is. Of jobs that are repeated, each row has its own, with the same content.
struct Position {
  ArmState state = ArmState::fresh;
  Outcome outcome;
  int64_t epochs = 0;          // that lie in its directory
  std::optional<double> pace;  // seconds an epoch, while it runs
  std::optional<double> left;  // seconds
  std::string failure;
};

// What it is estimated to take, or where nobody did, its epochs: times of one study are put into
// proportion by what has ended.
double cost(const Job& job) {
  return job.seconds > 0 ? job.seconds : static_cast<double>(own_epochs(job));
}

// Lines of metrics.jsonl: one an epoch, of all stages.
int64_t epochs_in(const fs::path& run) {
  std::ifstream in(run / "metrics.jsonl", std::ios::binary);
  return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
}

// By what the run says of its stage while it runs.
std::optional<double> pace_of(const fs::path& run) {
  std::ifstream in(run / "status.json", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto status = parse_json_or_discard(text);
  if (!status.is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    const auto found = status.find(key);
    return found != status.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const double ahead = number("epochs") - number("epoch"), seconds = number("seconds_left");
  if (ahead <= 0 || seconds <= 0) return std::nullopt;
  return seconds / ahead;
}

std::string failure_of(const Outcome& outcome) {
  for (auto attempt = outcome.attempts.rbegin(); attempt != outcome.attempts.rend(); ++attempt)
    if (!attempt->ended.empty() && meaning_of(attempt->end) != Ending::interrupted)
      return fmt::format("{}{}{} (log: {})", end_text(attempt->end),
                         attempt->why.empty() ? "" : ": ", attempt->why, attempt->log);
  return "";
}

class Progress {
 public:
  Progress(const fs::path& study, const JobList& list, Leases* leases)
      : study_(study), list_(list), leases_(leases), positions_(list.jobs.size()) {
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) first_.try_emplace(list_.jobs[i].id, i);
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) positions_[i] = locate(list_.jobs[i]);
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) block(i);
    estimate();
  }

  const Position& at(std::size_t index) const { return positions_[index]; }

  // Together, what is trained once counted once.
  struct Total {
    int64_t epochs_done = 0, epochs_planned = 0;
    std::optional<double> work = 0.0;  // seconds, one after the other
    std::size_t running = 0;
  };
  Total total() const {
    Total total;
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) {
      const Job& job = list_.jobs[i];
      if (job.repeated) continue;
      total.epochs_planned += own_epochs(job);
      total.epochs_done +=
          std::clamp<int64_t>(positions_[i].epochs - job.from_epoch, 0, own_epochs(job));
      total.running += positions_[i].state == ArmState::running ? 1 : 0;
      if (is_over(i)) continue;
      total.work = total.work && positions_[i].left
                       ? std::optional(*total.work + *positions_[i].left)
                       : std::nullopt;
    }
    return total;
  }

  // Of jobs that wait for one another.
  double longest_left() const {
    JobList left = list_;
    for (std::size_t i = 0; i < left.jobs.size(); ++i)
      left.jobs[i].seconds = is_over(i) ? 0 : positions_[i].left.value_or(0);
    const std::vector<double> paths = longest_paths(left);
    return paths.empty() ? 0 : *std::max_element(paths.begin(), paths.end());
  }

 private:
  bool is_over(std::size_t index) const {
    return positions_[index].state == ArmState::done || positions_[index].state == ArmState::failed;
  }

  Position locate(const Job& job) {
    Position at;
    at.outcome = read_outcome(outcomes_of(study_), job.id);
    const Verdict verdict = judge(at.outcome, list_.retries);
    const fs::path run = study_ / job.directory;
    if (job.until == 0 && is_removed(study_, job, verdict)) return {};
    if (verdict == Verdict::done || verdict == Verdict::evaluations_failed) {
      at.state = ArmState::done;
      at.epochs = job.until > 0 ? job.until : job.epochs;
      if (verdict == Verdict::evaluations_failed) at.failure = failure_of(at.outcome);
      return at;
    }
    if (!at.outcome.attempts.empty()) at.epochs = epochs_in(run);
    if (verdict == Verdict::failed) {
      at.state = ArmState::failed;
      at.failure = failure_of(at.outcome);
    } else if (leases_ && leases_->is_known(job.id) && leases_->holder(job.id)) {
      at.state = ArmState::running;
      at.pace = pace_of(run);
    } else if (!at.outcome.attempts.empty()) {
      at.state = ArmState::resumable;
    }
    return at;
  }

  // What waits for a job that failed has failed with it.
  void block(std::size_t index) {
    Position& at = positions_[index];
    if (is_over(index)) return;
    const Job* job = &list_.jobs[index];
    for (std::size_t steps = 0; !job->from.empty() && steps < list_.jobs.size(); ++steps) {
      const auto trunk = first_.find(job->from);
      if (trunk == first_.end()) return;
      const Position& other = positions_[trunk->second];
      job = &list_.jobs[trunk->second];
      if (other.state != ArmState::failed) continue;
      at.state = ArmState::failed;
      at.failure = fmt::format("begins with {}, which failed: {}", job->directory, other.failure);
      return;
    }
  }

  void estimate() {
    double spent = 0, expected = 0;
    bool all_estimated = true;
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) {
      all_estimated = all_estimated && (is_over(i) || list_.jobs[i].seconds > 0);
      if (positions_[i].state != ArmState::done || list_.jobs[i].repeated) continue;
      spent += seconds_spent(positions_[i].outcome);
      expected += cost(list_.jobs[i]);
    }
    const bool measured = spent > 0 && expected > 0;
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) {
      Position& at = positions_[i];
      const Job& job = list_.jobs[i];
      const int64_t own = own_epochs(job);
      const auto ahead =
          static_cast<double>(own - std::clamp<int64_t>(at.epochs - job.from_epoch, 0, own));
      if (is_over(i)) continue;
      if (at.pace)
        at.left = *at.pace * ahead;
      else if (measured || all_estimated)
        at.left = (measured ? spent / expected : 1.0) * cost(job) *
                  (own > 0 ? ahead / static_cast<double>(own) : 1.0);
    }
  }

  const fs::path& study_;
  const JobList& list_;
  Leases* leases_;  // null: nobody works
  std::vector<Position> positions_;
  std::unordered_map<std::string, std::size_t> first_;  // of an id
};

RunOfStudy run_of(const fs::path& study, const Job& job, const Position& at) {
  RunOfStudy out;
  static_cast<RowOfStudy&>(out) = job;
  out.state = at.state;
  out.epochs_done = at.epochs;
  out.epochs_planned = job.epochs;
  out.seconds_left = at.left;
  out.directory = study / job.directory;
  out.failure = at.failure;
  return out;
}

}  // namespace

StudySummary summarize(const fs::path& study, const JobList& jobs, Leases& leases) {
  const Progress progress(study, jobs, &leases);
  StudySummary out;
  static_cast<StudyHeading&>(out) = jobs;
  out.directory = study;
  out.updated = utc_now();
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    const Job& job = jobs.jobs[i];
    const Position& at = progress.at(i);
    if (job.until == 0)
      out.runs.push_back(run_of(study, job, at));
    else if (at.state == ArmState::failed)
      out.problems.push_back(
          fmt::format("{}, which others begin with, failed: {}", job.directory, at.failure));
  }
  const Progress::Total total = progress.total();
  out.epochs_done = total.epochs_done;
  out.epochs_planned = total.epochs_planned;
  if (total.work)
    out.seconds_left =
        std::max(progress.longest_left(),
                 *total.work / static_cast<double>(std::max<std::size_t>(1, total.running)));
  return out;
}

std::optional<double> seconds_of_work(const fs::path& study, const JobList& jobs) {
  return Progress(study, jobs, nullptr).total().work;
}

}  // namespace gh::host
