#include "study/engine.hpp"

#include "recipe/schema.hpp"
#include "recipe/toml.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace gh::host {
namespace {

constexpr Param kKeys[] = {
    gh::text("name", nullptr, "what people call it"),
    gh::text("file", nullptr, "name of the file that is handed to it"),
    gh::text("text", nullptr, "what is in that file"),
    gh::text("submit", nullptr, "shell command that hands it over"),
};

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

using Placeholders = std::map<std::string, std::string>;

// Those that every engine has.
constexpr std::string_view kBuiltIn[] = {"study", "name",    "program", "arguments", "command",
                                         "work",  "workers", "last",    "limit",     "file"};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_';
  });
}

std::optional<int> exit_code(const std::string& text) {
  int code = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool whole = failure == std::errc{} && stop == text.data() + text.size();
  return whole && code >= 0 && code <= 255 ? std::optional(code) : std::nullopt;
}

// Calls `visit` with key and text of each entry of the table `name`, if it is there.
template <class Visit>
void for_each_text(const Table& root, const std::string& name, Diagnostics& out, Visit visit) {
  const Value* value = root.find(name);
  if (!value) return;
  const Table* table = value->as<Table>();
  if (!table)
    return out.error(value->source, name, fmt::format("expected a table, got {}", kind_of(*value)));
  for (const Entry& entry : table->entries()) {
    const std::string key = join_path(name, entry.key);
    if (const std::string* text = entry.value.as<std::string>())
      visit(entry, key, *text);
    else
      out.error(entry.value.source, key,
                fmt::format("expected a string, got {}", kind_of(entry.value)));
  }
}

// A path or name that means itself wherever it is put: in a shell, in YAML, in a job file.
const std::string& plain(const std::string& what, const std::string& text) {
  const bool safe = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 ||
           std::string_view("/._-+:,=").find(c) != std::string::npos;
  });
  require(safe, ErrorCode::invalid_param, what, " is \"", text,
          "\": job files would misread some of its characters; use letters, digits and /._-+:,=");
  return text;
}

std::string short_name(const std::string& name) {
  std::string out;
  for (const unsigned char c : name)
    if (std::isalnum(c))
      out += static_cast<char>(std::tolower(c));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "study" : out.substr(0, 50);
}

// A signal ends `wait` before the worker has ended, so it is waited for until it is gone.
std::string work_lines(const Engine& engine, const std::string& command) {
  std::string out =
      "stop= worker=\n"
      "trap 'stop=1; [ -z \"$worker\" ] || kill -TERM $worker' TERM INT HUP USR1 USR2\n" +
      command +
      " &\nworker=$!\n"
      "[ -z \"$stop\" ] || kill -TERM $worker\n"
      "wait $worker\ncode=$?\n"
      "while kill -0 $worker 2>/dev/null; do wait $worker; code=$?; done\n";
  if (!engine.on_exit.empty()) {
    out += "case $code in\n";
    for (const auto& [code, then] : engine.on_exit) out += fmt::format("{}) {} ;;\n", code, then);
    out += "esac\n";
  }
  return out + "exit $code";
}

Placeholders placeholders(const Engine& engine, const Workers& workers) {
  Placeholders out(engine.values.begin(), engine.values.end());
  for (const std::string& text : workers.set) {
    const std::size_t equals = text.find('=');
    const auto found = out.find(text.substr(0, equals));
    std::vector<std::string> known;
    for (const auto& [key, value] : engine.values) known.push_back(key);
    require(equals != std::string::npos && found != out.end(), ErrorCode::invalid_param,
            "expected key=value to set, with a key of [values], got \"", text, "\"; there are ",
            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    found->second = text.substr(equals + 1);
  }
  std::vector<std::string> command;
  for (const std::string& word : workers.command)
    command.push_back(plain("a part of the worker's command", word));
  require(!command.empty(), ErrorCode::internal, "a worker is no command");
  const std::string whole = fmt::format("{}", fmt::join(command, " "));
  const int64_t limit = workers.limit > 0 ? std::min(workers.limit, workers.count) : workers.count;
  const std::string study = plain("the directory of the study", workers.study.string());
  out["study"] = study;
  out["name"] = short_name(workers.name);
  out["program"] = command.front();
  out["arguments"] = fmt::format("{}", fmt::join(command.begin() + 1, command.end(), " "));
  out["command"] = whole;
  out["work"] = work_lines(engine, whole);
  out["workers"] = std::to_string(workers.count);
  out["last"] = std::to_string(workers.count - 1);
  out["limit"] = std::to_string(limit);
  out["file"] = (workers.study / "engine" / engine.file).string();
  return out;
}

std::string replaced(const std::string& text, const Placeholders& known, const std::string& where) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '@' ? text.find('@', at + 1) : std::string::npos;
    const std::string name = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
    if (!is_name(name)) {
      out += text[at++];
      continue;
    }
    const auto found = known.find(name);
    std::vector<std::string> names;
    for (const auto& [key, value] : known) names.push_back(key);
    require(found != known.end(), ErrorCode::invalid_param, where, " has the placeholder @", name,
            "@; there are ", fmt::format("{}", fmt::join(names, ", ")));
    out += found->second;
    at = end + 1;
  }
  return out;
}

void read_tables(const Table& root, Engine& engine, Diagnostics& out) {
  for_each_text(root, "values", out,
                [&](const Entry& entry, const std::string& key, const std::string& text) {
                  if (!is_name(entry.key))
                    out.error(entry.source, key, "a placeholder has small letters, digits and _");
                  if (std::count(std::begin(kBuiltIn), std::end(kBuiltIn), entry.key))
                    out.error(entry.source, key, "every engine has a placeholder of that name");
                  engine.values.emplace_back(entry.key, text);
                });
  for_each_text(root, "exit", out,
                [&](const Entry& entry, const std::string& key, const std::string& text) {
                  if (const std::optional<int> code = exit_code(entry.key))
                    engine.on_exit.emplace_back(*code, text);
                  else
                    out.error(entry.source, key, "expected an exit code, 0 … 255");
                });
}

}  // namespace

bool is_engine_file(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return false;
  Diagnostics ignored;
  const std::optional<Table> root =
      parse_toml(read_regular_file(file.string(), kMostBytes), file.string(), ignored);
  return root && root->find("submit");
}

Engine read_engine(const std::filesystem::path& file, Diagnostics& out) {
  const std::optional<Table> root =
      parse_toml(read_regular_file(file.string(), kMostBytes), file.string(), out);
  Engine engine;
  if (!root) return engine;
  const Table read = apply_schema(read_schema(kKeys), *root, {file.string(), 1, 1}, "",
                                  {"values", "exit"}, out, "an engine");
  for (auto [key, to] : {std::pair{"name", &engine.name},
                         {"file", &engine.file},
                         {"text", &engine.text},
                         {"submit", &engine.submit}})
    if (const Value* value = read.find(key)) *to = *value->as<std::string>();
  read_tables(*root, engine, out);
  const bool one_name = engine.file.find('/') == std::string::npos && engine.file != "..";
  if (const Value* value = read.find("file"); value && (!one_name || engine.file.empty()))
    out.error(value->source, "file", "expected the name of a file, without a directory");
  return engine;
}

Submission fill(const Engine& engine, const Workers& workers) {
  require(workers.count >= 1, ErrorCode::invalid_param, "expected at least one worker, got ",
          workers.count);
  const Placeholders known = placeholders(engine, workers);
  return {.file = known.at("file"),
          .text = replaced(engine.text, known, "the text of " + engine.name),
          .command = replaced(engine.submit, known, "the command of " + engine.name)};
}

}  // namespace gh::host
