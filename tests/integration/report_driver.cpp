// Writes a run directory as a long run on a hundred long-tailed classes would leave it, with
// made-up predictions but the real tables and pictures: what reports have to cope with.
//
// usage: report_driver DIRECTORY [classes=100] [seed=0] [lift=0]
// `lift` is added to the accuracy of tail classes, for runs to compare.
#include "image/png_writer.hpp"
#include "run/run_directory.hpp"
#include "support/recorded_evaluation.hpp"

#include "gh/classification.hpp"
#include "gh/plot.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace {

using namespace gh;
using namespace gh::host;
using Json = nlohmann::ordered_json;

constexpr int kEpochs = 200, kWarmUp = 100, kTested = 50;
constexpr const char* kSvg = "image/svg+xml";

// Keeps what is reported in the form of results/*.json.
class WrittenEvaluation : public test::RecordedEvaluation {
 public:
  void metric(std::string_view name, double value, std::string_view definition) override {
    json["metrics"].push_back(
        {{"name", name}, {"value", json_number(value)}, {"definition", definition}});
  }
  void table(std::string_view name, std::string_view caption, std::span<const std::string> columns,
             std::span<const std::vector<std::string>> rows) override {
    Json lines = Json::array();
    for (const auto& row : rows) lines.push_back(row);
    json["tables"].push_back({{"name", name},
                              {"caption", caption},
                              {"columns", std::vector<std::string>(columns.begin(), columns.end())},
                              {"rows", lines}});
  }
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override {
    shown.push_back(
        {std::string(name), std::string(caption), std::string(mime), std::string(bytes)});
  }
  Json json = {{"metrics", Json::array()}, {"tables", Json::array()}};
  std::vector<RunDirectory::Picture> shown;
};

struct Story {
  int classes = 100;
  uint64_t seed = 0;
  double lift = 0;
  std::vector<int64_t> counts;
  std::vector<std::string> names;
};

// Accuracy of class `c` after `epoch` epochs, 0 … 1.
double accuracy(const Story& story, int c, int epoch, double skill) {
  const double tail = static_cast<double>(c) / (story.classes - 1);
  const double learnt = 1 - std::exp(-epoch / 40.0);
  const double gained = epoch > kWarmUp ? story.lift * tail * (epoch - kWarmUp) / kWarmUp : 0;
  Random own(story.seed, 1000 + static_cast<uint64_t>(c));
  return 1.0 / story.classes + learnt * (skill - 0.35 * tail + gained + 0.1 * own.normal());
}

void classify(const Story& story, WrittenEvaluation& out, const std::string& rule, double skill,
              int epoch, const std::string& how) {
  const int64_t n = int64_t{story.classes} * kTested;
  const int64_t width = std::min(5, story.classes);
  const at::Tensor ranked = at::empty({n, width}, at::kLong), targets = at::empty({n}, at::kLong);
  Random random(story.seed, static_cast<uint64_t>(epoch) + 7);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = i % story.classes;
    targets.data_ptr<int64_t>()[i] = c;
    int64_t* row = ranked.data_ptr<int64_t>() + i * width;
    // Mistakes lean towards the head.
    for (int64_t r = 0; r < width; ++r)
      row[r] = static_cast<int64_t>(std::pow(random.uniform(), 2) * story.classes);
    if (random.uniform() < accuracy(story, static_cast<int>(c), epoch, skill)) row[0] = c;
  }
  out.counts = at::tensor(story.counts, at::kLong);
  report_classification(out, {.split = "test", .groups = rule, .leave_out = false},
                        {ranked, targets, story.names}, how);
}

std::string tile(Random& random) {
  InterleavedImage image{32, 32, {}};
  const int shade[3] = {static_cast<int>(random.below(200)), static_cast<int>(random.below(200)),
                        static_cast<int>(random.below(200))};
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x)
      for (const int s : shade) image.pixels.push_back(static_cast<uint8_t>(s + (x ^ y)));
  return encode_png(image);
}

void draw_neighbours(const Story& story, WrittenEvaluation& out) {
  Random random(story.seed, 5);
  PictureRows rows;
  for (int i = 0; i < 6; ++i) {
    std::vector<PictureCell> cells = {{tile(random), "query", true}};
    for (int j = 0; j < 8; ++j) cells.push_back({tile(random), "bicycle", j % 3 == 0});
    rows.add(story.names[static_cast<std::size_t>(story.classes - 1 - i)] + ", 5 training samples",
             cells);
  }
  out.picture("neighbours",
              "A test sample of each of the worst tail classes and its nearest training samples; "
              "framed: of its class.",
              kSvg, rows.svg());
}

