// ghhost eval RUN, or RECIPE --weights FILE.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/read_recipe.hpp"
#include "cli/run_by_recipe.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {
namespace {

class Evaluate final : public Command {
 public:
  Evaluate()
      : Command({"eval", "Evaluate a finished run again, or weights of a file, without training",
                 R"(Examples:
  ghhost eval runs/cifar-001 eval.0.groups='shots(100,20)'
  ghhost eval runs/cifar-001 '~eval' '+eval={id="knn", k=5}' --best
  ghhost eval recipe.toml --weights resnet50.pth --out runs/foreign
Results of a run are added to its directory unless --out is given. Networks stay as they were
trained: only seed, eval, data, views.plain, loader, ranks, train.device, train.threads and
train.convolution may be changed.)"}) {}

  void declare(Options& options) override {
    options.required("WHAT", what_, "Run directory, or a recipe for --weights");
    options.rest("OVERRIDE", overrides_, "Changes, as for `ghhost run`");
    options.text("--weights", "FILE", weights_,
                 "Encoder to evaluate: .safetensors (ghhost export) or a .pth dictionary");
    options.text("--out", "DIR", out_, "New directory for the results");
    options.flag("--best", best_, "The best checkpoint instead of the newest");
    options.flag("--json", json_, "Print the outcome as JSON");
  }

  int run(const GlobalOptions& global) override {
    namespace fs = std::filesystem;
    const bool run = fs::is_directory(what_);
    require(run || !weights_.empty(), ErrorCode::missing_data, what_,
            " is no run directory; to evaluate weights of a file by a recipe, give them with "
            "--weights FILE");
    require(
        !best_ || weights_.empty(), ErrorCode::invalid_param,
        "--best chooses a checkpoint of the run, --weights takes another file: give one of them");
    Registry registry = open_registry(global);
    const std::optional<Recipe> recipe =
        read_recipe(run ? recipe_file_of(what_) : what_, overrides_, registry);
    if (!recipe) return kBadRecipe;
    return show_outcome(evaluate_run(*recipe, registry,
                                     {.run = run ? fs::path(what_) : fs::path(),
                                      .weights = weights_,
                                      .which = best_ ? Which::best : Which::newest,
                                      .out = out_,
                                      .command = global.command}),
                        json_);
  }

 private:
  std::string what_, weights_, out_;
  std::vector<std::string> overrides_;
  bool best_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> eval_command() { return std::make_unique<Evaluate>(); }

}  // namespace gh::host
