#include "study/run_state.hpp"

#include "study/outcomes.hpp"
#include "study/worker.hpp"
#include "text/json.hpp"

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr double kSilence = 60;  // seconds after which a run does not live any more

// Seconds since "2026-01-31T12:00:00Z"; as good as never where it is none.
double age_of(const std::string& time) {
  std::tm parts{};
  if (!::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts)) return 1e18;
  return std::difftime(std::time(nullptr), ::timegm(&parts));
}

ArmState by_status(const std::string& state, const std::string& updated) {
  if (state == "finished") return ArmState::done;
  if (state == "failed") return ArmState::failed;
  if (state == "running" && age_of(updated) < kSilence) return ArmState::running;
  return ArmState::resumable;
}

}  // namespace

RunState state_of(const fs::path& study, const Job& job, int64_t retries) {
  RunState out;
  const Outcome outcome = read_outcome(outcomes_of(study), job.id);
  std::ifstream in(study / job.directory / "status.json", std::ios::binary);
  const auto status =
      in ? parse_json_or_discard(std::string(std::istreambuf_iterator<char>(in), {}))
         : nlohmann::json();
  if (status.is_object()) {
    out.epochs = status.value("epoch", int64_t{0});
    out.why = status.value("message", "");
    out.state = by_status(status.value("state", ""), status.value("updated", ""));
  }
  const Verdict verdict = judge(outcome, retries);
  if (is_removed(study, job, verdict)) return {};
  switch (verdict) {
    case Verdict::done:
    case Verdict::evaluations_failed:
      out.state = ArmState::done;
      return out;
    case Verdict::failed:
      out.state = ArmState::failed;
      if (!outcome.attempts.back().why.empty()) out.why = outcome.attempts.back().why;
      return out;
    case Verdict::open:
      // It is tried again.
      if (!outcome.attempts.empty() && out.state == ArmState::failed)
        out.state = ArmState::resumable;
      return out;
  }
  return out;
}

}  // namespace gh::host
