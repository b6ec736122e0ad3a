// ghhost check RECIPE, or a study, or an engine.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/read_recipe.hpp"
#include "cli/read_study.hpp"
#include "plugins/registry.hpp"
#include "recipe/toml.hpp"
#include "run/standard_streams.hpp"
#include "session/preflight.hpp"
#include "study/engine.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

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

class Check final : public Command {
 public:
  Check()
      : Command({"check",
                 "Validate a recipe, every arm of a study or an engine, without building or "
                 "reading anything",
                 "Examples:\n"
                 "  ghhost check recipes/toy.toml method.temperature=0.5 --resolved\n"
                 "  ghhost check recipes/paper/figure-05-weight.toml --scale small"}) {}

  void declare(Options& options) override {
    arguments_.declare(options, "Recipe, study or engine");
    options.flag("--resolved", resolved_, "Print the recipe with every default");
  }

  int run(const GlobalOptions& global) override {
    Registry registry = open_registry(global);
    Diagnostics diagnostics;
    if (is_engine_file(arguments_.file)) return check_engine(diagnostics);
    return is_study_file(arguments_.file) ? check_study(registry, diagnostics)
                                          : check_recipe(registry, diagnostics);
  }

 private:
  int check_recipe(Registry& registry, Diagnostics& diagnostics) const {
    const Recipe recipe = load_recipe_at_scale(arguments_.file, arguments_.overrides,
                                               arguments_.scale, registry, diagnostics);
    if (!diagnostics.has_errors()) check_without_data(recipe, registry, diagnostics);
    return show(diagnostics, resolved_ ? to_toml(recipe.resolved) : arguments_.file + ": ok\n");
  }

  int check_study(Registry& registry, Diagnostics& diagnostics) const {
    if (!arguments_.overrides.empty() || resolved_) {
      print_message(
          "ghhost: {} is a study: its arms are changed in the file, and `ghhost study plan` writes "
          "their resolved recipes\n",
          arguments_.file);
      return kUsage;
    }
    const LoadedStudy study = load_study(arguments_.file, arguments_.scale, registry, diagnostics);
    return show(diagnostics, fmt::format("{}: ok, {} arm{} × {} seed{}\n", arguments_.file,
                                         study.rows.size(), study.rows.size() == 1 ? "" : "s",
                                         study.seeds.size(), study.seeds.size() == 1 ? "" : "s"));
  }

  int check_engine(Diagnostics& diagnostics) const {
    if (!arguments_.overrides.empty() || !arguments_.scale.empty() || resolved_) {
      print_message("ghhost: {} is an engine: nothing of it can be changed here\n",
                    arguments_.file);
      return kUsage;
    }
    const Engine engine = read_engine(arguments_.file, diagnostics);
    if (!diagnostics.has_errors())
      fill(engine, {.study = "/study", .name = "study", .command = {"ghhost"}, .set = {}});
    return show(diagnostics, arguments_.file + ": ok\n");
  }

  int show(const Diagnostics& diagnostics, const std::string& result) const {
    const bool ok = !diagnostics.has_errors();
    if (arguments_.json) {
      const nlohmann::ordered_json out = {{"ok", ok}, {"diagnostics", to_json(diagnostics)}};
      print_result("{}\n", json_text(out, 2));
    } else {
      print_message("{}", diagnostics.text());
      if (ok) print_result("{}", result);
    }
    return ok ? kOk : kBadRecipe;
  }

  RecipeArguments arguments_;
  bool resolved_ = false;
};

}  // namespace

std::unique_ptr<Command> check_command() { return std::make_unique<Check>(); }

}  // namespace gh::host
