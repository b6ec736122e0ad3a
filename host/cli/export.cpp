// ghhost export RUN.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/read_recipe.hpp"
#include "run/standard_streams.hpp"
#include "session/session.hpp"

#include <filesystem>

namespace gh::host {
namespace {

class Export final : public Command {
 public:
  Export()
      : Command({"export", "Write a run's encoder as safetensors, for other programs", R"(Example:
  ghhost export runs/cifar-001 --out resnet.safetensors
A ResNet has torchvision's names, without the classifier fc.)"}) {}

  void declare(Options& options) override {
    options.required("RUN", run_, "Run directory");
    options.text("--out", "FILE", out_, "File to write; default: RUN/encoder.safetensors");
    options.flag("--best", best_, "The best checkpoint instead of the newest");
  }

  int run(const GlobalOptions& global) override {
    Registry registry = open_registry(global);
    const Recipe recipe = recipe_of_run(run_, registry);
    const std::filesystem::path run = run_;
    const std::filesystem::path out =
        out_.empty() ? run / "encoder.safetensors" : std::filesystem::path(out_);
    print_result("{}\n",
                 export_run(recipe, registry, run, best_ ? Which::best : Which::newest, out));
    return kOk;
  }

 private:
  std::string run_, out_;
  bool best_ = false;
};

}  // namespace

std::unique_ptr<Command> export_command() { return std::make_unique<Export>(); }

}  // namespace gh::host
