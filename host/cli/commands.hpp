// The subcommands of ghhost. Each adds itself to the command line; its work runs when it was chosen
// and returns the exit code.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gh::host {

// Options every command has.
struct GlobalOptions {
  std::vector<std::string> plugins;  // --plugin
  std::vector<std::string> command;  // argv
};

using Work = std::function<int()>;

void add_run(CLI::App& app, const GlobalOptions& global, Work& work);
void add_check(CLI::App& app, const GlobalOptions& global, Work& work);
void add_keys(CLI::App& app, const GlobalOptions& global, Work& work);
void add_plugins(CLI::App& app, const GlobalOptions& global, Work& work);
void add_new_plugin(CLI::App& app, const GlobalOptions& global, Work& work);
void add_report(CLI::App& app, const GlobalOptions& global, Work& work);
void add_version(CLI::App& app, const GlobalOptions& global, Work& work);

}  // namespace gh::host
