// The directory a run leaves behind. Everything in it is written here, so that its format has one
// home:
//
//   recipe.toml        the resolved recipe; running it again is the same run
//   environment.json   versions, machine, plugins with their hashes
//   status.json        state, progress, heartbeat
//   metrics.jsonl      one object an epoch, the same bytes for the same run; metrics.csv as a table
//   timing.jsonl       one object an epoch and one an evaluation: what depends on the clock
//   tensorboard/       both, as events
//   train.log          what the run said
//   data.json          what it trained on: fingerprint, class counts, chosen samples
//   checkpoints/       everything needed to go on, see checkpoint_store.hpp
//   kept/              of them, those for other runs to begin with
//   results/           one JSON an evaluation, and its pictures
//   failure/           the step at which numbers stopped being finite
//   report.html        all of the above to look at
#pragma once

#include "files/file_write.hpp"
#include "run/metrics_csv.hpp"
#include "run/run_lock.hpp"
#include "run/tensorboard.hpp"

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gh::host {

class RunDirectory {
 public:
  // Takes `wanted`, which must not exist or be empty; with an empty `wanted`, the number after the
  // last of runs/<slug of name>-001, -002, … Of several that want the same at the same time, one
  // gets it. Throws gh::Error (io) saying what to do.
  static RunDirectory create(const std::filesystem::path& wanted, const std::string& name);
  // A directory that holds a run, to go on with it. Throws when another process is at it.
  static RunDirectory reopen(const std::filesystem::path& path);
  // For ranks that do not write: knows where the run lies, every write does nothing.
  static RunDirectory unwritten(const std::filesystem::path& path);
  // That of runs/<slug of name>-NNN with the highest number; empty when there is none.
  static std::filesystem::path latest(const std::string& name);

  const std::filesystem::path& path() const { return path_; }
  bool written() const { return written_; }
  const std::string& lock_warning() const { return lock_.warning(); }  // empty: it is locked well

  void write_text(std::string_view name, std::string_view content,
                  Durability durability = Durability::synced);  // atomically
  void write_json(std::string_view name, const nlohmann::ordered_json& content,
                  Durability durability = Durability::synced);
  // `step` is where the points lie in TensorBoard.
  void append_metrics(const nlohmann::ordered_json& line, int64_t step);
  void append_timing(const nlohmann::ordered_json& line, int64_t step);
  void log(std::string_view line);  // train.log, with time of day

  // Saves an evaluation; pictures (name → bytes) go beside it, how long it took and when it was
  // made into timing.jsonl. Its metrics also go to TensorBoard where the result has a "step". Those
  // of the moment "afterwards" are numbered apart: a run that goes on keeps them. With an "error"
  // it says why there are no numbers.
  struct Picture {
    std::string name, caption, mime, bytes;
  };
  struct File {
    std::string name, extension, caption, bytes;
  };
  void write_result(nlohmann::ordered_json result, const std::vector<Picture>& pictures,
                    std::optional<double> seconds = {}, const std::vector<File>& files = {});
  // "tsne at end, epoch 160: …" of each result that has an "error", those made afterwards aside.
  std::vector<std::string> failed_results() const;

  int64_t results() const { return results_; }  // written so far, those made afterwards aside

  // How much has been written, so that a resumed run can cut off what came after a checkpoint.
  struct Marks {
    int64_t metrics_bytes = 0, results = 0;
  };
  Marks marks();  // syncs the files
  // Throws gh::Error (io), with nothing cut, where the marks do not fit the files.
  void rewind(const Marks& marks, int64_t step);
  // Takes over what `other` had written by then, into a directory that has none of it: to be
  // followed by rewind(). Throws gh::Error (io) where it is not there any more.
  void begin_as(const std::filesystem::path& other, const Marks& marks);

 private:
  RunDirectory(std::filesystem::path path, bool written);
  void open_files();
  void add_events(const nlohmann::ordered_json& line, const std::string& prefix, int64_t step);

  std::filesystem::path path_;
  bool written_;
  RunLock lock_;
  std::ofstream metrics_, timing_, log_;
  std::unique_ptr<MetricsCsv> csv_;
  std::unique_ptr<EventWriter> events_;
  int64_t events_from_ = -1;  // points from this step on are dropped by TensorBoard
  int64_t results_ = 0;
};

// Where a run stands, for status.json.
struct RunProgress {
  std::string stage;
  int64_t epoch = 0, epochs = 0;  // epochs finished
  int64_t step = 0, steps = 0;    // of the stage
  double loss = 0, rate = 0, samples_per_second = 0, seconds_left = 0;
};

// status.json, rewritten at least every two seconds while the run lives: a heartbeat, by a thread
// of its own. Any thread. A process that ends before ended() leaves what run/last_words.hpp has
// ready.
class RunStatus {
 public:
  explicit RunStatus(RunDirectory& directory);
  ~RunStatus();
  RunStatus(const RunStatus&) = delete;
  RunStatus& operator=(const RunStatus&) = delete;

  void running(const RunProgress& progress);
  void doing(std::string_view what);  // "training", "evaluating knn"; written at once
  void ended(std::string_view state,
             std::string_view message);  // "finished", "failed", "interrupted"

 private:
  void beat();
  void write(Durability durability);

  RunDirectory& directory_;
  std::mutex mutex_;
  std::condition_variable wake_;
  nlohmann::ordered_json status_;
  double started_;
  double written_ = -1;
  bool over_ = false;
  std::thread heart_;
};

// null for NaN and infinities.
nlohmann::ordered_json json_number(double value);

// Now as "2026-01-31T12:00:00Z".
std::string utc_now();

}  // namespace gh::host
