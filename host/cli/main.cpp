// ghhost: the command line, and the one place where what is thrown becomes a message and an exit
// code.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/guarded.hpp"
#include "cli/named_plugins.hpp"
#include "cli/ways_out.hpp"
#include "machine/caching_allocator.hpp"
#include "run/standard_streams.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace gh::host;

// What a command takes, as options of a (sub)command of CLI11.
class ParsedOptions final : public Options {
 public:
  explicit ParsedOptions(CLI::App& app) : app_(app) {}

  void required(const char* name, std::string& value, const char* doc) override {
    app_.add_option(name, value, doc)->required();
  }
  void required(const char* name, std::vector<std::string>& values, const char* doc) override {
    app_.add_option(name, values, doc)->required();
  }
  void rest(const char* name, std::vector<std::string>& values, const char* doc) override {
    app_.add_option(name, values, doc);
  }
  void text(const char* name, const char* type, std::string& value, const char* doc) override {
    app_.add_option(name, value, doc)->type_name(type)->capture_default_str();
  }
  void choice(const char* name, std::vector<std::string> choices, std::string& value,
              const char* doc) override {
    app_.add_option(name, value, doc)->check(CLI::IsMember(choices))->capture_default_str();
  }
  void number(const char* name, int64_t low, int64_t high, int64_t& value,
              const char* doc) override {
    app_.add_option(name, value, doc)->check(CLI::Range(low, high))->capture_default_str();
  }
  void number(const char* name, double low, double high, double& value, const char* doc) override {
    app_.add_option(name, value, doc)->check(CLI::Range(low, high))->capture_default_str();
  }
  void flag(const char* name, bool& value, const char* doc) override {
    app_.add_flag(name, value, doc);
  }

 private:
  CLI::App& app_;
};

// Commands as subcommands, in groups where their names have two words.
class CommandTree {
 public:
  explicit CommandTree(CLI::App& app) : app_(app) {
    for (const auto make : kCommands) add(*commands_.emplace_back(make()));
  }
  Command& chosen() { return *chosen_; }  // once the command line has been parsed

 private:
  void add(Command& command) {
    const std::string name = command.about.name;
    CLI::App* own = parent_of(name).add_subcommand(name.substr(name.find(' ') + 1));
    own->description(command.about.doc);
    own->footer(command.about.footer);
    own->callback([&] { chosen_ = &command; });
    ParsedOptions options(*own);
    command.declare(options);
  }

  // A group is made with the first command of it.
  CLI::App& parent_of(const std::string& name) {
    for (const Command::About& about : kGroups) {
      if (!name.starts_with(about.name + std::string(" "))) continue;
      CLI::App*& group = groups_[about.name];
      if (group) return *group;
      group = app_.add_subcommand(about.name, about.doc);
      group->footer(about.footer);
      group->require_subcommand(1);
      group->fallthrough();
      return *group;
    }
    return app_;
  }

  CLI::App& app_;
  std::map<std::string, CLI::App*> groups_;
  std::vector<std::unique_ptr<Command>> commands_;
  Command* chosen_ = nullptr;
};

void declare_program(CLI::App& app, GlobalOptions& global) {
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Examples:\n"
      "  ghhost run recipes/toy.toml\n"
      "  ghhost run recipes/toy.toml harmonize.weight=2 seed=1 --out runs/weight-2\n"
      "  ghhost COMMAND --help");
  app.add_option("--plugin", global.plugins,
                 "Plugin file, or directory to look in first; may be repeated. A file that cannot "
                 "be used is an error. Then GHHOST_PLUGIN_PATH, what packages beside ghhost bring, "
                 "the user's directory and the "
                 "bundled plugins.")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--locked{ghhost.lock}", global.lock,
               "Load only builds that this file has (ghhost plugins lock); --locked=FILE for "
               "another than ghhost.lock");
  app.add_flag("--pass-over", global.pass_over,
               "Where the first plugin that has a component cannot be loaded, take the next one "
               "and say so");
}

// Puts the name of a group's default command where it was left out: `study FILE` → `study run
// FILE`. CLI11 takes the words last first.
std::vector<std::string> spelled_out(const std::vector<std::string>& typed) {
  std::vector<std::string> words = typed;
  if (!words.empty()) words.erase(words.begin());
  std::size_t at = 0;
  const auto is_of_all = [](const std::string& word) {
    return word.starts_with("--plugin") || word.starts_with("--locked") || word == "--pass-over";
  };
  while (at < words.size() && is_of_all(words[at])) at += words[at] == "--plugin" ? 2 : 1;
  const auto is_command = [&](const std::string& name) {
    return std::any_of(kCommands.begin(), kCommands.end(),
                       [&](const auto make) { return make()->about.name == name; });
  };
  for (const DefaultCommand& usual : kDefaults)
    if (at + 1 < words.size() && words[at] == usual.group && words[at + 1] != "--help" &&
        words[at + 1] != "-h" && !is_command(words[at] + " " + words[at + 1]))
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, usual.command);
  return {words.rbegin(), words.rend()};
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{
      "ghhost runs self-supervised learning on long-tailed data from a recipe and plugins."};
  GlobalOptions global;
  global.command.assign(argv, argv + argc);
  app.name(argc > 0 ? argv[0] : "ghhost");
  declare_program(app, global);
  CommandTree commands(app);
  try {
    app.parse(spelled_out(global.command));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  return guarded([&] {
    require_usable(global.plugins);
    return commands.chosen().run(global);
  });
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  watch_ways_out();
  install_caching_allocator();
  return leave(checked_output(parse_and_run(argc, argv)));
}
