#include "report/run_record.hpp"

#include "files/file_descriptor.hpp"
#include "files/own_file.hpp"
#include "recipe/difference.hpp"
#include "recipe/toml.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string_view>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;  // the environment is shown in the order it was written

constexpr std::size_t kLogLines = 60;
constexpr std::string_view kMissing = "is missing";

// A run holds the lock of its directory as long as its process lives, whatever ends it.
bool nobody_writes(const fs::path& run) {
  const FileDescriptor lock(::open((run / ".lock").c_str(), O_RDONLY | O_CLOEXEC));
  return lock.get() >= 0 && ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0;
}

// Wrong types read as "absent": a report of a damaged run is better than none.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<double> number_of(const Json& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

int64_t count_of(const Json& object, const char* key) {
  const double value = number_of(object, key).value_or(0);
  return std::abs(value) < 1e15 ? static_cast<int64_t>(value) : 0;
}

// The array under `key`; empty when there is none.
Json list_of(const Json& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_array() ? *it : Json::array();
}

// A value for people: strings without quotes, lists joined by `between`.
std::string plain_text(const Json& value, std::string_view between) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "—";
  if (!value.is_array()) return json_text(value);
  std::string out;
  for (const Json& item : value) {
    if (!out.empty()) out += between;
    out += plain_text(item, between);
  }
  return out;
}

// A recipe value for people: strings without quotes.
std::string value_text(const Value& value) {
  if (const std::string* text = value.as<std::string>()) return *text;
  return to_toml_value(value);
}

// The values of an object, those of objects in it under dotted names.
void add_pairs(const Json& object, const std::string& prefix, Pairs& out) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      add_pairs(value, prefix + key + ".", out);
    else
      out.emplace_back(prefix + key, plain_text(value, ", "));
  }
}

Pairs pairs_of(const Json& object, const char* key) {
  Pairs out;
  const auto it = object.is_object() ? object.find(key) : object.end();
  if (it != object.end()) add_pairs(*it, "", out);
  return out;
}

class Loader {
 public:
  Loader(const fs::path& directory, RunParts parts) : all_(parts == RunParts::all) {
    run_.directory = directory;
  }

  RunRecord load() {
    check_directory();
    load_recipe();
    load_status();
    load_data();
    if (all_) load_environment();
    load_epochs();
    load_results();
    for_each_line("timing.jsonl", [&](const Json& json) { add_timing(json); });
    if (all_) load_log();
    return std::move(run_);
  }

 private:
  void check_directory() const {
    const std::string where = run_.directory.string();
    std::error_code error;
    require(fs::exists(run_.directory, error), ErrorCode::missing_data, where,
            ": no such run directory");
    require(fs::is_directory(run_.directory, error), ErrorCode::missing_data, where,
            " is a file; expected a run directory");
    const bool run = fs::exists(run_.directory / "recipe.toml", error) ||
                     fs::exists(run_.directory / "status.json", error);
    require(!error, ErrorCode::io, "cannot read ", where, ": ", error.message());
    require(run, ErrorCode::missing_data, where,
            " is not a run directory: it has neither recipe.toml nor status.json");
  }

  void problem(const std::string& what) { run_.problems.push_back(what); }

  // nullopt where there is none, and with a line in problems where something else is in its place.
  std::optional<std::string> read(const std::string& name) {
    OwnFile file = read_own_file(run_.directory, name);
    if (!file.bytes && file.problem != kMissing) problem(name + " " + file.problem);
    return std::move(file.bytes);
  }

  // An object, or nullopt with a line in problems.
  std::optional<Json> read_json(const std::string& name) {
    const OwnFile file = read_own_file(run_.directory, name);
    if (!file.bytes) {
      problem(name + " " + file.problem);
      return std::nullopt;
    }
    Json json = parse_json_or_discard<Json>(*file.bytes);
    if (json.is_object()) return json;
    problem(name + " is not readable as a JSON object");
    return std::nullopt;
  }

  void load_recipe() {
    run_.name = fs::absolute(run_.directory).lexically_normal().filename().string();
    if (run_.name.empty())
      run_.name = fs::absolute(run_.directory).lexically_normal().parent_path().filename().string();
    const OwnFile file = read_own_file(run_.directory, "recipe.toml");
    if (!file.bytes) return problem("recipe.toml " + file.problem);
    run_.recipe = *file.bytes;
    Diagnostics diagnostics;
    const std::optional<Table> table = parse_toml(run_.recipe, "recipe.toml", diagnostics);
    if (!table) {
      const Diagnostic& first = diagnostics.all().front();
      return problem(fmt::format("recipe.toml, line {}: {}", first.source.line, first.message));
    }
    for_each_leaf(*table, [&](const std::string& path, const Value& value) {
      run_.values[path] = value_text(value);
    });
    if (const std::string name = run_.value("name"); !name.empty()) run_.name = name;
  }