void draw_tsne(const Story& story, WrittenEvaluation& out, int epoch) {
  ScatterPlot plot;
  plot.title = "t-SNE";
  Random random(story.seed, 9);
  for (const char* group : {"many", "medium", "few"}) {
    PlotSeries series{group, {}, {}};
    for (int i = 0; i < 400; ++i) {
      const double angle = 6.28 * random.uniform(), away = 0.4 + epoch / 200.0;
      series.x.push_back(away * std::cos(angle) * 10 + 2 * random.normal());
      series.y.push_back(away * std::sin(angle * (1 + i % 2)) * 10 + 2 * random.normal());
    }
    plot.add(std::move(series));
  }
  out.picture("tsne", "Test samples in the plane, by group of their class.", kSvg, plot.svg());
}

void evaluate(const Story& story, RunDirectory& run, const std::string& moment, int epoch) {
  const auto write = [&](const std::string& id, int slot, const Json& params,
                         WrittenEvaluation& out) {
    Json result = {{"evaluator", id},
                   {"slot", fmt::format("eval.{}", slot)},
                   {"params", params},
                   {"splits", {{"train", "sha256:11"}, {"test", "sha256:22"}}},
                   {"moment", moment},
                   {"epoch", epoch},
                   {"seconds", 1.5},
                   {"label", epoch == 0        ? "untrained"
                             : epoch > kWarmUp ? "simclr + GH"
                                               : "simclr"}};
    result.update(out.json);
    run.write_result(result, out.shown);
  };
  WrittenEvaluation linear, few, near;
  classify(story, linear, "terciles", 0.65, epoch,
           "linear probe on all training samples, L-BFGS, weight decay 1e-4");
  if (moment != "epoch") draw_neighbours(story, linear);
  write("linear", 0, {{"split", "test"}, {"groups", "terciles"}, {"weight_decay", 1e-4}}, linear);
  if (moment == "epoch") return;
  classify(story, near, "shots(100,20)", 0.55, epoch, "k-NN, k = 20, cosine");
  write("knn", 1, {{"split", "test"}, {"groups", "shots(100,20)"}, {"k", 20}}, near);
  classify(story, few, "shots(100,20)", 0.5, epoch, "k-NN, k = 200, cosine");
  write("knn", 2, {{"split", "test"}, {"groups", "shots(100,20)"}, {"k", 200}}, few);
  WrittenEvaluation map;
  draw_tsne(story, map, epoch);
  map.metric("kl", 1.2 - epoch / 400.0, "Kullback-Leibler divergence that was reached");
  write("tsne", 3, {{"perplexity", 30}}, map);
}

Story read_story(int argc, char** argv) {
  Story story;
  if (argc > 2) story.classes = std::atoi(argv[2]);
  if (argc > 3) story.seed = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) story.lift = std::atof(argv[4]);
  for (int c = 0; c < story.classes; ++c) {
    story.counts.push_back(static_cast<int64_t>(500 * std::pow(0.01, c / (story.classes - 1.0))));
    story.names.push_back(fmt::format("class_{:03}", c));
  }
  return story;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const Story story = read_story(argc, argv);
  RunDirectory run = RunDirectory::create(argv[1], "synthetic");
  run.write_text(
      "recipe.toml",
      fmt::format("name = \"cifar100-lt\"\nseed = {}\ndata.id = \"cifar\"\n"
                  "backbone.id = \"resnet18\"\nmethod = {{ id = \"simclr\", temperature "
                  "= 0.2 }}\n[harmonize]\nwarm_up = {}\nweight = {}\nstructure = {{ id = "
                  "\"etf\" }}\nallocator = {{ id = \"sinkhorn\" }}\n",
                  story.seed, kWarmUp, story.lift));
  int64_t all = 0;
  for (const int64_t n : story.counts) all += n;
  run.write_json("data.json", {{"split", "train"},
                               {"fingerprint", "sha256:33"},
                               {"samples", all},
                               {"class_counts", story.counts}});
  run.write_json(
      "environment.json",
      {{"ghhost", "1.0.0"}, {"torch", "2.4"}, {"threads", 2}, {"plugins", Json::array()}});
  for (int epoch = 0; epoch <= kEpochs; ++epoch) {
    if (epoch > 0)
      run.append_metrics({{"stage", "train"},
                          {"epoch", epoch},
                          {"loss", 2 + 4 * std::exp(-epoch / 50.0)},
                          {"lr", 0.25 * (1 + std::cos(3.1416 * epoch / kEpochs))},
                          {"grad_norm", 1 + 1.0 / epoch}},
                         epoch);
    if (epoch == 0 || epoch == kWarmUp || epoch == kEpochs)
      evaluate(story, run, epoch == 0 ? "start" : epoch == kEpochs ? "end" : "warm-up", epoch);
    else if (epoch % 10 == 0)
      evaluate(story, run, "epoch", epoch);
  }
  RunStatus status(run);
  status.running({.stage = "train", .epoch = kEpochs, .epochs = kEpochs});
  status.ended("finished", "");
  return 0;
}
