// ghhost report and ghhost version.
#include "report/report.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "run/environment.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace gh::host {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
};

int report(const ReportArguments& arguments) {
  const std::vector<std::filesystem::path> runs(arguments.runs.begin(), arguments.runs.end());
  if (runs.size() == 1 && arguments.out.empty()) {
    write_report(runs[0]);
    fmt::print("{}\n", (runs[0] / "report.html").string());
    return kOk;
  }
  const std::filesystem::path out = arguments.out.empty() ? "comparison.html" : arguments.out;
  write_comparison(runs, out);
  fmt::print("{}\n", out.string());
  return kOk;
}

int version(bool json) {
  const nlohmann::ordered_json environment = describe_environment();
  if (json) {
    fmt::print("{}\n", environment.dump(2));
    return kOk;
  }
  for (const auto& [key, value] : environment.items())
    fmt::print("{:<10}{}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  return kOk;
}

}  // namespace

void add_report(CLI::App& app, const GlobalOptions&, Work& work) {
  CLI::App* command =
      app.add_subcommand("report", "Write the report of a run again, or several runs side by side");
  const auto arguments = std::make_shared<ReportArguments>();
  command->add_option("RUN", arguments->runs, "Run directories")->required();
  command->add_option("--out", arguments->out, "File for several runs; default: comparison.html")
      ->type_name("FILE");
  command->footer(
      "Examples:\n  ghhost report runs/toy-001\n  ghhost report runs/toy-001 runs/toy-002 --out "
      "both.html");
  command->callback([=, &work] { work = [=] { return report(*arguments); }; });
}

void add_version(CLI::App& app, const GlobalOptions&, Work& work) {
  CLI::App* command =
      app.add_subcommand("version", "Print versions of program, SDK, LibTorch and compiler");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Example:\n  ghhost version --json");
  command->callback([=, &work] { work = [=] { return version(*json); }; });
}

}  // namespace gh::host
