// ghhost keys.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "plugins/inspect.hpp"
#include "recipe/recipe.hpp"
#include "run/standard_streams.hpp"

namespace gh::host {
namespace {

class Keys final : public Command {
 public:
  Keys()
      : Command({"keys", "Print the tables and keys of a recipe that are the host's own",
                 "Example:\n  ghhost keys\nParameters of components: ghhost plugins info ID"}) {}

  void declare(Options&) override {}

  int run(const GlobalOptions&) override {
    for (const HostTable& table : host_tables()) {
      if (!table.path.empty())
        print_result("{}{}{}  ", table.list ? "[[" : "[", table.path, table.list ? "]]" : "]");
      print_result("# {}\n{}\n", table.doc, schema_as_toml(table.schema, ""));
    }
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> keys_command() { return std::make_unique<Keys>(); }

}  // namespace gh::host
