// ghhost complete: what shells ask for when the user presses tab. One place knows; the scripts in
// packaging/completion only pass words on.
#include "cli/commands.hpp"
#include "cli/completions.hpp"
#include "cli/exit_codes.hpp"
#include "run/standard_streams.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

namespace gh::host {
namespace {

// What a command takes, as a list.
class Takes final : public Options {
 public:
  struct Named {
    std::string name, type, doc;  // type: empty where no value follows
    std::vector<std::string> choices;
  };

  void required(const char* name, std::string&, const char*) override {
    operands_.emplace_back(name);
  }
  void required(const char* name, std::vector<std::string>&, const char*) override {
    operands_.emplace_back(name);
  }
  void rest(const char* name, std::vector<std::string>&, const char*) override {
    operands_.emplace_back(name);
  }
  void text(const char* name, const char* type, std::string&, const char* doc) override {
    named_.push_back({name, type, doc, {}});
  }
  void choice(const char* name, std::vector<std::string> choices, std::string&,
              const char* doc) override {
    named_.push_back({name, "CHOICE", doc, std::move(choices)});
  }
  void number(const char* name, int64_t, int64_t, int64_t&, const char* doc) override {
    named_.push_back({name, "NUMBER", doc, {}});
  }
  void number(const char* name, double, double, double&, const char* doc) override {
    named_.push_back({name, "NUMBER", doc, {}});
  }
  void flag(const char* name, bool&, const char* doc) override {
    named_.push_back({name, "", doc, {}});
  }

  const std::vector<Named>& named() const { return named_; }
  const Named* find(const std::string& name) const {
    const auto at = std::ranges::find(named_, name, &Named::name);
    return at == named_.end() ? nullptr : &*at;
  }
  // Of the operand at that position; the last may be repeated.
  std::string operand(std::size_t position) const {
    if (operands_.empty()) return {};
    return operands_[std::min(position, operands_.size() - 1)];
  }

 private:
  std::vector<std::string> operands_;
  std::vector<Named> named_;
};

using Words = std::span<const std::string>;

// First words where `group` is empty, second words of that group otherwise.
Candidates commands_in(const std::string& group) {
  Candidates out;
  std::set<std::string> seen;
  for (const auto make : kCommands) {
    const Command::About about = make()->about;
    const std::string name = about.name;
    const std::size_t space = name.find(' ');
    const std::string first = name.substr(0, space);
    if (group.empty() && !seen.insert(first).second) continue;
    if (!group.empty() && (space == std::string::npos || first != group)) continue;
    out.push_back({group.empty() ? first : name.substr(space + 1), about.doc});
    for (const Command::About& whole : kGroups)
      if (group.empty() && first == whole.name) out.back().doc = whole.doc;
  }
  return out;
}

// The command that `words` begin with, and of how many of them its name is made.
std::pair<std::unique_ptr<Command>, std::size_t> command_of(Words words) {
  const auto named = [](const std::string& name) -> std::unique_ptr<Command> {
    for (const auto make : kCommands)
      if (std::unique_ptr<Command> command = make(); command->about.name == name) return command;
    return nullptr;
  };
  if (words.empty()) return {};
  if (auto command = named(words[0])) return {std::move(command), 1};
  if (words.size() > 1)
    if (auto command = named(words[0] + " " + words[1])) return {std::move(command), 2};
  for (const DefaultCommand& usual : kDefaults)
    if (words[0] == usual.group) return {named(words[0] + " " + usual.command), 1};
  return {};
}

// A place in the words of a command: what is being typed there.
struct Place {
  std::string type;                   // of an operand or of an option's value
  std::vector<std::string> choices;   // of that option
  bool option = false;                // an option's name
  std::vector<std::string> operands;  // that come before
};

Place place_of(const Takes& takes, Words before, const std::string& typed) {
  Place place;
  const Takes::Named* waiting = nullptr;
  for (const std::string& word : before) {
    if (waiting || word == "--plugin") {
      waiting = waiting ? nullptr : takes.find(word);
    } else if (word.starts_with("--")) {
      waiting = takes.find(word);
      if (waiting && waiting->type.empty()) waiting = nullptr;
    } else {
      place.operands.push_back(word);
    }
  }
  place.option = !waiting && typed.starts_with('-');
  place.type = waiting ? waiting->type : takes.operand(place.operands.size());
  if (waiting) place.choices = waiting->choices;
  return place;
}

Candidates candidates_at(const Place& place, const std::string& typed, Registry& registry) {
  Candidates out;
  for (const std::string& choice : place.choices) out.push_back({choice, {}});
  const std::string& type = place.type;
  if (type == "RUN" || type == "A" || type == "B" || type == "WHAT")
    return directories_with("status.json", typed, "runs");
  if (type == "STUDY" || type == "DIR") return directories_with("jobs.json", typed, "studies");
  if (type == "KIND") return kinds_of_plugins();
  if (type == "PLUGIN") return component_ids(registry);
  if (type == "SCALE") return {{"small", {}}};
  if (type != "OVERRIDE" || place.operands.empty()) return out;
  const std::filesystem::path first = place.operands.front();
  const bool run = std::filesystem::is_directory(first);
  return overrides_of(run ? first / "recipe.toml" : first, Words(place.operands).subspan(1), typed,
                      registry);
}

class Complete final : public Command {
 public:
  Complete()
      : Command({"complete", "For shells: what the last of these words can be, one a line",
                 "A tab and half a line about it follow each. Nothing: names of files.\n"
                 "Example:\n  ghhost complete -- plugins info si"}) {}

  void declare(Options& options) override {
    options.rest("WORD", words_, "The command line without `ghhost`, up to where it is completed");
  }

  int run(const GlobalOptions& global) override {
    const std::string typed = words_.empty() ? "" : words_.back();
    for (const Candidate& candidate : find(typed, global))
      if (candidate.text.starts_with(typed))
        print_result("{}\t{}\n", candidate.text, candidate.doc);
    return kOk;
  }

 private:
  Candidates find(const std::string& typed, const GlobalOptions& global) const {
    Words before(words_);
    if (!before.empty()) before = before.first(before.size() - 1);
    std::vector<std::string> plugins = global.plugins;
    while (before.size() >= 2 && before[0] == "--plugin") {
      plugins.push_back(before[1]);
      before = before.subspan(2);
    }
    if (before.empty()) return typed.starts_with('-') ? options_of({}) : commands_in("");
    Candidates out = before.size() == 1 ? commands_in(before[0]) : Candidates{};
    auto [command, words] = command_of(before);
    if (!command) return out;
    Takes takes;
    command->declare(takes);
    const Place place = place_of(takes, before.subspan(words), typed);
    if (place.option) return options_of(takes.named());
    Registry registry(default_search_path(plugins));
    for (Candidate& candidate : candidates_at(place, typed, registry))
      out.push_back(std::move(candidate));
    return out;
  }

  static Candidates options_of(const std::vector<Takes::Named>& named) {
    Candidates out = {{"--help", "What this does"}, {"--plugin", "Plugin file, or directory"}};
    for (const Takes::Named& option : named) out.push_back({option.name, option.doc});
    return out;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> complete_command() { return std::make_unique<Complete>(); }

}  // namespace gh::host
