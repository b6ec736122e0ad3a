// ghhost check RECIPE.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/read_recipe.hpp"
#include "plugins/registry.hpp"
#include "recipe/toml.hpp"
#include "run/standard_streams.hpp"
#include "session/preflight.hpp"
#include "text/json.hpp"

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
      : Command({"check", "Validate a recipe without building or reading anything",
                 "Example:\n  ghhost check recipes/toy.toml method.temperature=0.5 --resolved"}) {}

  void declare(Options& options) override {
    arguments_.declare(options);
    options.flag("--resolved", resolved_, "Print the recipe with every default");
  }

  int run(const GlobalOptions& global) override {
    Registry registry(default_search_path(global.plugins));
    Diagnostics diagnostics;
    const Recipe recipe = load_recipe_at_scale(arguments_.file, arguments_.overrides,
                                               arguments_.scale, registry, diagnostics);
    if (!diagnostics.has_errors()) check_without_data(recipe, registry, diagnostics);
    const bool ok = !diagnostics.has_errors();
    if (arguments_.json) {
      const nlohmann::ordered_json out = {{"ok", ok}, {"diagnostics", to_json(diagnostics)}};
      print_result("{}\n", json_text(out, 2));
    } else {
      print_message("{}", diagnostics.text());
      if (ok && resolved_) print_result("{}", to_toml(recipe.resolved));
      if (ok && !resolved_) print_result("{}: ok\n", arguments_.file);
    }
    return ok ? kOk : kBadRecipe;
  }

 private:
  RecipeArguments arguments_;
  bool resolved_ = false;
};

}  // namespace

std::unique_ptr<Command> check_command() { return std::make_unique<Check>(); }

}  // namespace gh::host
