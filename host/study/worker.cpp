#include "study/worker.hpp"

#include "files/process_mark.hpp"
#include "run/run_directory.hpp"
#include "run/run_lock.hpp"
#include "study/job_board.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// How often a worker without anything to do looks again: it waits longer each time.
constexpr Seconds kFirstPause{0.02}, kLongestPause{2};
// So long for a run directory that somebody else writes.
constexpr Seconds kLongestHold{60};
constexpr Seconds kTick{0.2};            // to notice signals that another thread received
constexpr Seconds kTickWithoutFd{0.02};  // where the system does not tell when a child ends

double since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

class Worker {
 public:
  Worker(const JobList& jobs, const WorkRules& rules)
      : jobs_(jobs),
        rules_(rules),
        random_(std::random_device{}()),
        leases_(leases_of(rules.study), rules.lease),
        heart_(leases_),
        board_(jobs, outcomes_of(rules.study), random_()) {
    for (const RunSlot& slot : rules.slots) free_.push_back(&slot);
    fs::create_directories(rules_.study / "logs");
    fs::create_directories(leases_of(rules_.study));
    if (const std::string trouble = RunLock::trouble_in(leases_of(rules.study)); !trouble.empty())
      rules_.tell(fmt::format(
          "the file system of {} cannot lock ({}): leases keep workers apart, but nothing keeps "
          "out "
          "a run started by hand, or a worker that was stopped (SIGSTOP) for {:.0f} s and goes on",
          rules.study.string(), trouble, leases_.grace()));
  }

  WorkEnd run() {
    for (;;) {
      if (gh::interrupted()) stop(WorkEnd::interrupted);
      reap();
      kill_lost();
      if (!stopping_) fill();
      if (running_.empty() && (stopping_ || board_.all_settled())) break;
      rules_.meanwhile();
      wait();
    }
    return stopping_.value_or(WorkEnd::settled);
  }

 private:
  struct Running {
    std::size_t job;
    const RunSlot* slot;
    Outcome outcome;
    Clock::time_point begun;
    std::unique_ptr<RunningProgram> child;
    bool lost = false;
  };
  struct Hold {  // of a run directory that somebody else writes
    Clock::time_point until;
    Seconds pause;
  };

  const Job& job_of(std::size_t index) const { return jobs_.jobs[index]; }
  void tell(std::size_t index, const std::string& what) const {
    rules_.tell(fmt::format("{}: {}", name_of(job_of(index)), what));
  }

  void stop(WorkEnd why) {
    if (stopping_) return;
    stopping_ = why;
    for (const Running& running : running_) running.child->send(SIGTERM);
  }

  void kill_lost() {
    for (Running& running : running_) {
      if (running.lost || leases_.holds(job_of(running.job).id)) continue;
      running.lost = true;
      running.child->send(SIGKILL);
      tell(running.job, "this worker has lost its lease, and stops");
    }
  }

  void reap() {
    for (std::size_t i = running_.size(); i-- > 0;) {
      const std::optional<ProcessEnd> end = running_[i].child->ended();
      if (!end) continue;
      Running ended = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      free_.push_back(ended.slot);
      settle(ended, *end);
      next_scan_ = Clock::now();
      pause_ = kFirstPause;
    }
  }

  void settle(Running& ended, const ProcessEnd& end) {
    board_.set_busy(ended.job, false);
    const std::string& id = job_of(ended.job).id;
    if (ended.lost || !leases_.holds(id)) return leases_.give_back(id);
    Attempt& attempt = ended.outcome.attempts.back();
    attempt.ended = utc_now();
    attempt.end = end;
    attempt.seconds = since(ended.begun);
    const Ending ending = meaning_of(end);
    if (ending != Ending::done && ending != Ending::interrupted)
      attempt.why = last_complaint(rules_.study / attempt.log, attempt.log_begin);
    write_outcome(outcomes_of(rules_.study), id, ended.outcome);
    board_.refresh(ended.job);
    leases_.give_back(id);
    const Verdict verdict = board_.verdict(ended.job);
    if (verdict == Verdict::open) board_.set_back(ended.job);
    tell(ended.job, end_of(attempt, ending, verdict));
    if (verdict == Verdict::failed && rules_.fail_fast) stop(WorkEnd::failed_fast);
  }

