// ghhost: the command line, and the one place where what is thrown becomes a message and an exit
// code.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/guarded.hpp"
#include "cli/ways_out.hpp"
#include "run/standard_streams.hpp"
#include "train/caching_allocator.hpp"

#include <CLI/CLI.hpp>

#include <functional>

namespace {

using namespace gh::host;
using Work = std::function<int()>;

// Everything the command line can set.
struct Arguments {
  GlobalOptions global;
  RecipeArguments recipe;
  std::string run;  // resume, replay
  EvalArguments eval;
  ExportArguments exported;
  DataArguments data;
  PluginArguments plugin;
  NewPluginArguments new_plugin;
  ReportArguments report;
  DiffArguments diff;
  bool version_json = false;
};

CLI::App* add_command(CLI::App& app, const char* name, const char* doc, const char* footer,
                      Work& chosen, Work work) {
  CLI::App* command = app.add_subcommand(name, doc);
  command->footer(footer);
  if (work) command->callback([&chosen, work = std::move(work)] { chosen = work; });
  return command;
}

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
  command.add_option("OVERRIDE", overrides,
                     "Changes: a.b=value sets, +a.b=value adds, ~a.b removes; values are TOML");
}

void add_recipe_arguments(CLI::App& command, RecipeArguments& a) {
  command.add_option("RECIPE", a.recipe, "Recipe file")->required();
  add_overrides(command, a.overrides);
  command.add_flag("--json", a.json, "Print the outcome as JSON");
}

void add_recipe_commands(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* run = add_command(
      app, "run", "Train and evaluate what a recipe says",
      "Examples:\n"
      "  ghhost run recipes/toy.toml\n"
      "  ghhost run recipes/toy/r64-simclr.toml seed=1 --out runs/simclr-64\n"
      "Exit codes: 0 done, 3 trained to the end, but an evaluation failed, 75 stopped by a "
      "signal,\n"
      "78 recipe or plugin refused, 66 data missing, 74 reading or writing failed, 64 wrong\n"
      "arguments, 1 anything else.",
      chosen, [&a] { return run_command(a.recipe, a.global); });
  add_recipe_arguments(*run, a.recipe);
  run->add_option("--out", a.recipe.out, "Run directory, new or empty; default: runs/<name>-NNN")
      ->type_name("DIR");
  run->add_flag("--resume", a.recipe.resume,
                "Go on with the run in --out, or the last of its name, bit for bit; start one "
                "where there is none");

  CLI::App* resume =
      add_command(app, "resume", "Go on with a run that was stopped, bit for bit",
                  "Examples:\n"
                  "  ghhost resume runs/toy-001\n"
                  "  ghhost resume runs/toy-001 loader.on_error=skip\n"
                  "May be changed: loader, train.threads, checkpoint.",
                  chosen, [&a] { return resume_command(a.run, a.recipe, a.global); });
  resume->add_flag("--json", a.recipe.json, "Print the outcome as JSON");
  CLI::App* encoder =
      add_command(app, "export", "Write a run's encoder as safetensors, for other programs",
                  "Example:\n  ghhost export runs/cifar-001 --out resnet.safetensors\n"
                  "A ResNet has torchvision's names, without the classifier fc.",
                  chosen, [&a] { return export_command(a.exported, a.global); });
  encoder->add_option("RUN", a.exported.run, "Run directory")->required();
  encoder->add_option("--out", a.exported.out, "File to write; default: RUN/encoder.safetensors")
      ->type_name("FILE");
  encoder->add_flag("--best", a.exported.best, "The best checkpoint instead of the newest");
  CLI::App* replay = add_command(
      app, "replay", "Make the step again at which a run's numbers stopped being finite",
      "Example:\n  ghhost replay runs/cifar-001\n"
      "Starts at the newest checkpoint, changes nothing, and ends with 0 when the step has the "
      "same\n"
      "numbers again.",
      chosen, [&a] { return replay_command(a.run, a.global); });
  for (CLI::App* command : {resume, replay})
    command->add_option("RUN", a.run, "Run directory")->required();
  add_overrides(*resume, a.recipe.overrides);

  CLI::App* check =
      add_command(app, "check", "Validate a recipe without building or reading anything",
                  "Example:\n  ghhost check recipes/toy.toml method.temperature=0.5 --resolved",
                  chosen, [&a] { return check_command(a.recipe, a.global); });
  add_recipe_arguments(*check, a.recipe);
  check->add_flag("--resolved", a.recipe.resolved, "Print the recipe with every default");

  add_command(app, "keys", "Print the tables and keys of a recipe that are the host's own",
              "Example:\n  ghhost keys\nParameters of components: ghhost plugins info ID", chosen,
              keys_command);
}

