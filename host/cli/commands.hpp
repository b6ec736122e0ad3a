// What each subcommand of ghhost does. Arguments come parsed (main.cpp alone knows the command line
// library); the result is the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gh::host {

// Options every command has.
struct GlobalOptions {
  std::vector<std::string> plugins;  // --plugin
  std::vector<std::string> command;  // argv
};

// Throws gh::Error (invalid_param) when a plugin that --plugin names cannot be used, whether the
// command needs it or not. Runs no plugin code.
void require_named_plugins(const GlobalOptions& global);

struct RecipeArguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string out;      // run
  bool resume = false;  // run
  bool json = false;
  bool resolved = false;  // check
};
int run_command(const RecipeArguments& arguments, const GlobalOptions& global);
// Goes on with a run by the recipe in its directory.
int resume_command(const std::string& run, const RecipeArguments& arguments,
                   const GlobalOptions& global);
int check_command(const RecipeArguments& arguments, const GlobalOptions& global);
int keys_command();

struct DataArguments {
  std::string recipe;
  std::vector<std::string> overrides;
  bool json = false, quick = false;  // check
  std::string out = "preview.html";  // preview
  int64_t samples = 8, epochs = 2;
  double weight = 1;
  bool plain = false;
};
int data_check_command(const DataArguments& arguments, const GlobalOptions& global);
int data_preview_command(const DataArguments& arguments, const GlobalOptions& global);

struct PluginArguments {
  std::string what;  // info, check
  bool json = false;
};
int plugins_list_command(const PluginArguments& arguments, const GlobalOptions& global);
int plugins_info_command(const PluginArguments& arguments, const GlobalOptions& global);
int plugins_check_command(const PluginArguments& arguments, const GlobalOptions& global);

struct NewPluginArguments {
  std::string kind, name, into;
};
int new_plugin_command(const NewPluginArguments& arguments);

struct EvalArguments {
  std::string what;  // a run directory, or a recipe
  std::vector<std::string> overrides;
  std::string weights, out;
  bool best = false, json = false;
};
int eval_command(const EvalArguments& arguments, const GlobalOptions& global);

struct ExportArguments {
  std::string run, out;
  bool best = false;
};
int export_command(const ExportArguments& arguments, const GlobalOptions& global);
int replay_command(const std::string& run, const GlobalOptions& global);

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
  std::string format = "html";  // or "markdown", "latex"
  bool mean = false;            // over seeds
};
int report_command(const ReportArguments& arguments);

struct DiffArguments {
  std::string a, b;
  bool json = false;
};
int diff_command(const DiffArguments& arguments);

int version_command(bool json);

}  // namespace gh::host