  static std::string end_of(const Attempt& attempt, Ending ending, Verdict verdict) {
    if (ending == Ending::done) return fmt::format("done, {:.1f} s", attempt.seconds);
    if (ending == Ending::interrupted) return "stopped, and can go on";
    const char* then = verdict == Verdict::open                 ? "; will be tried again"
                       : verdict == Verdict::evaluations_failed ? "; trained to the end"
                                                                : "";
    return fmt::format("{}: {} ({}){}", end_text(attempt.end), attempt.why, attempt.log, then);
  }

  void fill() {
    while (!free_.empty() && Clock::now() >= next_scan_) {
      if (start_next()) {
        pause_ = kFirstPause;
        continue;
      }
      // Not all at the same time.
      const double part = std::uniform_real_distribution<>(0.5, 1)(random_);
      next_scan_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause_ * part);
      pause_ = std::min(2 * pause_, kLongestPause);
    }
  }

  bool start_next() {
    for (const std::size_t i : board_.ready()) {
      if (const auto hold = holds_.find(i);
          hold != holds_.end() && Clock::now() < hold->second.until)
        continue;
      const std::string& id = job_of(i).id;
      if (leases_.is_known(id)) {  // so that a lease is taken for what is left to do only
        if (leases_.holder(id)) continue;
        board_.refresh(i);
        if (board_.settled(i)) {
          pause_ = kFirstPause;  // others may have waited for it
          continue;
        }
      }
      const Leases::Taken taken = leases_.take(id);
      if (taken == Leases::Taken::no) continue;
      const Outcome outcome = board_.refresh(i);
      if (!board_.settled(i) && is_unused(i, taken)) {
        start(i, outcome);
        return true;
      }
      leases_.give_back(id);
    }
    return false;
  }

  // Whether nobody writes its run directory, as a child does that has not died yet, or somebody who
  // runs it by hand. If so, it is left alone for a while.
  bool is_unused(std::size_t index, Leases::Taken taken) {
    const fs::path directory = rules_.study / job_of(index).directory;
    if (!RunLock::has_been_in(directory)) return true;
    if (taken == Leases::Taken::from_the_dead) RunLock::forget_owner(directory);
    try {
      const RunLock unused(directory);
      holds_.erase(index);
      return true;
    } catch (const Error& busy) {
      Hold& hold = holds_.try_emplace(index, Hold{{}, kFirstPause}).first->second;
      hold.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(hold.pause);
      hold.pause = std::min(4 * hold.pause, kLongestHold);
      if (hold.pause == kLongestHold) tell(index, busy.what());
      return false;
    }
  }

  void start(std::size_t index, Outcome outcome) {
    const Job& job = job_of(index);
    const RunSlot* slot = free_.back();
    RunningProgram::Start how = rules_.start(job, *slot);
    const std::string log = "logs/" + fs::path(job.directory).filename().string() + ".log";
    how.log = rules_.study / log;
    std::error_code none;
    const std::uintmax_t size = fs::file_size(how.log, none);
    const bool again = !outcome.attempts.empty();
    outcome.attempts.push_back({.started = utc_now(),
                                .machine = machine_name(),
                                .process = ::getpid(),
                                .log = log,
                                .log_begin = none ? 0 : static_cast<int64_t>(size)});
    write_outcome(outcomes_of(rules_.study), job.id, outcome);
    auto child = std::make_unique<RunningProgram>(how);
    free_.pop_back();
    board_.set_busy(index, true);
    running_.push_back({index, slot, std::move(outcome), Clock::now(), std::move(child)});
    tell(index, again ? "goes on" : "begins");
  }

  // Until a child ends or it is time to look again.
  void wait() const {
    Seconds timeout = kTick;
    std::vector<pollfd> ends;
    for (const Running& running : running_) {
      if (running.child->end_fd() < 0) timeout = kTickWithoutFd;
      ends.push_back({.fd = running.child->end_fd(), .events = POLLIN, .revents = 0});
    }
    if (!free_.empty() && !stopping_)
      timeout = std::min(timeout, std::max(Seconds(0.001), Seconds(next_scan_ - Clock::now())));
    ::poll(ends.data(), ends.size(), static_cast<int>(1000 * timeout.count()) + 1);
  }

  const JobList& jobs_;
  const WorkRules& rules_;
  std::mt19937_64 random_;
  Leases leases_;
  LeaseHeart heart_;
  JobBoard board_;
  std::vector<const RunSlot*> free_;
  std::vector<Running> running_;
  std::map<std::size_t, Hold> holds_;
  Clock::time_point next_scan_{};
  Seconds pause_ = kFirstPause;
  std::optional<WorkEnd> stopping_;
};

}  // namespace