  void load_status() {
    const auto json = read_json("status.json");
    if (!json) return;
    StatusRecord& status = run_.status;
    if (const std::string state = text_of(*json, "state"); !state.empty()) status.state = state;
    status.stage = text_of(*json, "stage");
    status.message = text_of(*json, "message");
    if (status.state == "running" && nobody_writes(run_.directory)) {
      status.state = "lost";
      status.message = fmt::format(
          "It ended without a word: it was killed, or the machine stopped. Go on with: ghhost "
          "resume {}",
          run_.directory.string());
    }
    status.updated = text_of(*json, "updated");
    status.epoch = count_of(*json, "epoch");
    status.epochs = count_of(*json, "epochs");
    status.seconds = number_of(*json, "seconds").value_or(0);
  }

  void load_data() {
    if (!fs::exists(run_.directory / "data.json")) return;  // not opened yet
    const auto json = read_json("data.json");
    if (!json) return;
    run_.samples = count_of(*json, "samples");
    for (const Json& count : list_of(*json, "class_counts"))
      if (count.is_number_integer()) run_.class_counts.push_back(count.get<int64_t>());
    for (const auto& [key, value] : json->items())
      if (value.is_string()) run_.data.emplace_back(key, value.get<std::string>());
  }

  void load_environment() {
    const auto json = read_json("environment.json");
    if (!json) return;
    for (const auto& [key, value] : json->items())
      if (key != "plugins") run_.environment.emplace_back(key, plain_text(value, " "));
    for (const Json& plugin : list_of(*json, "plugins"))
      run_.plugins.push_back({text_of(plugin, "name"), text_of(plugin, "version"),
                              text_of(plugin, "file"), text_of(plugin, "sha256"),
                              plain_text(list_of(plugin, "provides"), ", ")});
  }

  void load_epochs() {
    for_each_line("metrics.jsonl", [&](const Json& json) { add_epoch(json); });
  }

  // Objects of a file with one a line; nothing where nothing was trained yet.
  void for_each_line(const std::string& name, const std::function<void(const Json&)>& visit) {
    const auto text = read(name);
    if (!text) return;
    std::size_t begin = 0, bad = 0;
    while (begin < text->size()) {
      const std::size_t end = text->find('\n', begin);
      const std::string_view line = std::string_view(*text).substr(begin, end - begin);
      begin = end == std::string::npos ? text->size() : end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const Json json = parse_json_or_discard<Json>(line);
      if (json.is_object()) {
        visit(json);
      } else if (end != std::string::npos) {  // without its newline it was cut off by a kill
        ++bad;
      }
    }
    if (bad > 0) problem(name + ": " + std::to_string(bad) + " unreadable line(s) left out");
  }

  void add_timing(const Json& json) {
    if (const std::string file = text_of(json, "result"); !file.empty()) {
      const auto found = std::find(result_files_.begin(), result_files_.end(), file);
      if (found != result_files_.end())
        run_.results[static_cast<std::size_t>(found - result_files_.begin())].seconds =
            number_of(json, "seconds").value_or(0);
      return;
    }
    const std::string stage = text_of(json, "stage");
    const auto epoch = count_of(json, "epoch");
    for (EpochRecord& row : run_.epochs)
      if (row.stage == stage && row.epoch == epoch)
        for (const auto& [key, value] : json.items())
          if (value.is_number_float()) row.scalars["time." + key] = value.get<double>();
  }

  void add_epoch(const Json& json) {
    EpochRecord row;
    row.stage = text_of(json, "stage");
    row.epoch = count_of(json, "epoch");
    row.step = count_of(json, "step");
    for (const auto& [key, value] : json.items()) {
      if (key == "epoch" || key == "epochs" || key == "step") continue;
      if (value.is_object()) {
        for (const auto& [inner, number] : value.items())
          add_scalar(row, key + "." + inner, number);
      } else {
        add_scalar(row, key, value);
      }
    }
    // A resumed run repeats epochs after its last checkpoint; what it wrote before is void.
    auto& epochs = run_.epochs;
    while (!epochs.empty() && epochs.back().stage == row.stage && epochs.back().epoch >= row.epoch)
      epochs.pop_back();
    epochs.push_back(std::move(row));
  }

  static void add_scalar(EpochRecord& row, const std::string& key, const Json& value) {
    if (value.is_number()) row.scalars[key] = value.get<double>();
    if (value.is_null()) row.scalars[key] = std::numeric_limits<double>::quiet_NaN();
  }

