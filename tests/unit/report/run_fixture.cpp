#include "unit/report/run_fixture.hpp"

#include <fmt/format.h>

#include <fstream>

namespace gh::test {

std::string RunFixture::read(const std::string& file) const {
  std::ifstream in(path() / file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void RunFixture::write_result(int number, const std::string& moment, int epoch,
                              const std::string& share) const {
  const std::string stem = fmt::format("results/{:02}-{}-circle", number, moment);
  write(stem + ".json", fmt::format(R"({{"evaluator": "circle", "slot": "eval.0", "moment": "{1}",
    "epoch": {2}, "label": "at {1}", "seconds": 0.5,
    "metrics": [{{"name": "share", "value": {3}, "definition": "smallest share of the circle"}}],
    "tables": [{{"name": "classes", "caption": "by class", "columns": ["class", "share"],
                 "rows": [["a", "{3}"], ["b", "0.5"]]}}],
    "pictures": [{{"name": "data", "caption": "the data", "mime": "image/svg+xml",
                   "file": "{0}-data.svg"}},
                 {{"name": "embedding", "caption": "the circle", "mime": "image/svg+xml",
                   "file": "{0}-embedding.svg"}}]}})",
                                    stem, moment, epoch, share));
  constexpr std::string_view kSvg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><defs><clipPath id=\"c\">"
      "<rect width=\"9\" height=\"9\"/></clipPath></defs><g "
      "clip-path=\"url(#c)\"><text>{}</text></g></svg>";
  write(stem + "-data.svg", fmt::format(kSvg, "data"));
  write(stem + "-embedding.svg", fmt::format(kSvg, moment));
}

void RunFixture::write_toy(const std::string& name) const {
  write("recipe.toml", fmt::format(R"(name = "{}"
seed = 7
data.id = "gaussians"
backbone.id = "mlp"
method = {{ id = "simclr", temperature = 0.2 }}
[harmonize]
structure = {{ id = "etf", points = 4 }}
allocator = {{ id = "sinkhorn", epsilon = 0.05 }}
warm_up = 4
[[eval]]
id = "circle"
)",
                                   name));
  write("status.json", R"({"state": "finished", "stage": "train", "epoch": 10, "epochs": 10,
    "message": "", "updated": "2025-01-01", "seconds": 75})");
  write("environment.json",
        R"({"ghhost": "1.0.0", "threads": 2, "command": ["ghhost", "run", "a b"],
    "plugins": [{"name": "simclr", "version": "1.2", "file": "simclr.so", "sha256": "abc",
                 "provides": ["ssl:simclr"]}]})");
  std::string lines;
  for (int epoch = 1; epoch <= 10; ++epoch)
    lines +=
        fmt::format(R"({{"stage": "train", "epoch": {0}, "epochs": 10, "step": {0}, "lr": 0.5,)"
                    R"( "loss": {1}, "loss_gh": {2}, "time": {{"seconds": 0.{0}}}}})"
                    "\n",
                    epoch, 5.0 / epoch, epoch < 5 ? "null" : "0.25");
  write("metrics.jsonl", lines);
  write("data.json", R"({"samples": 807, "class_counts": [500, 198, 78, 31]})");
  write("train.log", "first line\nlast line\n");
  write_result(0, "start", 0, "0.1");
  write_result(1, "warm-up", 4, "null");
  write_result(2, "end", 10, "0.25");
}

void RunFixture::write_classified(int number, const Classified& r) const {
  constexpr std::array<const char*, 5> kMetrics = {"many", "medium", "few", "deviation", "average"};
  std::string metrics, cells, rows;
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    metrics += fmt::format(R"({}{{"name": "{}", "value": {}, "definition": "in percent"}})",
                           i == 0 ? "" : ", ", kMetrics[i], r.values[i]);
    cells +=
        fmt::format(R"({}"{}")", i == 0 ? "" : ", ", r.values[i] == "null" ? "—" : r.values[i]);
  }
  for (int c = 0; c < r.classes; ++c)
    rows += fmt::format(R"({}["{}", "{}", "{}.5"])", c == 0 ? "" : ", ", c,
                        c < r.classes / 2 ? "many" : "few", c + r.epoch);
  write(fmt::format("results/{:02}-{}-{}.json", number, r.moment, r.evaluator),
        fmt::format(R"({{"evaluator": "{}", "slot": "{}", "moment": "{}", "epoch": {},
    "params": {}, "splits": {}, "metrics": [{}],
    "tables": [{{"name": "groups", "caption": "nearest neighbours, split test. Mean of a group; std: of groups",
                 "columns": ["many", "medium", "few", "std", "avg"], "rows": [[{}]]}},
               {{"name": "classes", "caption": "every class", "columns": ["class", "group", "accuracy"],
                 "rows": [{}]}}]}})",
                    r.evaluator, r.slot, r.moment, r.epoch, r.params, r.splits, metrics, cells,
                    rows));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

}  // namespace gh::test
