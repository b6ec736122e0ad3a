// Two ranks, each with a method of its own and samples of its own.
#include "plugins/ssl_trial.hpp"

#include "gh/testing/rank_hosts.hpp"

#include <array>

namespace gh::host {
namespace {

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const ConformanceOptions kQuiet = {};

struct Rank {
  std::unique_ptr<SslTrial> trial;
  Findings findings{kQuiet};
  StateMap state;
};

// Where one rank leaves, the others wait in vain: what made it leave is the cause.
std::string cause_of(const std::vector<std::exception_ptr>& thrown) {
  std::string cause;
  for (const std::exception_ptr& each : thrown) try {
      if (each) std::rethrow_exception(each);
    } catch (...) {
      const std::string text = thrown_now();
      if (cause.empty() || !says(text, "same collectives")) cause = text;
    }
  return cause;
}

}  // namespace

void check_ranks(const Make<SslMethod>& make, const RunFacts& facts, uint32_t flags,
                 Findings& out) {
  RunFacts of_all = facts;
  of_all.world = 2;
  if (const std::string text = complaints_of(*make(), of_all, out); !text.empty())
    return out.remark("refuses two ranks: " + text);
  testing::RankHosts hosts(facts);
  std::array<Rank, 2> ranks;
  for (int r = 0; r < 2; ++r)
    ranks[r].trial = std::make_unique<SslTrial>(of_all, make(), flags, TrialWay{}, &hosts.host(r));
  const std::string thrown = cause_of(hosts.run([&](int r) {
    ranks[r].trial->train(ranks[r].findings);
    ranks[r].state = ranks[r].trial->save(ranks[r].findings);
  }));
  out.part("two ranks");
  for (const Rank& rank : ranks)
    for (const std::string& line : rank.findings.violations()) out.violation(line);
  if (!thrown.empty())
    return out.violation("threw " + thrown,
                         says(thrown, "same collectives")
                             ? "a collective stands behind a condition on the rank or on its data"
                             : "");
  // Each rank's own, and meant to be.
  for (Rank& rank : ranks)
    for (const char* own : {"running_mean", "running_var"}) rank.state.leave_out(own);
  const std::string difference = ranks[0].state.difference(ranks[1].state);
  out.expect(difference.empty(), "expected the same state on every rank, found that " + difference,
             "own rows are kept: all_gather() before storing, since the checkpoint is rank 0's");
  out.tried("two ranks");
}

}  // namespace gh::host
