// ghhost report RUN….
#include "report/report.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "files/file_write.hpp"
#include "report/paper_table.hpp"
#include "run/standard_streams.hpp"

#include <filesystem>

namespace gh::host {
namespace {

class Report final : public Command {
 public:
  Report()
      : Command({"report",
                 "Write the report of a run again, several runs side by side, or their table for a "
                 "paper",
                 R"(Examples:
  ghhost report runs/toy-001
  ghhost report runs/toy-001 runs/toy-002 --out both.html
  ghhost report runs/cifar-* --format latex --mean)"}) {}

  void declare(Options& options) override {
    options.required("RUN", runs_, "Run directories");
    options.text("--out", "FILE", out_,
                 "File to write; default: RUN/report.html, comparison.html for several runs, "
                 "standard output for tables");
    options.choice("--format", {"html", "markdown", "latex"}, format_,
                   "html: a page; markdown, latex: a table with a row per run and evaluator, "
                   "columns by group of classes");
    options.flag("--mean", mean_,
                 "In tables, one row for runs that differ only in their seed: mean ± sample "
                 "standard deviation");
  }

  int run(const GlobalOptions&) override {
    if (format_ == "html") {
      if (!mean_) return write_pages();
      print_message("ghhost: --mean is for tables; add --format markdown or latex\n");
      return kUsage;
    }
    std::vector<RunRecord> runs;
    for (const std::string& run : runs_) runs.push_back(load_run(run));
    const std::string text =
        table_text(runs, format_ == "latex" ? TableStyle::latex : TableStyle::markdown,
                   mean_ ? Seeds::averaged : Seeds::listed);
    if (out_.empty()) {
      print_result("{}", text);
      return kOk;
    }
    write_file_atomically(out_, text);
    print_result("{}\n", out_);
    return kOk;
  }

 private:
  int write_pages() const {
    const std::vector<std::filesystem::path> runs(runs_.begin(), runs_.end());
    if (runs.size() == 1 && out_.empty()) {
      write_report(runs[0]);
      print_result("{}\n", (runs[0] / "report.html").string());
      return kOk;
    }
    const std::filesystem::path out = out_.empty() ? "comparison.html" : out_;
    write_comparison(runs, out);
    print_result("{}\n", out.string());
    return kOk;
  }

  std::vector<std::string> runs_;
  std::string out_, format_ = "html";
  bool mean_ = false;  // over seeds
};

}  // namespace

std::unique_ptr<Command> report_command() { return std::make_unique<Report>(); }

}  // namespace gh::host
