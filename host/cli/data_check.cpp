// ghhost data check RECIPE: reads data before anything is trained on them.
#include "data/data_check.hpp"
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/named_plugins.hpp"
#include "cli/open_recipe.hpp"
#include "data/known_sets.hpp"
#include "run/standard_streams.hpp"
#include "session/session.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace gh::host {
namespace {

constexpr std::size_t kShownReasons = 20;

nlohmann::ordered_json describe(const SampleSet& set, const DataFindings& found,
                                const Notes& notes) {
  nlohmann::ordered_json out = {{"split", set.name()},
                                {"samples", set.size()},
                                {"fingerprint", set.fingerprint()},
                                {"known_as", known_set(set.fingerprint())},
                                {"notices", notes},
                                {"unreadable", found.unreadable}};
  if (set.chosen().defined()) {
    out["chosen_fingerprint"] = set.chosen_fingerprint();
    out["chosen_known_as"] = known_set(set.chosen_pattern());
  }
  if (const at::Tensor counts = set.class_counts(); counts.defined()) {
    const int64_t* first = counts.data_ptr<int64_t>();
    out["class_counts"] = std::vector<int64_t>(first, first + counts.numel());
  }
  if (set.pictures())
    out["pictures"] = {{"smallest_side", found.smallest_side},
                       {"largest_side", found.largest_side},
                       {"mean_pixels", found.mean_pixels}};
  return out;
}

void print_classes(const SampleSet& set) {
  const at::Tensor counts = set.class_counts();
  if (!counts.defined()) return;
  const int64_t* first = counts.data_ptr<int64_t>();
  const auto [low, high] = std::minmax_element(first, first + counts.numel());
  if (*low == *high) {
    print_result("  {} classes of {} samples each\n", counts.numel(), *low);
    return;
  }
  print_result("  {} classes of {} … {} samples, imbalance ratio {}\n", counts.numel(), *low, *high,
               *low > 0
                   ? fmt::format("{:.4g}", static_cast<double>(*high) / static_cast<double>(*low))
                   : "infinite: a class is empty");
  print_result("{}", class_histogram(counts, set.class_names()));
}

std::string with_name(const std::string& fingerprint, std::string_view known) {
  return known.empty() ? fingerprint : fmt::format("{} ({})", fingerprint, known);
}

void print_split(const SampleSet& set, const DataFindings& found, const Notes& notes, bool read) {
  print_result("{}: {} samples{}\n", set.name(), set.size(), set.in_memory() ? ", in memory" : "");
  print_result("  fingerprint {}\n", with_name(set.fingerprint(), known_set(set.fingerprint())));
  if (set.chosen().defined())
    print_result("  choice {}\n",
                 with_name(set.chosen_fingerprint(), known_set(set.chosen_pattern())));
  for (const std::string& note : notes) print_result("  {}\n", note);
  print_classes(set);
  if (!read || (!set.pictures() && found.unreadable.empty())) return;
  if (found.smallest_side < found.largest_side)
    print_result("  sides of {} … {} pixels, {:.0f} pixels a picture on average\n",
                 found.smallest_side, found.largest_side, found.mean_pixels);
  else if (found.largest_side > 0)
    print_result("  {0} × {0} pixels\n", found.largest_side);
  if (found.unreadable.empty()) {
    print_result("  every sample can be read\n");
    return;
  }
  print_result("  {} of {} samples cannot be read:\n", found.unreadable.size(), set.size());
  for (std::size_t i = 0; i < std::min(kShownReasons, found.unreadable.size()); ++i)
    print_result("    {}\n", found.unreadable[i]);
  if (found.unreadable.size() > kShownReasons)
    print_result("    … and {} more; --json lists all\n", found.unreadable.size() - kShownReasons);
}

DataFindings read_with_progress(const SampleSet& set, int threads) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  DataFindings found = read_everything(set, threads, [&](int64_t done) {
    if (terminal) print_message("\r{}: reading {} of {}", set.name(), done, set.size());
  });
  if (terminal) print_message("\r\x1b[2K");
  return found;
}

class DataCheck final : public Command {
 public:
  DataCheck()
      : Command({"data check",
                 "Open every split, read every sample, count classes, name what is known",
                 R"(Example:
  ghhost data check recipes/shapes.toml --quick
Exit codes: 0 sound, 65 some samples cannot be read, 66 data missing, 78 recipe refused.)"}) {}

  void declare(Options& options) override {
    declare_recipe(options, recipe_, overrides_);
    options.flag("--json", json_, "Print JSON");
    options.flag("--quick", quick_, "Do not read the samples");
  }

  int run(const GlobalOptions& global) override {
    Registry registry = open_registry(global);
    const std::optional<OpenRecipe> open = open_recipe(recipe_, overrides_, registry);
    if (!open) return kBadRecipe;
    const int wanted = open->plan.loader.threads;
    const int threads =
        wanted > 0 ? wanted : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    bool sound = true;
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const std::string& split : open->dataset.call("splits", &Dataset::splits)) {
      // What is read and named below need not stop the opening.
      Notes notes;
      const SampleSet set = open->split(split, !quick_ || open->plan.loader.skip_unreadable, notes);
      const DataFindings found = quick_ ? DataFindings{} : read_with_progress(set, threads);
      sound = sound && found.unreadable.empty();
      if (json_)
        json.push_back(describe(set, found, notes));
      else
        print_split(set, found, notes, !quick_);
    }
    if (json_) print_result("{}\n", json_text(json, 2));
    if (!sound) return kBadData;
    check_with_data(open->recipe, registry);  // whatever was left for when there are data
    return kOk;
  }

 private:
  std::string recipe_;
  std::vector<std::string> overrides_;
  bool json_ = false, quick_ = false;
};

}  // namespace

std::unique_ptr<Command> data_check_command() { return std::make_unique<DataCheck>(); }

}  // namespace gh::host
