#include "cli/plan_text.hpp"

#include "report/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace gh::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostGroups = 200;  // lines of the table
constexpr std::size_t kMostKeys = 4;      // of what makes a run new
constexpr std::size_t kMostScaled = 30, kMostDropped = 10;

// Jobs of one row in one state, which differ in their seeds.
struct Group {
  std::size_t first = 0;  // job
  std::vector<std::string> seeds;
};

std::vector<Group> groups_of(const StudyPlan& plan) {
  std::vector<Group> out;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const Job& job = plan.list.jobs[i];
    const PlannedJob& planned = plan.jobs[i];
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", job.label, planned.row, static_cast<int>(planned.state),
                    job.from_epoch, planned.why);
    const auto [at, fresh] = known.try_emplace(key, out.size());
    if (fresh) out.push_back({i, {}});
    out[at->second].seeds.push_back(job.seed);
  }
  return out;
}

// "0, 1, 2"; of many, the first and the last.
std::string seeds_text(const std::vector<std::string>& seeds) {
  constexpr std::size_t kMost = 6;
  if (seeds.size() <= kMost) return fmt::format("{}", fmt::join(seeds, ", "));
  return fmt::format("{} … {} ({})", seeds.front(), seeds.back(), seeds.size());
}

std::string bytes_text(int64_t bytes) {
  constexpr double kMega = 1e6;
  const double mega = static_cast<double>(bytes) / kMega;
  return mega < 1000 ? fmt::format("{:.0f} MB", std::max(1.0, mega))
                     : fmt::format("{:.1f} GB", mega / 1000);
}

std::string keys_text(const std::vector<Difference>& differences) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostKeys, differences.size()); ++i) {
    const Difference& d = differences[i];
    out += fmt::format("{}{}: {} → {}", i > 0 ? "; " : "", d.key,
                       d.was.empty() ? "(absent)" : d.was, d.is.empty() ? "(absent)" : d.is);
  }
  if (differences.size() > kMostKeys)
    out += fmt::format("; and {} more", differences.size() - kMostKeys);
  return out;
}

// What there is to say of a group besides its line.
std::vector<std::string> remarks(const StudyPlan& plan, const Group& group) {
  const Job& job = plan.list.jobs[group.first];
  const PlannedJob& planned = plan.jobs[group.first];
  std::vector<std::string> out;
  if (job.repeated) {
    out.push_back(fmt::format("the same run as \"{}\"", plan.list.find(job.id)->label));
    return out;
  }
  if (!planned.why.empty()) out.push_back(planned.why);
  if (!planned.differences.empty())
    out.push_back(
        fmt::format("new by {} (nearest: {})", keys_text(planned.differences), planned.nearest));
  if (!job.unintended.empty())
    out.push_back(fmt::format("differs from \"{}\" also in {}", job.baseline,
                              fmt::join(job.unintended, ", ")));
  return out;
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t now = display_width(text);
  return now < width ? text + std::string(width - now, ' ') : text;
}

std::string table_text(const StudyPlan& plan) {
  using Line = std::vector<std::string>;
  const std::vector<Group> groups = groups_of(plan);
  const std::size_t shown = std::min(kMostGroups, groups.size());
  std::vector<Line> lines = {{"state", "run", "seeds", "epochs", "steps", "time"}};
  for (std::size_t g = 0; g < shown; ++g) {
    const Job& job = plan.list.jobs[groups[g].first];
    const PlannedJob& planned = plan.jobs[groups[g].first];
    const int64_t end = job.until > 0 ? job.until : job.epochs;
    lines.push_back(
        {std::string(arm_state_name(planned.state)), job.label, seeds_text(groups[g].seeds),
         job.from_epoch > 0 ? fmt::format("{} … {}", job.from_epoch, end) : std::to_string(end),
         std::to_string(planned.steps), job.seconds > 0 ? format_duration(job.seconds) : "—"});
  }
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const Line& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], display_width(line[c]));
  std::string out;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::string text = " ";
    for (std::size_t c = 0; c < lines[l].size(); ++c) {
      text += ' ';
      text += padded(lines[l][c], widths[c] + 1);
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    if (l == 0) continue;
    for (const std::string& remark : remarks(plan, groups[l - 1]))
      out += fmt::format("    {}\n", one_line(remark));
  }
  if (shown < groups.size())
    out += fmt::format("  … and {} more; --json has all of them\n", groups.size() - shown);
  return out;
}

