// Makes up a study: run directories as `ghhost run` leaves them, then its page and its tables.
//
//   study_driver DIR ARMS SEEDS done|going [paper]
//
// DIR/study.html, DIR/table.{md,tex,csv,json}. The first arm is the baseline, the others lie on a
// grid of two axes, under the layout "paper" on one of data, too. "going": of the last arms some
// have begun, some failed, some wait. One label would be a script if a page let it.
#include "report/study_page.hpp"
#include "report/study_table.hpp"
#include "text/json.hpp"

#include "gh/random.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using gh::host::ArmState;
using gh::host::RunOfStudy;
using gh::host::StudySummary;

constexpr int kEpochs = 200, kEvery = 20;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

struct Arm {
  std::string label, name;
  gh::host::Pairs axes;
  double lift = 0;  // of the tail, in percent
};

std::vector<Arm> arms(int count, bool paper) {
  const std::vector<std::string> ratios =
      paper ? std::vector<std::string>{"100", "50", "10"} : std::vector<std::string>{""};
  const int each = (count + static_cast<int>(ratios.size()) - 1) / static_cast<int>(ratios.size());
  std::vector<Arm> out;
  for (const std::string& ratio : ratios) {
    gh::host::Pairs data;
    if (paper) data = {{"data.longtail.ratio", ratio}};
    const std::string suffix = paper ? ", R " + ratio : "";
    out.push_back({"SimCLR" + suffix, "SimCLR", data, 0});
    const int weights = each > 30 ? 9 : each > 4 ? 4 : 8;
    for (int i = 0; i + 1 < each; ++i) {
      const double weight = 0.125 * std::pow(2, i % weights);
      const int points = 30 + 40 * (i / weights);
      Arm arm{fmt::format("+GH, w = {}, K = {}{}", weight, points, suffix), "+GH", data,
              4 - std::abs(std::log2(weight)) + (points > 90 ? 1 : 0)};
      arm.axes.emplace_back("harmonize.weight", fmt::format("{}", weight));
      arm.axes.emplace_back("harmonize.structure.points", std::to_string(points));
      out.push_back(std::move(arm));
    }
  }
  if (out.size() > 3) out[3].label = "<script>alert(1)</script> & \"K\" \x1b[31m";
  return out;
}

Json classified(const Arm& arm, const std::string& evaluator, const std::string& slot,
                const std::string& moment, int epoch, double noise) {
  const double grown = 1 - std::exp(-epoch / 60.0);
  const double many = 57 * grown + noise, medium = (50 + arm.lift) * grown + noise;
  const double few = (46 + 1.5 * arm.lift) * grown + noise, mean = (many + medium + few) / 3;
  const double deviation =
      std::sqrt(((many - mean) * (many - mean) + (medium - mean) * (medium - mean) +
                 (few - mean) * (few - mean)) /
                2);
  const std::vector<std::pair<std::string, double>> values = {{"many", many},
                                                              {"medium", medium},
                                                              {"few", few},
                                                              {"deviation", deviation},
                                                              {"average", mean}};
  Json metrics = Json::array(), row = Json::array();
  for (const auto& [name, value] : values) {
    metrics.push_back({{"name", name}, {"value", value}, {"definition", "mean accuracy, percent"}});
    row.push_back(fmt::format("{:.2f}", value));
  }
  return {
      {"evaluator", evaluator},
      {"slot", slot},
      {"params", {{"split", "test"}}},
      {"splits", {{"train", "sha256:11"}, {"test", "sha256:22"}}},
      {"moment", moment},
      {"epoch", epoch},
      {"label", moment},
      {"metrics", metrics},
      {"tables",
       {{{"name", "groups"},
         {"caption", evaluator + " on all training samples. Accuracy in percent, mean over the "
                                 "classes of a group; terciles by training samples. std: of the "
                                 "group means; avg: mean over all classes"},
         {"columns", {"many", "medium", "few", "std", "avg"}},
         {"rows", {row}}}}}};
}

