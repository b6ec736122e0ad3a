#include "study/outcomes.hpp"

#include "files/file_write.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>
#include <system_error>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kTail = 64 * 1024;  // of a log, where the reason is looked for

fs::path file_of(const fs::path& outcomes, const std::string& job) {
  return outcomes / (job + ".json");
}

std::span<const Attempt> counted(const Outcome& outcome) {
  const auto forgiven = static_cast<std::size_t>(std::max<int64_t>(0, outcome.forgiven));
  return std::span(outcome.attempts).subspan(std::min(forgiven, outcome.attempts.size()));
}

bool is_failure(const Attempt& attempt) {
  if (attempt.ended.empty()) return false;
  const Ending ending = meaning_of(attempt.end);
  return ending == Ending::failed || ending == Ending::hopeless;
}

Json to_json(const Attempt& attempt) {
  Json json = {{"started", attempt.started},
               {"machine", attempt.machine},
               {"process", attempt.process},
               {"log", attempt.log},
               {"log_begin", attempt.log_begin}};
  if (attempt.ended.empty()) return json;
  json["ended"] = attempt.ended;
  json["seconds"] = attempt.seconds;
  json[attempt.end.signal != 0 ? "signal" : "code"] =
      attempt.end.signal != 0 ? attempt.end.signal : attempt.end.code;
  if (!attempt.why.empty()) json["why"] = attempt.why;
  return json;
}

Attempt attempt_in(const Json& json) {
  return {.started = json.value("started", ""),
          .ended = json.value("ended", ""),
          .machine = json.value("machine", ""),
          .process = json.value("process", int64_t{0}),
          .end = {.code = json.value("code", 0), .signal = json.value("signal", 0)},
          .seconds = json.value("seconds", 0.0),
          .log = json.value("log", ""),
          .log_begin = json.value("log_begin", int64_t{0}),
          .why = json.value("why", "")};
}

}  // namespace

Ending meaning_of(const ProcessEnd& end) {
  switch (end.signal) {
    case 0:
      break;
    case SIGTERM:
    case SIGINT:
    case SIGUSR1:
      return Ending::interrupted;
    default:
      return Ending::failed;
  }
  switch (end.code) {
    case 0:
      return Ending::done;
    case 3:
      return Ending::evaluations_failed;
    case 75:
      return Ending::interrupted;
    case 64:
    case 65:
    case 66:
    case 78:
      return Ending::hopeless;
    default:
      return Ending::failed;
  }
}

int64_t failures(const Outcome& outcome) {
  const std::span<const Attempt> attempts = counted(outcome);
  return std::count_if(attempts.begin(), attempts.end(), is_failure);
}

Verdict judge(const Outcome& outcome, int64_t retries) {
  const std::span<const Attempt> attempts = counted(outcome);
  for (const Attempt& attempt : attempts) {
    if (attempt.ended.empty()) continue;
    const Ending ending = meaning_of(attempt.end);
    if (ending == Ending::done) return Verdict::done;
    if (ending == Ending::evaluations_failed) return Verdict::evaluations_failed;
    if (ending == Ending::hopeless) return Verdict::failed;
  }
  return failures(outcome) > retries ? Verdict::failed : Verdict::open;
}

double seconds_spent(const Outcome& outcome) {
  return std::accumulate(outcome.attempts.begin(), outcome.attempts.end(), 0.0,
                         [](double sum, const Attempt& attempt) { return sum + attempt.seconds; });
}

std::string end_text(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.code);
  const char* name = sigabbrev_np(end.signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", end.signal);
}

Outcome read_outcome(const fs::path& outcomes, const std::string& job) {
  const fs::path file = file_of(outcomes, job);
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return {};
  const std::string text(std::istreambuf_iterator<char>(in), {});
  try {
    const Json json = parse_json<Json>(text);
    Outcome outcome;
    outcome.forgiven = json.value("forgiven", int64_t{0});
    for (const Json& attempt : json.at("attempts")) outcome.attempts.push_back(attempt_in(attempt));
    return outcome;
  } catch (const nlohmann::json::exception& damage) {
    fail(ErrorCode::invalid_param, file.string(),
         " is damaged; remove it, and its run is looked at again: ", damage.what());
  }
}

void write_outcome(const fs::path& outcomes, const std::string& job, const Outcome& outcome) {
  std::error_code error;
  fs::create_directories(outcomes, error);
  require(!error, ErrorCode::io, "cannot create ", outcomes.string(), ": ", error.message());
  Json json = {{"attempts", Json::array()}};
  for (const Attempt& attempt : outcome.attempts) json["attempts"].push_back(to_json(attempt));
  if (outcome.forgiven > 0) json["forgiven"] = outcome.forgiven;
  write_file_atomically(file_of(outcomes, job), json_text(json, 1) + "\n");
}

std::string last_complaint(const fs::path& log, int64_t begin) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const int64_t size = in.tellg();
  in.seekg(std::max(begin, size - kTail));
  std::string last, complaint;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    last = line;
    constexpr std::string_view kOwn = "ghhost: ";
    if (line.starts_with(kOwn)) complaint = line.substr(kOwn.size());
    if (line.find("error: ") != std::string::npos) complaint = line;
  }
  return complaint.empty() ? last : complaint;
}

}  // namespace gh::host