void add_eval_command(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* eval = add_command(
      app, "eval", "Evaluate a finished run again, or weights of a file, without training",
      "Examples:\n"
      "  ghhost eval runs/cifar-001 eval.0.groups='shots(100,20)'\n"
      "  ghhost eval runs/cifar-001 '~eval' '+eval={id=\"knn\", k=5}' --best\n"
      "  ghhost eval recipe.toml --weights resnet50.pth --out runs/foreign\n"
      "Results of a run are added to its directory unless --out is given. Networks stay as they "
      "were\n"
      "trained: only seed, eval, data, views.plain, loader, ranks, train.device, train.threads "
      "and\n"
      "train.convolution may be changed.",
      chosen, [&a] { return eval_command(a.eval, a.global); });
  eval->add_option("WHAT", a.eval.what, "Run directory, or a recipe for --weights")->required();
  eval->add_option("OVERRIDE", a.eval.overrides, "Changes, as for `ghhost run`");
  eval->add_option("--weights", a.eval.weights,
                   "Encoder to evaluate: .safetensors (ghhost export) or a .pth dictionary")
      ->type_name("FILE");
  eval->add_option("--out", a.eval.out, "New directory for the results")->type_name("DIR");
  eval->add_flag("--best", a.eval.best, "The best checkpoint instead of the newest");
  eval->add_flag("--json", a.eval.json, "Print the outcome as JSON");
}

void add_data_commands(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* data = add_command(app, "data", "Look at the data of a recipe before training on them",
                               "Examples:\n  ghhost data check recipes/shapes.toml\n"
                               "  ghhost data preview recipes/shapes.toml",
                               chosen, {});
  data->require_subcommand(1);
  data->fallthrough();
  CLI::App* check = add_command(
      *data, "check", "Open every split, read every sample, count classes, name what is known",
      "Example:\n  ghhost data check recipes/shapes.toml --quick\n"
      "Exit codes: 0 sound, 65 some samples cannot be read, 66 data missing, 78 recipe refused.",
      chosen, [&a] { return data_check_command(a.data, a.global); });
  CLI::App* preview = add_command(
      *data, "preview", "Write a page with real views of a few samples, largest class first",
      "Example:\n  ghhost data preview recipes/shapes.toml views.jitter.hue=0.5 --out hue.html",
      chosen, [&a] { return data_preview_command(a.data, a.global); });
  for (CLI::App* command : {check, preview}) {
    command->add_option("RECIPE", a.data.recipe, "Recipe file")->required();
    command->add_option("OVERRIDE", a.data.overrides, "Changes, as for `ghhost run`");
  }
  check->add_flag("--json", a.data.json, "Print JSON");
  check->add_flag("--quick", a.data.quick, "Do not read the samples");
  preview->add_option("--out", a.data.out, "File to write")
      ->type_name("FILE")
      ->capture_default_str();
  preview->add_option("--samples", a.data.samples, "Rows")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  preview->add_option("--epochs", a.data.epochs, "Draws of each view")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  preview->add_option("--weight", a.data.weight, "Weight of every sample, for boosted operations")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  preview->add_flag("--plain", a.data.plain, "What evaluators see, instead of the method");
}

