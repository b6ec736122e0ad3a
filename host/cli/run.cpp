// ghhost run, check and keys: everything about recipes.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "plugins/inspect.hpp"
#include "plugins/registry.hpp"
#include "recipe/toml.hpp"
#include "report/report.hpp"
#include "report/run_record.hpp"
#include "train/session.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

namespace gh::host {
namespace {

struct RecipeArguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string out;
  bool json = false;
  bool resolved = false;
};

void add_recipe_arguments(CLI::App& command, RecipeArguments& arguments) {
  command.add_option("RECIPE", arguments.recipe, "Recipe file")->required();
  command.add_option("OVERRIDE", arguments.overrides,
                     "Changes: a.b=value sets, +a.b=value adds, ~a.b removes; values are TOML");
  command.add_flag("--json", arguments.json, "Print the outcome as JSON");
}

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

int show_outcome(const RunOutcome& outcome, bool json) {
  const std::filesystem::path report = outcome.directory / "report.html";
  if (json) {
    const nlohmann::ordered_json out = {{"state", outcome.interrupted ? "interrupted" : "finished"},
                                        {"directory", outcome.directory.string()},
                                        {"report", report.string()}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}\nReport: {}\n", summary_text(load_run(outcome.directory)), report.string());
    if (outcome.interrupted)
      fmt::print("Stopped by a signal; state saved in {}\n", outcome.directory.string());
  }
  return outcome.interrupted ? kInterrupted : kOk;
}

int run(const RecipeArguments& arguments, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  Diagnostics diagnostics;
  const Recipe recipe = load_recipe(arguments.recipe, arguments.overrides, registry, diagnostics);
  fmt::print(stderr, "{}", diagnostics.text());
  if (diagnostics.has_errors()) return kBadRecipe;
  Console console;
  return show_outcome(
      run_recipe(recipe, registry, {.out = arguments.out, .command = global.command}, console),
      arguments.json);
}

int check(const RecipeArguments& arguments, const GlobalOptions& global) {
  Registry registry(default_search_path(global.plugins));
  Diagnostics diagnostics;
  const Recipe recipe = load_recipe(arguments.recipe, arguments.overrides, registry, diagnostics);
  const bool ok = !diagnostics.has_errors();
  if (arguments.json) {
    const nlohmann::ordered_json out = {{"ok", ok}, {"diagnostics", to_json(diagnostics)}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print(stderr, "{}", diagnostics.text());
    if (ok && arguments.resolved) fmt::print("{}", to_toml(recipe.resolved));
    if (ok && !arguments.resolved) fmt::print("{}: ok\n", arguments.recipe);
  }
  return ok ? kOk : kBadRecipe;
}

int keys() {
  for (const HostTable& table : host_tables()) {
    if (!table.path.empty())
      fmt::print(fmt::runtime(table.list ? "[[{}]]  " : "[{}]  "), table.path);
    fmt::print("# {}\n{}\n", table.doc, schema_as_toml(table.schema, ""));
  }
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, const GlobalOptions& global, Work& work) {
  CLI::App* command = app.add_subcommand("run", "Train and evaluate what a recipe says");
  const auto arguments = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *arguments);
  command
      ->add_option("--out", arguments->out, "Run directory, new or empty; default: runs/<name>-NNN")
      ->type_name("DIR");
  command->footer(
      "Examples:\n"
      "  ghhost run recipes/toy.toml\n"
      "  ghhost run recipes/toy.toml data.longtail.ratio=64 '~harmonize' --out runs/simclr-64\n"
      "Exit codes: 0 done, 75 stopped by a signal with the state saved, 78 recipe or plugin "
      "refused,\n"
      "66 data missing, 74 reading or writing failed, 64 wrong arguments, 1 anything else.");
  command->callback(
      [=, &global, &work] { work = [=, &global] { return run(*arguments, global); }; });
}

void add_check(CLI::App& app, const GlobalOptions& global, Work& work) {
  CLI::App* command =
      app.add_subcommand("check", "Validate a recipe without building or reading anything");
  const auto arguments = std::make_shared<RecipeArguments>();
  add_recipe_arguments(*command, *arguments);
  command->add_flag("--resolved", arguments->resolved, "Print the recipe with every default");
  command->footer("Example:\n  ghhost check recipes/toy.toml method.temperature=0.5 --resolved");
  command->callback(
      [=, &global, &work] { work = [=, &global] { return check(*arguments, global); }; });
}

void add_keys(CLI::App& app, const GlobalOptions&, Work& work) {
  CLI::App* command =
      app.add_subcommand("keys", "Print the tables and keys of a recipe that are the host's own");
  command->footer("Example:\n  ghhost keys\nParameters of components: ghhost plugins info ID");
  command->callback([&work] { work = keys; });
}

}  // namespace gh::host
