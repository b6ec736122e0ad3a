// What a run left behind, read from its directory: the input of every page and table of this room.
//
// Reading is forgiving where a run may have been killed (a half-written last line) or a file
// damaged: what can be read is read, the rest becomes a line in `problems`, which reports print.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

using Pairs = std::vector<std::pair<std::string, std::string>>;  // in the order of the file

struct MetricRecord {
  std::string name;
  std::optional<double> value;  // empty: not finite when it was measured, shown as "—"
  std::string definition;
};

struct TableRecord {
  std::string name;
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct PictureRecord {
  std::string name;
  std::string caption;
  std::string mime;
  std::string bytes;    // empty: `problem` says why
  std::string problem;  // for the reader of the report
};

// One evaluation: an evaluator at a moment of training.
struct ResultRecord {
  std::string evaluator;  // plugin id
  std::string slot;       // its place in the recipe, "eval.0"
  std::string moment;     // "start", "warm-up", "end"; "epoch": one of a regular series
  std::string label;      // the moment in words of the recipe; may be empty
  int64_t epoch = 0;
  double seconds = 0;  // that it took; 0: not known
  Pairs params;        // of the evaluator, every default included; may be empty
  Pairs splits;        // what was evaluated on: split and fingerprint
  std::vector<MetricRecord> metrics;
  std::vector<TableRecord> tables;
  std::vector<PictureRecord> pictures;
};

// One line of metrics.jsonl.
struct EpochRecord {
  std::string stage;
  int64_t epoch = 0;                      // of the stage, from 1
  int64_t step = 0;                       // of the stage, at its end
  std::map<std::string, double> scalars;  // null is NaN; {"time": {"data": 1}} is "time.data"
};

struct PluginRecord {
  std::string name;
  std::string version;
  std::string file;
  std::string sha256;
  std::string provides;  // comma-separated
};

struct StatusRecord {
  // "running", "finished", "failed", "interrupted"; "lost": it says running, but nobody runs it.
  std::string state = "unknown";
  std::string stage;
  std::string message;
  std::string updated;
  int64_t epoch = 0;
  int64_t epochs = 0;
  double seconds = 0;
};

struct RunRecord {
  std::filesystem::path directory;
  std::string name;                           // the recipe's, or the directory's
  std::string recipe;                         // text of recipe.toml
  std::map<std::string, std::string> values;  // "train.optimizer.lr" → "0.5", from the recipe
  StatusRecord status;
  int64_t samples = 0;                // of the training set; 0: not known
  std::vector<int64_t> class_counts;  // of the training set; may be empty
  Pairs data;                         // what else data.json says in a line: split, fingerprint, …
  Pairs environment;                  // without the plugins
  std::vector<PluginRecord> plugins;
  std::vector<EpochRecord> epochs;    // in order of training
  std::vector<ResultRecord> results;  // in order of evaluation
  std::vector<std::string> failures;  // "knn at end, epoch 60: …": evaluations without a result
  std::string log_tail;               // last lines of train.log
  std::vector<std::string> problems;

  // A recipe value by dotted path ("eval.0.k"), strings without their quotes; "" when absent.
  std::string value(const std::string& path) const;
};

// What is read of a run. numbers: recipe values, status, epochs, metrics and tables, for those who
// read hundreds of runs; no pictures, log, plugins or environment.
enum class RunParts { all, numbers };

// Throws gh::Error missing_data when `directory` is not there or holds neither recipe.toml nor
// status.json, io when it cannot be read.
RunRecord load_run(const std::filesystem::path& directory, RunParts parts = RunParts::all);

// "simclr + GH (etf × sinkhorn) on cifar with resnet18", from what the recipe says.
std::string composition(const RunRecord& run);

// Epochs after which GH begins: when the warm-up was evaluated, or what the recipe says.
std::optional<int64_t> warm_up_end(const RunRecord& run);

}  // namespace gh::host
