// ghhost plugins docs.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "files/file_write.hpp"
#include "plugins/inspect.hpp"
#include "report/component_pages.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

class PluginsDocs final : public Command {
 public:
  PluginsDocs()
      : Command({"plugins docs", "The reference of all components, from what plugins say",
                 "Examples:\n  ghhost plugins docs\n  ghhost plugins docs --out docs\n"
                 "Plugins on the search path that are usable, loaded in a child process."}) {}

  void declare(Options& options) override {
    options.text("--out", "DIR", out_,
                 "Write components.md, and components.html with a search, instead of printing");
  }

  int run(const GlobalOptions& global) override {
    const PluginReport report =
        describe_in_child(default_search_path(global.plugins), load_options(global));
    if (report.error) {
      print_message("{}: {}\n", name_of(report.error->code), report.error->message);
      return kBadRecipe;
    }
    const auto plugins = parse_json<nlohmann::ordered_json>(report.json);
    if (out_.empty()) {
      write_output(components_markdown(plugins));
      return kOk;
    }
    const fs::path directory = fs::absolute(out_);
    std::error_code error;
    fs::create_directories(directory, error);
    require(!error, ErrorCode::io, "cannot create ", directory.string(), ": ", error.message());
    write_file_atomically(directory / "components.md", components_markdown(plugins));
    write_file_atomically(directory / "components.html", components_html(plugins));
    print_result("{}\n{}\n", (directory / "components.md").string(),
                 (directory / "components.html").string());
    return kOk;
  }

 private:
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> plugins_docs_command() { return std::make_unique<PluginsDocs>(); }

}  // namespace gh::host
