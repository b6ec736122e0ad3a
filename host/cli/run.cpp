// ghhost run, check and keys: everything about recipes.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "plugins/inspect.hpp"
#include "plugins/registry.hpp"
#include "recipe/toml.hpp"
#include "report/report.hpp"
#include "report/run_record.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"
#include "train/preflight.hpp"
#include "train/session.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace gh::host {
namespace {

nlohmann::ordered_json to_json(const Diagnostics& diagnostics) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Diagnostic& d : diagnostics.all())
    out.push_back({{"level", d.level == Diagnostic::Level::error ? "error" : "warning"},
                   {"file", d.source.file},
                   {"line", d.source.line},
                   {"column", d.source.column},
                   {"key", d.key},
                   {"message", d.message}});
  return out;
}

std::string recipe_of(const std::string& run) {
  const std::filesystem::path file = std::filesystem::path(run) / "recipe.toml";
  require(std::filesystem::exists(file), ErrorCode::missing_data, file.string(),
          " is not there: ", run, " is no run directory");
  return file.string();
}

Recipe recipe_of_run(const std::string& run, Registry& registry) {
  Diagnostics diagnostics;
  Recipe recipe = load_recipe(recipe_of(run), {}, registry, diagnostics);
  require(!diagnostics.has_errors(), ErrorCode::invalid_param, "the recipe in ", run,
          " does not fit these plugins any more:\n", diagnostics.text());
  return recipe;
}

int code_of(const RunOutcome& outcome) {
  if (outcome.interrupted) return kInterrupted;
  return outcome.failed.empty() ? kOk : kEvaluationFailed;
}

int show_outcome(const RunOutcome& outcome, bool json) {
  if (!outcome.first) return code_of(outcome);
  const std::filesystem::path report = outcome.directory / "report.html";
  if (json) {
    const nlohmann::ordered_json out = {{"state", outcome.interrupted ? "interrupted" : "finished"},
                                        {"directory", outcome.directory.string()},
                                        {"report", report.string()},
                                        {"failed_evaluations", outcome.failed}};
    print_result("{}\n", json_text(out, 2));
  } else {
    print_result("{}\nReport: {}\n", summary_text(load_run(outcome.directory)), report.string());
    if (outcome.interrupted)
      print_result("Stopped by a signal. Go on with: ghhost resume {}\n",
                   outcome.directory.string());
    for (const std::string& reason : outcome.failed) print_message("ghhost: {}\n", reason);
    if (!outcome.failed.empty())
      print_message("Once that is mended, evaluate again with: ghhost eval {}\n",
                    outcome.directory.string());
  }
  return code_of(outcome);
}

}  // namespace

int run_command(const RecipeArguments& arguments, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  Diagnostics diagnostics;
  const Recipe recipe = load_recipe(arguments.recipe, arguments.overrides, registry, diagnostics);
  print_message("{}", diagnostics.text());
  if (diagnostics.has_errors()) return kBadRecipe;
  return show_outcome(
      run_recipe(recipe, registry,
                 {.out = arguments.out, .resume = arguments.resume, .command = global.command}),
      arguments.json);
}

int resume_command(const std::string& run, const RecipeArguments& arguments,
                   const GlobalOptions& global) {
  return run_command({.recipe = recipe_of(run),
                      .overrides = arguments.overrides,
                      .out = run,
                      .resume = true,
                      .json = arguments.json,
                      .resolved = false},
                     global);
}

int eval_command(const EvalArguments& arguments, const GlobalOptions& global) {
  namespace fs = std::filesystem;
  const bool run = fs::is_directory(arguments.what);
  require(run || !arguments.weights.empty(), ErrorCode::missing_data, arguments.what,
          " is no run directory; to evaluate weights of a file by a recipe, give them with "
          "--weights FILE");
  require(!arguments.best || arguments.weights.empty(), ErrorCode::invalid_param,
          "--best chooses a checkpoint of the run, --weights takes another file: give one of them");
  Registry registry(default_search_path(global.plugins));
  Diagnostics diagnostics;
  const Recipe recipe = load_recipe(run ? recipe_of(arguments.what) : arguments.what,
                                    arguments.overrides, registry, diagnostics);
  print_message("{}", diagnostics.text());
  if (diagnostics.has_errors()) return kBadRecipe;
  return show_outcome(evaluate_run(recipe, registry,
                                   {.run = run ? fs::path(arguments.what) : fs::path(),
                                    .weights = arguments.weights,
                                    .which = arguments.best ? Which::best : Which::newest,
                                    .out = arguments.out,
                                    .command = global.command}),
                      arguments.json);
}

int export_command(const ExportArguments& arguments, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  const Recipe recipe = recipe_of_run(arguments.run, registry);
  const std::filesystem::path run = arguments.run;
  const std::filesystem::path out =
      arguments.out.empty() ? run / "encoder.safetensors" : std::filesystem::path(arguments.out);
  print_result(
      "{}\n", export_run(recipe, registry, run, arguments.best ? Which::best : Which::newest, out));
  return kOk;
}

int replay_command(const std::string& run, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  const ReplayOutcome outcome = replay_run(recipe_of_run(run, registry), registry, run);
  print_result("{}\n", outcome.text);
  return outcome.same ? kOk : kRunFailed;
}

int check_command(const RecipeArguments& arguments, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  Diagnostics diagnostics;
  const Recipe recipe = load_recipe(arguments.recipe, arguments.overrides, registry, diagnostics);
  if (!diagnostics.has_errors()) check_without_data(recipe, registry, diagnostics);
  const bool ok = !diagnostics.has_errors();
  if (arguments.json) {
    const nlohmann::ordered_json out = {{"ok", ok}, {"diagnostics", to_json(diagnostics)}};
    print_result("{}\n", json_text(out, 2));
  } else {
    print_message("{}", diagnostics.text());
    if (ok && arguments.resolved) print_result("{}", to_toml(recipe.resolved));
    if (ok && !arguments.resolved) print_result("{}: ok\n", arguments.recipe);
  }
  return ok ? kOk : kBadRecipe;
}

int keys_command() {
  for (const HostTable& table : host_tables()) {
    if (!table.path.empty())
      print_result("{}{}{}  ", table.list ? "[[" : "[", table.path, table.list ? "]]" : "]");
    print_result("# {}\n{}\n", table.doc, schema_as_toml(table.schema, ""));
  }
  return kOk;
}

}  // namespace gh::host
