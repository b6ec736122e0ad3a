// ghhost data preview RECIPE.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/open_recipe.hpp"
#include "data/preview.hpp"
#include "files/file_write.hpp"
#include "plan/refusals.hpp"
#include "report/preview_page.hpp"
#include "run/standard_streams.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace gh::host {
namespace {

class DataPreview final : public Command {
 public:
  DataPreview()
      : Command({"data preview",
                 "Write a page with real views of a few samples, largest class first",
                 "Example:\n  ghhost data preview recipes/shapes.toml views.jitter.hue=0.5 --out "
                 "hue.html"}) {}

  void declare(Options& options) override {
    declare_recipe(options, recipe_, overrides_);
    options.text("--out", "FILE", out_, "File to write");
    options.number("--samples", 1, 1000, preview_.samples, "Rows");
    options.number("--epochs", 1, 100, preview_.epochs, "Draws of each view");
    options.number("--weight", 0.0, 1.0, preview_.weight,
                   "Weight of every sample, for boosted operations");
    options.flag("--plain", plain_, "What evaluators see, instead of the method");
  }

  int run(const GlobalOptions& global) override {
    Registry registry = open_registry(global);
    const std::optional<OpenRecipe> open = open_recipe(recipe_, overrides_, registry);
    if (!open) return kBadRecipe;
    const TrainPlan& train = open->plan;
    preview_.skip_unreadable = train.loader.skip_unreadable;
    Notes notes;
    const SampleSet set = open->split("train", preview_.skip_unreadable, notes);
    for (const std::string& note : notes) print_message("{}\n", note);
    Diagnostics problems;
    check_views(open->recipe, train, set, problems);
    if (problems.has_errors()) throw RecipeRefused(problems);
    const ViewPlan& views = plain_ ? train.plain_views : train.views;
    const std::vector<PreviewRow> rows = preview_rows(set, views, train.seed, preview_);
    PreviewPage page("Views: " + train.name, lead(rows.size(), set, views, train.seed));
    for (const PreviewRow& row : rows) page.add(row.caption, row.original, row.views);
    const std::filesystem::path out = std::filesystem::absolute(out_);
    write_file_atomically(out, page.html());
    print_result("{}\n", out.string());
    return kOk;
  }

 private:
  std::string lead(std::size_t rows, const SampleSet& set, const ViewPlan& views,
                   uint64_t seed) const {
    std::string text =
        fmt::format("{} of {} training samples; views of {} {}, seed {}", rows, set.size(),
                    preview_.epochs, preview_.epochs == 1 ? "epoch" : "epochs", seed);
    if (views.reads_weights()) text += fmt::format(", boosted with weight {}", preview_.weight);
    return text;
  }

  std::string recipe_, out_ = "preview.html";
  std::vector<std::string> overrides_;
  PreviewPlan preview_{.samples = 8, .epochs = 2, .weight = 1};
  bool plain_ = false;
};

}  // namespace

std::unique_ptr<Command> data_preview_command() { return std::make_unique<DataPreview>(); }

}  // namespace gh::host
