#include "study/calibrate.hpp"

#include "files/file_write.hpp"
#include "recipe/toml.hpp"
#include "study/outcomes.hpp"
#include "study/running_program.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kBadRecipe = 78;  // cli/exit_codes.hpp
constexpr std::chrono::milliseconds kLook{50};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json read_json(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return parse_json_or_discard(std::string(std::istreambuf_iterator<char>(in), {}));
}

// Largest resident memory of a process so far, in bytes; 0: not known.
int64_t peak_memory(int64_t process) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  return 0;
}

class TrialDirectory {
 public:
  TrialDirectory() {
    std::string name = (fs::temp_directory_path() / "ghhost-trial-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail_io("cannot make", name);
    path_ = name;
  }
  ~TrialDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TrialDirectory(const TrialDirectory&) = delete;
  TrialDirectory& operator=(const TrialDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What was seen while it ran.
struct Watched {
  ProcessEnd end;
  int64_t memory = 0;
  double samples_per_second = 0;
};

class TrialRun {
 public:
  TrialRun(const Trial& trial, const fs::path& directory, const std::vector<std::string>& overrides)
      : trial_(trial), run_(directory / "run"), child_(start(directory, overrides)) {}

  // To its end, which is brought about once it has trained for long enough.
  Watched watch() {
    Watched seen;
    const double begin = now();
    double training = 0, asked = 0;
    for (;; std::this_thread::sleep_for(kLook)) {
      const Json status = read_json(run_ / "status.json");
      if (status.is_object()) {
        seen.memory = std::max(seen.memory, peak_memory(status.value("pid", int64_t{0})));
        const auto rate = status.find("samples_per_second");
        if (rate != status.end() && rate->is_number() && status.value("state", "") == "running")
          seen.samples_per_second = rate->get<double>();
        if (training == 0 && status.value("step", int64_t{0}) > 0) training = now();
      }
      if (const auto end = child_.ended()) {
        seen.end = *end;
        return seen;
      }
      const bool enough = training > 0 && now() - training > trial_.seconds;
      if (asked == 0 && (enough || now() - begin > trial_.patience)) {
        child_.send(SIGTERM);
        asked = now();
      }
      if (asked > 0 && now() - asked > trial_.patience) child_.send(SIGKILL);
    }
  }

 private:
  RunningProgram::Start start(const fs::path& directory,
                              const std::vector<std::string>& overrides) const {
    std::vector<std::string> arguments = {trial_.program.string()};
    arguments.insert(arguments.end(), trial_.plugin_rules.begin(), trial_.plugin_rules.end());
    for (const std::string& plugin : trial_.plugins)
      arguments.insert(arguments.end(), {"--plugin", plugin});
    arguments.insert(arguments.end(), {"run", (directory / "recipe.toml").string()});
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    arguments.insert(arguments.end(), {"--out", run_.string()});
    return {.program = trial_.program, .arguments = std::move(arguments), .log = directory / "log"};
  }

  const Trial& trial_;
  fs::path run_;
  RunningProgram child_;
};

// From the one that shows most of what training takes.
std::vector<std::vector<std::string>> variants(const Recipe& recipe) {
  if (!recipe.find("harmonize.warm_up") || recipe.integer("harmonize.warm_up") == 0) return {{}};
  return {{"harmonize.warm_up=0"}, {"harmonize.warm_up=0", "train.schedule.warm_up=0"}, {}};
}

std::optional<Cost> cost_seen(const Watched& seen, const fs::path& run) {
  std::optional<Cost> cost = cost_of_run(run);
  if (!cost) {  // not an epoch long
    const Json data = read_json(run / "data.json");
    const double samples = data.is_object() ? data.value("samples", 0.0) : 0;
    if (samples <= 0 || seen.samples_per_second <= 0) return std::nullopt;
    cost = Cost{};
    cost->epoch = samples / seen.samples_per_second;
  }
  cost->evaluations = 0;
  cost->memory = seen.memory;
  cost->runs = 0;
  return cost;
}

}  // namespace

std::optional<Cost> measure(const Recipe& recipe, const Trial& trial, std::string& why) {
  for (const std::vector<std::string>& overrides : variants(recipe)) {
    const TrialDirectory directory;
    write_file_atomically(directory.path() / "recipe.toml", to_toml(recipe.resolved),
                          Durability::renamed);
    const Watched seen = TrialRun(trial, directory.path(), overrides).watch();
    if (seen.end.signal == 0 && seen.end.code == kBadRecipe && !overrides.empty()) continue;
    const std::optional<Cost> cost = cost_seen(seen, directory.path() / "run");
    if (!cost)
      why = fmt::format("{}: {}", end_text(seen.end), last_complaint(directory.path() / "log", 0));
    return cost;
  }
  return std::nullopt;
}

}  // namespace gh::host
