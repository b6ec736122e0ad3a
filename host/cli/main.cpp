// ghhost: command line, and the one place where what is thrown becomes a message and an exit code.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "train/components.hpp"

#include <fmt/format.h>

#include <new>

namespace {

int report(std::string_view message, int code) {
  fmt::print(stderr, "ghhost: {}\n", message);
  return code;
}

int guarded(const gh::host::Work& work) {
  using namespace gh::host;
  try {
    return work();
  } catch (const RecipeRefused& refused) {
    fmt::print(stderr, "{}", refused.diagnostics().text());
    return kBadRecipe;
  } catch (const gh::Error& error) {
    return report(error.what(), exit_code_for(error.code()));
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gh::host;
  CLI::App app{
      "ghhost runs self-supervised learning on long-tailed data from a recipe and plugins."};
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Examples:\n"
      "  ghhost run recipes/toy.toml\n"
      "  ghhost run recipes/toy.toml harmonize.weight=2 seed=1 --out runs/weight-2\n"
      "  ghhost COMMAND --help");
  GlobalOptions global;
  global.command.assign(argv, argv + argc);
  app.add_option("--plugin", global.plugins,
                 "Plugin file or directory to look in first; may be repeated. Then "
                 "GHHOST_PLUGIN_PATH, the user's directory and "
                 "the bundled plugins.")
      ->type_name("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  Work work;
  add_run(app, global, work);
  add_check(app, global, work);
  add_keys(app, global, work);
  add_plugins(app, global, work);
  add_new_plugin(app, global, work);
  add_report(app, global, work);
  add_version(app, global, work);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  return guarded(work);
}