std::string states_text(const StudyPlan& plan) {
  std::map<ArmState, int64_t> counts;
  int64_t runs = 0, trunks = 0;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    if (plan.list.jobs[i].repeated) continue;
    if (plan.list.jobs[i].until > 0) {
      ++trunks;
      continue;
    }
    ++runs;
    ++counts[plan.jobs[i].state];
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts)
    parts.push_back(fmt::format("{} {}", count, arm_state_name(state)));
  std::string out = fmt::format("{} runs: {}\n", runs, fmt::join(parts, ", "));
  if (trunks > 0)
    out += fmt::format("{} shared beginnings: {} epochs are not trained again\n", trunks,
                       plan.epochs_saved);
  return out;
}

std::string left_text(const StudyPlan::Left& left) {
  if (left.runs == 0) return "Nothing is left to do\n";
  std::string out = fmt::format("Left: {} epochs, {} steps", left.epochs, left.steps);
  if (left.unknown < left.runs) {
    out += fmt::format(", {} one run after the other", format_duration(left.seconds));
    out += left.finished > 0 ? fmt::format(" (by {} finished runs)", left.finished)
                             : " (measured on this machine, without evaluations)";
    if (left.memory > 0) out += fmt::format(", {} of memory a run", bytes_text(left.memory));
    if (left.disk > 0) out += fmt::format(", {} of disk", bytes_text(left.disk));
  }
  if (left.unknown > 0) out += fmt::format("; of {} runs the time is not known", left.unknown);
  return out + "\n";
}

// What the scale changed in any row, each key once for each change.
std::string scaled_text(const JobList& list) {
  std::vector<std::string> lines;
  std::set<std::string> known;
  for (const Job& job : list.jobs) {
    std::istringstream in(job.scaled);
    for (std::string line; std::getline(in, line);)
      if (known.insert(line).second) lines.push_back(line);
  }
  if (lines.empty()) return "";
  std::string out = fmt::format("Scaled ({}):\n", list.scale);
  for (std::size_t i = 0; i < std::min(kMostScaled, lines.size()); ++i) out += lines[i] + "\n";
  if (lines.size() > kMostScaled)
    out += fmt::format("  … and {} more\n", lines.size() - kMostScaled);
  return out;
}

std::string dropped_text(const std::vector<std::string>& dropped) {
  if (dropped.empty()) return "";
  std::string out = fmt::format(
      "{} runs are in the directory and not in the study any more; they stay:\n", dropped.size());
  for (std::size_t i = 0; i < std::min(kMostDropped, dropped.size()); ++i)
    out += fmt::format("  {}\n", dropped[i]);
  if (dropped.size() > kMostDropped) out += "  …\n";
  return out;
}

Json to_json(const Job& job, const PlannedJob& planned) {
  Json out = {{"id", job.id},
              {"label", job.label},
              {"arm", job.arm},
              {"seed", job.seed},
              {"baseline", job.baseline},
              {"state", arm_state_name(planned.state)},
              {"directory", job.directory},
              {"recipe", job.recipe},
              {"epochs", job.epochs},
              {"steps", planned.steps},
              {"seconds", job.seconds},
              {"repeated", job.repeated},
              {"unintended", job.unintended}};
  out["axes"] = Json::object();
  for (const auto& [key, value] : job.axes) out["axes"][key] = value;
  if (job.until > 0) out["until"] = job.until;
  if (!job.from.empty()) out["from"] = {{"id", job.from}, {"epoch", job.from_epoch}};
  if (!planned.why.empty()) out["why"] = planned.why;
  if (planned.differences.empty()) return out;
  out["nearest"] = planned.nearest;
  out["differences"] = Json::array();
  for (const Difference& d : planned.differences)
    out["differences"].push_back({{"key", d.key}, {"was", d.was}, {"is", d.is}});
  return out;
}

}  // namespace

std::string plan_text(const PlannedStudy& study) {
  const StudyPlan& plan = study.plan;
  return fmt::format("{} → {}\n{}\n{}\n{}{}{}", plan.list.name, study.directory.string(),
                     scaled_text(plan.list), table_text(plan), states_text(plan),
                     left_text(plan.left), dropped_text(plan.dropped));
}

Json plan_json(const PlannedStudy& study) {
  const StudyPlan& plan = study.plan;
  Json out = {{"name", plan.list.name},
              {"directory", study.directory.string()},
              {"scale", plan.list.scale},
              {"epochs_saved", plan.epochs_saved},
              {"left",
               {{"runs", plan.left.runs},
                {"epochs", plan.left.epochs},
                {"steps", plan.left.steps},
                {"seconds", plan.left.seconds},
                {"disk", plan.left.disk},
                {"memory", plan.left.memory},
                {"unknown", plan.left.unknown}}},
              {"dropped", plan.dropped},
              {"jobs", Json::array()}};
  for (std::size_t i = 0; i < plan.jobs.size(); ++i)
    out["jobs"].push_back(to_json(plan.list.jobs[i], plan.jobs[i]));
  return out;
}

}  // namespace gh::host
