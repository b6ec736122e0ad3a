#include "cli/study_text.hpp"

#include "report/format.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace gh::host {
namespace {

constexpr std::array kStates = {ArmState::done, ArmState::running, ArmState::resumable,
                                ArmState::fresh, ArmState::failed};
constexpr int64_t kBarWidth = 30;

std::string name_of(const RunOfStudy& run) {
  return run.seed.empty() ? run.label : fmt::format("{}, seed {}", run.label, run.seed);
}

std::string counts(const StudySummary& study) {
  std::string out = fmt::format("{} runs", study.runs.size());
  for (const ArmState state : kStates)
    if (const std::size_t count = count_state(study, state); count > 0)
      out += fmt::format(" · {} {}", count, arm_state_name(state));
  return out;
}

std::string bar(const StudySummary& study) {
  const int64_t planned = std::max<int64_t>(1, study.epochs_planned);
  const int64_t full = std::clamp<int64_t>(kBarWidth * study.epochs_done / planned, 0, kBarWidth);
  std::string out = "[";
  for (int64_t i = 0; i < kBarWidth; ++i) out += i < full ? '#' : '.';
  out += fmt::format("] {} of {} epochs", study.epochs_done, study.epochs_planned);
  const bool over = count_state(study, ArmState::done) + count_state(study, ArmState::failed) ==
                    study.runs.size();
  if (!over && study.seconds_left)
    out += fmt::format(", {} left", format_duration(*study.seconds_left));
  return out;
}

// A heading and the lines of those runs that `line` has one for.
std::string listed(const StudySummary& study, std::string_view heading, std::size_t most,
                   const std::function<std::string(const RunOfStudy&)>& line) {
  std::vector<std::string> lines;
  for (const RunOfStudy& run : study.runs)
    if (std::string text = line(run); !text.empty()) lines.push_back(std::move(text));
  if (lines.empty()) return "";
  std::string out = fmt::format("{}:\n", heading);
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i)
    out += fmt::format("  {}\n", lines[i]);
  if (lines.size() > most) out += fmt::format("  … and {} more\n", lines.size() - most);
  return out;
}

std::string running_line(const RunOfStudy& run) {
  if (run.state != ArmState::running) return "";
  std::string out =
      fmt::format("{}: epoch {} of {}", name_of(run), run.epochs_done, run.epochs_planned);
  if (run.seconds_left) out += fmt::format(", {} left", format_duration(*run.seconds_left));
  return out;
}

nlohmann::ordered_json to_json(const std::optional<double>& seconds) {
  return seconds ? nlohmann::ordered_json(*seconds) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string study_text(const StudySummary& study, std::size_t most) {
  std::string out = fmt::format("{}, {}\n{}\n{}\n", study.name, study.directory.string(),
                                counts(study), bar(study));
  out += listed(study, "Running", most, running_line);
  out += listed(study, "Failed", most, [](const RunOfStudy& run) {
    return run.state == ArmState::failed ? fmt::format("{}: {}", name_of(run), run.failure) : "";
  });
  out += listed(study, "Trained, but an evaluation failed", most, [](const RunOfStudy& run) {
    const bool trained = run.state == ArmState::done && !run.failure.empty();
    return trained ? fmt::format("{}: {}", name_of(run), run.failure) : "";
  });
  for (const std::string& problem : study.problems) out += fmt::format("Problem: {}\n", problem);
  return out;
}

nlohmann::ordered_json status_json(const StudySummary& study) {
  nlohmann::ordered_json states;
  for (const ArmState state : kStates)
    states[std::string(arm_state_name(state))] = count_state(study, state);
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const RunOfStudy& run : study.runs) {
    nlohmann::ordered_json axes = nlohmann::ordered_json::object();
    for (const auto& [key, value] : run.axes) axes[key] = value;
    runs.push_back({{"label", run.label},
                    {"arm", run.arm},
                    {"axes", axes},
                    {"seed", run.seed},
                    {"state", arm_state_name(run.state)},
                    {"epochs_done", run.epochs_done},
                    {"epochs_planned", run.epochs_planned},
                    {"seconds_left", to_json(run.seconds_left)},
                    {"directory", run.directory.string()},
                    {"failure", run.failure}});
  }
  return {{"name", study.name},
          {"directory", study.directory.string()},
          {"updated", study.updated},
          {"states", states},
          {"epochs_done", study.epochs_done},
          {"epochs_planned", study.epochs_planned},
          {"seconds_left", to_json(study.seconds_left)},
          {"problems", study.problems},
          {"runs", runs}};
}

}  // namespace gh::host
