// ghhost report and ghhost version.
#include "report/report.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "report/paper_table.hpp"
#include "run/environment.hpp"
#include "run/run_directory.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace gh::host {
namespace {

int write_pages(const ReportArguments& arguments) {
  const std::vector<std::filesystem::path> runs(arguments.runs.begin(), arguments.runs.end());
  if (runs.size() == 1 && arguments.out.empty()) {
    write_report(runs[0]);
    print_result("{}\n", (runs[0] / "report.html").string());
    return kOk;
  }
  const std::filesystem::path out = arguments.out.empty() ? "comparison.html" : arguments.out;
  write_comparison(runs, out);
  print_result("{}\n", out.string());
  return kOk;
}

}  // namespace

int report_command(const ReportArguments& arguments) {
  if (arguments.format == "html") {
    if (!arguments.mean) return write_pages(arguments);
    print_message("ghhost: --mean is for tables; add --format markdown or latex\n");
    return kUsage;
  }
  std::vector<RunRecord> runs;
  for (const std::string& run : arguments.runs) runs.push_back(load_run(run));
  const std::string text =
      table_text(runs, arguments.format == "latex" ? TableStyle::latex : TableStyle::markdown,
                 arguments.mean ? Seeds::averaged : Seeds::listed);
  if (arguments.out.empty()) {
    print_result("{}", text);
    return kOk;
  }
  write_file_atomically(arguments.out, text);
  print_result("{}\n", arguments.out);
  return kOk;
}

int version_command(bool json) {
  const nlohmann::ordered_json environment = describe_environment();
  if (json) {
    print_result("{}\n", json_text(environment, 2));
    return kOk;
  }
  for (const auto& [key, value] : environment.items())
    print_result("{:<10}{}\n", key,
                 value.is_string() ? value.get<std::string>() : json_text(value));
  return kOk;
}

}  // namespace gh::host