WorkEnd work(const JobList& jobs, const WorkRules& rules) { return Worker(jobs, rules).run(); }

namespace {

// False where somebody works on it.
bool forget_attempts(const Job& job, Outcome outcome, const fs::path& study, Leases& leases) {
  if (leases.take(job.id) == Leases::Taken::no) return false;
  outcome.forgiven = static_cast<int64_t>(outcome.attempts.size());
  write_outcome(outcomes_of(study), job.id, outcome);
  leases.give_back(job.id);
  return true;
}

}  // namespace

std::size_t forgive_failed(const JobList& jobs, const fs::path& study) {
  Leases leases(leases_of(study));
  std::size_t forgiven = 0;
  for (const Job& job : jobs.jobs) {
    const Outcome outcome = read_outcome(outcomes_of(study), job.id);
    if (job.repeated || judge(outcome, jobs.retries) != Verdict::failed) continue;
    forgiven += forget_attempts(job, outcome, study, leases);
  }
  return forgiven;
}

std::size_t forget_removed(const JobList& jobs, const fs::path& study) {
  Leases leases(leases_of(study));
  std::unordered_set<std::string> wanted;  // trunks
  std::size_t forgotten = 0;
  for (std::size_t i = jobs.jobs.size(); i-- > 0;) {  // trunks stand before what begins with them
    const Job& job = jobs.jobs[i];
    if (job.repeated) continue;
    const Outcome outcome = read_outcome(outcomes_of(study), job.id);
    Verdict verdict = judge(outcome, jobs.retries);
    const bool is_wanted = job.until == 0 || wanted.contains(job.id);
    if (is_wanted && is_removed(study, job, verdict)) {
      forgotten += forget_attempts(job, outcome, study, leases);
      verdict = Verdict::open;
    }
    if (verdict == Verdict::open) wanted.insert(job.from);
  }
  return forgotten;
}

bool is_removed(const fs::path& study, const Job& job, Verdict verdict) {
  const bool trained = verdict == Verdict::done || verdict == Verdict::evaluations_failed;
  return trained && !fs::exists(study / job.directory);
}

fs::path outcomes_of(const fs::path& study) { return study / "outcomes"; }

fs::path leases_of(const fs::path& study) { return study / "leases"; }

std::string name_of(const Job& job) {
  return job.seed.empty() ? job.label : fmt::format("{}, seed {}", job.label, job.seed);
}

std::vector<std::string> run_arguments(const JobList& jobs, const fs::path& study, const Job& job) {
  std::vector<std::string> out = jobs.plugin_rules;
  for (const std::string& plugin : jobs.plugins) {
    out.push_back("--plugin");
    out.push_back(plugin);
  }
  out.insert(out.end(), {"run", (study / job.recipe).string(), "--out",
                         (study / job.directory).string(), "--resume"});
  if (job.until > 0) out.insert(out.end(), {"--until", std::to_string(job.until)});
  if (const Job* trunk = job.from.empty() ? nullptr : jobs.find(job.from))
    out.insert(out.end(), {"--fork", (study / trunk->directory).string()});
  return out;
}

}  // namespace gh::host