void add_plugin_commands(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* plugins =
      add_command(app, "plugins", "List, describe and check plugins",
                  "Examples:\n  ghhost plugins list\n  ghhost plugins info simclr", chosen, {});
  plugins->require_subcommand(1);
  plugins->fallthrough();
  CLI::App* list = add_command(*plugins, "list", "What is on the search path; runs no plugin code",
                               "Example:\n  ghhost plugins list --json", chosen,
                               [&a] { return plugins_list_command(a.plugin, a.global); });
  CLI::App* info =
      add_command(*plugins, "info",
                  "What a plugin offers: components, parameters, a block to paste into a recipe",
                  "Example:\n  ghhost plugins info sinkhorn", chosen,
                  [&a] { return plugins_info_command(a.plugin, a.global); });
  CLI::App* check =
      add_command(*plugins, "check",
                  "Load a plugin in a child process and try each component against its contract",
                  "Example:\n  ghhost plugins check build/my_method.so", chosen,
                  [&a] { return plugins_check_command(a.plugin, a.global); });
  for (CLI::App* command : {info, check})
    command->add_option("WHAT", a.plugin.what, "A file, kind/id, id or plugin name")->required();
  for (CLI::App* command : {list, info, check})
    command->add_flag("--json", a.plugin.json, "Print JSON");

  CLI::App* scaffold =
      add_command(app, "new-plugin", "Write a plugin that builds and runs as it is",
                  "Example:\n  ghhost new-plugin ssl my_method", chosen,
                  [&a] { return new_plugin_command(a.new_plugin); });
  scaffold
      ->add_option("KIND", a.new_plugin.kind,
                   "ssl, structure, allocator, dataset, backbone or evaluator")
      ->required();
  scaffold->add_option("NAME", a.new_plugin.name, "Name and id: small letters, digits and _")
      ->required();
  scaffold->add_option("--into", a.new_plugin.into, "Folder to create; default: NAME")
      ->type_name("DIR");
}

void add_report_commands(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* report = add_command(
      app, "report",
      "Write the report of a run again, several runs side by side, or their table for a paper",
      "Examples:\n  ghhost report runs/toy-001\n"
      "  ghhost report runs/toy-001 runs/toy-002 --out both.html\n"
      "  ghhost report runs/cifar-* --format latex --mean",
      chosen, [&a] { return report_command(a.report); });
  report->add_option("RUN", a.report.runs, "Run directories")->required();
  report
      ->add_option("--out", a.report.out,
                   "File to write; default: RUN/report.html, comparison.html for several runs, "
                   "standard output for tables")
      ->type_name("FILE");
  report
      ->add_option("--format", a.report.format,
                   "html: a page; markdown, latex: a table with a row per run and evaluator, "
                   "columns by group of classes")
      ->check(CLI::IsMember({"html", "markdown", "latex"}))
      ->capture_default_str();
  report->add_flag("--mean", a.report.mean,
                   "In tables, one row for runs that differ only in their seed: mean ± sample "
                   "standard deviation");

  CLI::App* diff = add_command(
      app, "diff",
      "List every resolved difference between two runs, where their training parts, their results",
      "Example:\n  ghhost diff runs/cifar-001 runs/cifar-002\n"
      "Compares recipes with every default, evaluation protocols, data, plugins and environment,\n"
      "then metrics epoch by epoch and the newest checkpoint of both, and warns where results are\n"
      "not comparable. Exit codes: 0 whether they differ or not, 66 no such run.",
      chosen, [&a] { return diff_command(a.diff); });
  diff->add_option("A", a.diff.a, "Run directory")->required();
  diff->add_option("B", a.diff.b, "Run directory")->required();
  diff->add_flag("--json", a.diff.json, "Print JSON");
}

void add_other_commands(CLI::App& app, Arguments& a, Work& chosen) {
  CLI::App* version =
      add_command(app, "version", "Print versions of program, SDK, LibTorch and compiler",
                  "Example:\n  ghhost version --json", chosen,
                  [&a] { return version_command(a.version_json); });
  version->add_flag("--json", a.version_json, "Print JSON");
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  watch_ways_out();
  install_caching_allocator();
  CLI::App app{
      "ghhost runs self-supervised learning on long-tailed data from a recipe and plugins."};
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Examples:\n"
      "  ghhost run recipes/toy.toml\n"
      "  ghhost run recipes/toy.toml harmonize.weight=2 seed=1 --out runs/weight-2\n"
      "  ghhost COMMAND --help");
  Arguments arguments;
  arguments.global.command.assign(argv, argv + argc);
  app.add_option("--plugin", arguments.global.plugins,
                 "Plugin file, or directory to look in first; may be repeated. A file that cannot "
                 "be used is an error. Then GHHOST_PLUGIN_PATH, the user's directory and the "
                 "bundled plugins.")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  Work chosen;
  add_recipe_commands(app, arguments, chosen);
  add_eval_command(app, arguments, chosen);
  add_data_commands(app, arguments, chosen);
  add_plugin_commands(app, arguments, chosen);
  add_report_commands(app, arguments, chosen);
  add_other_commands(app, arguments, chosen);
  const auto parse_and_run = [&]() -> int {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error) == 0 ? kOk : kUsage;
    }
    return guarded([&] {
      require_named_plugins(arguments.global);
      return chosen();
    });
  };
  return leave(checked_output(parse_and_run()));
}