  void load_results() {
    std::vector<std::string> names;
    std::error_code error;
    if (fs::is_symlink(run_.directory / "results", error))
      return problem("results is a link, which is not followed");
    for (const auto& entry : fs::directory_iterator(run_.directory / "results", error))
      if (entry.path().extension() == ".json")
        names.push_back("results/" + entry.path().filename().string());
    // By number and not by text, so that 100 comes after 99; last what was evaluated afterwards.
    const auto number = [](const std::string& name) {
      const char* begin = name.c_str() + std::string_view("results/").size();
      char* end = nullptr;
      const long value = std::strtol(begin, &end, 10);
      return end == begin ? std::numeric_limits<long>::max() : value;
    };
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return std::pair(number(a), a) < std::pair(number(b), b);
    });
    for (const std::string& name : names)
      if (const auto json = read_json(name)) add_result(*json, name);
  }

  void add_result(const Json& json, const std::string& file) {
    if (const std::string error = text_of(json, "error"); !error.empty()) {
      run_.failures.push_back(fmt::format("{} at {}, epoch {}: {}", text_of(json, "evaluator"),
                                          text_of(json, "moment"), count_of(json, "epoch"), error));
      return;
    }
    run_.results.push_back(result(json));
    result_files_.push_back(file);
  }

  ResultRecord result(const Json& json) const {
    ResultRecord out;
    out.evaluator = text_of(json, "evaluator");
    out.slot = text_of(json, "slot");
    out.moment = text_of(json, "moment");
    out.label = text_of(json, "label");
    out.epoch = count_of(json, "epoch");
    out.params = pairs_of(json, "params");
    out.splits = pairs_of(json, "splits");
    for (const Json& metric : list_of(json, "metrics"))
      out.metrics.push_back(
          {text_of(metric, "name"), number_of(metric, "value"), text_of(metric, "definition")});
    for (const Json& table : list_of(json, "tables")) out.tables.push_back(this->table(table));
    for (const Json& picture : all_ ? list_of(json, "pictures") : Json::array())
      out.pictures.push_back(this->picture(picture));
    return out;
  }

  static TableRecord table(const Json& json) {
    TableRecord out{text_of(json, "name"), text_of(json, "caption"), {}, {}};
    for (const Json& column : list_of(json, "columns"))
      out.columns.push_back(plain_text(column, " "));
    for (const Json& row : list_of(json, "rows")) {
      out.rows.emplace_back();
      if (!row.is_array()) continue;
      for (const Json& cell : row) out.rows.back().push_back(plain_text(cell, " "));
    }
    return out;
  }

  PictureRecord picture(const Json& json) const {
    PictureRecord out{
        text_of(json, "name"), text_of(json, "caption"), text_of(json, "mime"), {}, {}};
    const std::string name = text_of(json, "file");
    OwnFile file = read_own_file(run_.directory, fs::path(name).lexically_normal());
    if (file.bytes && file.bytes->empty()) file.problem = "is empty";
    if (!file.problem.empty()) out.problem = name + " " + file.problem;
    out.bytes = std::move(file.bytes).value_or("");
    return out;
  }

  void load_log() {
    const std::string log = read("train.log").value_or("");
    std::size_t begin = log.size();
    for (std::size_t lines = 0; begin > 0 && lines <= kLogLines; ++lines) {
      const std::size_t newline = log.rfind('\n', begin - 1);
      begin = newline == std::string::npos ? 0 : newline;
    }
    run_.log_tail = log.substr(begin > 0 ? begin + 1 : 0);
  }

  bool all_;
  RunRecord run_;
  std::vector<std::string> result_files_;  // of each of run_.results
};

}  // namespace

std::string RunRecord::value(const std::string& path) const {
  const auto it = values.find(path);
  return it == values.end() ? std::string() : it->second;
}

RunRecord load_run(const fs::path& directory, RunParts parts) {
  return Loader(directory, parts).load();
}

std::string composition(const RunRecord& run) {
  std::string out = run.value("method.id");
  const std::string structure = run.value("harmonize.structure.id");
  const std::string allocator = run.value("harmonize.allocator.id");
  if (!structure.empty() && !allocator.empty())
    out += " + GH (" + structure + " × " + allocator + ")";
  if (const std::string data = run.value("data.id"); !data.empty()) out += " on " + data;
  if (const std::string backbone = run.value("backbone.id"); !backbone.empty())
    out += " with " + backbone;
  return out;
}

std::optional<int64_t> warm_up_end(const RunRecord& run) {
  for (const ResultRecord& result : run.results)
    if (result.moment == "warm-up") return result.epoch;
  const std::string text = run.value("harmonize.warm_up");
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9)
    return std::nullopt;
  return std::stoll(text);
}

}  // namespace gh::host