void make_run(const Arm& arm, const RunOfStudy& run, int64_t epochs) {
  gh::Random random(gh::stream_key(gh::stream_key(1, arm.label), run.seed));
  const double noise = 0.4 * random.normal();
  std::string lines;
  for (int epoch = 1; epoch <= epochs; ++epoch)
    lines += fmt::format(R"({{"stage": "train", "epoch": {0}, "step": {0}, "loss": {1:.5f}, )"
                         R"("lr": {2:.5f}, "effective_rank": {3:.4f}}})"
                         "\n",
                         epoch,
                         2 + 4 * std::exp(-epoch / 50.0) - 0.1 * arm.lift + 0.02 * random.normal(),
                         0.25 * (1 + std::cos(3.1416 * epoch / kEpochs)),
                         10 + epoch / 8.0 + arm.lift + 0.3 * random.normal());
  write(run.directory / "recipe.toml", fmt::format("name = \"made up\"\nseed = {}\n", run.seed));
  write(run.directory / "status.json",
        fmt::format(R"({{"state": "{}", "stage": "train", "epoch": {}, "epochs": {}}})",
                    run.state == ArmState::done ? "finished" : "interrupted", epochs, kEpochs));
  write(run.directory / "metrics.jsonl", lines);
  int number = 0;
  const auto result = [&](const Json& json, const std::string& evaluator) {
    write(run.directory / fmt::format("results/{:02}-{}-{}.json", number++,
                                      json["moment"].get<std::string>(), evaluator),
          json.dump());
  };
  for (int epoch = kEvery; epoch <= epochs; epoch += kEvery)
    result(classified(arm, "knn", "eval.0", epoch == kEpochs ? "end" : "epoch", epoch,
                      noise - 4 + 0.2 * random.normal()),
           "knn");
  if (epochs < kEpochs) return;
  result(classified(arm, "linear_probe", "eval.1", "end", kEpochs, noise), "linear_probe");
  write(run.directory / "report.html", "<!DOCTYPE html><title>run</title>");
}

// Of a study that is going: the last third has begun, failed or waits.
ArmState state_of(std::size_t arm, std::size_t seed, std::size_t count, bool going) {
  if (!going || 3 * arm < 2 * count) return ArmState::done;
  constexpr ArmState kLater[] = {ArmState::running, ArmState::fresh, ArmState::failed,
                                 ArmState::resumable, ArmState::fresh};
  return kLater[(arm + seed) % 5];
}

StudySummary make_study(const fs::path& directory, int count, int seeds, bool going, bool paper) {
  StudySummary study;
  study.name = "w & K <of GH>";
  study.directory = directory;
  study.baseline = "SimCLR";
  study.layout = paper ? "paper" : "rows";
  study.metrics = {"linear_probe", "knn.few"};
  study.updated = "2026-01-31T12:00:00Z";
  const std::vector<Arm> all = arms(count, paper);
  for (std::size_t a = 0; a < all.size(); ++a)
    for (int s = 0; s < seeds; ++s) {
      RunOfStudy run;
      run.label = all[a].label;
      run.arm = all[a].name;
      run.axes = all[a].axes;
      run.seed = std::to_string(s);
      run.baseline = paper ? "SimCLR, R " + all[a].axes[0].second : "SimCLR";
      run.directory = directory / "runs" / fmt::format("{:03}-{}", a, s);
      run.state = state_of(a, static_cast<std::size_t>(s), all.size(), going);
      if (run.state == ArmState::failed) run.failure = "out of memory; see train.log & \"more\"";
      if (a == 2) run.unintended = {"train.batch_size"};
      run.epochs_planned = kEpochs;
      run.epochs_done = run.state == ArmState::done    ? kEpochs
                        : run.state == ArmState::fresh ? 0
                                                       : 35 + 25 * (s + 1);
      if (run.state == ArmState::running) run.seconds_left = 1234;
      if (run.epochs_done > 0) make_run(all[a], run, run.epochs_done);
      study.epochs_done += run.epochs_done;
      study.epochs_planned += kEpochs;
      study.runs.push_back(std::move(run));
    }
  if (going) study.seconds_left = 12345;
  return study;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 64;
  const fs::path directory = argv[1];
  const StudySummary study =
      make_study(directory, std::atoi(argv[2]), std::atoi(argv[3]), std::string(argv[4]) == "going",
                 argc > 5 && std::string(argv[5]) == "paper");
  using gh::host::study_table;
  using gh::host::TableFormat;
  gh::host::write_study_page(study, directory / "study.html");
  write(directory / "table.md", study_table(study, TableFormat::markdown));
  write(directory / "table.tex", study_table(study, TableFormat::latex));
  write(directory / "table.csv", study_table(study, TableFormat::csv));
  write(directory / "table.json", study_table(study, TableFormat::json));
  return 0;
}
