// ghhost diff A B.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "report/run_diff.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include <array>

namespace gh::host {
namespace {

class Diff final : public Command {
 public:
  Diff()
      : Command({"diff",
                 "List every resolved difference between two runs, where their training parts, "
                 "their results",
                 R"(Example:
  ghhost diff runs/cifar-001 runs/cifar-002
Compares recipes with every default, evaluation protocols, data, plugins and environment,
then metrics epoch by epoch and the newest checkpoint of both, and warns where results are
not comparable. Exit codes: 0 whether they differ or not, 66 no such run.)"}) {}

  void declare(Options& options) override {
    options.required("A", a_, "Run directory");
    options.required("B", b_, "Run directory");
    options.flag("--json", json_, "Print JSON");
  }

  int run(const GlobalOptions&) override {
    const std::array<RunRecord, 2> runs = {load_run(a_), load_run(b_)};
    if (json_)
      print_result("{}\n", json_text(diff_json(runs), 2));
    else
      print_result("{}", diff_text(runs));
    return kOk;
  }

 private:
  std::string a_, b_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> diff_command() { return std::make_unique<Diff>(); }

}  // namespace gh::host
