// The directory a run leaves behind. Everything in it is written here, so that its format has one
// home:
//
//   recipe.toml        the resolved recipe; running it again is the same run
//   environment.json   versions, machine, plugins with their hashes
//   status.json        state, progress, heartbeat
//   metrics.jsonl      one object an epoch; what depends on the clock is under "time"
//   train.log          what the run said
//   data.json          what it trained on: fingerprint, class counts, chosen samples
//   results/           one JSON an evaluation, and its pictures
//   state.safetensors  every component's named state where the run stopped
//   report.html        all of the above to look at
#pragma once

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gh::host {

// Writes to a temporary file beside `file`, syncs and renames; the old content survives any
// failure. Throws gh::Error (io).
void write_file_atomically(const std::filesystem::path& file, std::string_view content);

class RunDirectory {
 public:
  // Takes `wanted`, which must not exist or be empty; with an empty `wanted`, the first free of
  // runs/<slug of name>-001, -002, … Throws gh::Error (io) saying what to do.
  static RunDirectory create(const std::filesystem::path& wanted, const std::string& name);

  const std::filesystem::path& path() const { return path_; }

  void write_text(std::string_view name, std::string_view content);  // atomically
  void write_json(std::string_view name, const nlohmann::ordered_json& content);
  void append_metrics(const nlohmann::ordered_json& line);
  void log(std::string_view line);  // train.log, with time of day

  // Saves an evaluation; pictures (name → bytes) go beside it. Returns its file name.
  struct Picture {
    std::string name, caption, mime, bytes;
  };
  void write_result(nlohmann::ordered_json result, const std::vector<Picture>& pictures);

 private:
  explicit RunDirectory(std::filesystem::path path);
  std::filesystem::path path_;
  std::ofstream metrics_;
  std::ofstream log_;
  int results_ = 0;
};

// status.json, rewritten at most once a second unless the state changes.
class RunStatus {
 public:
  explicit RunStatus(RunDirectory& directory);
  void running(std::string_view stage, int64_t epoch, int64_t epochs);
  void ended(std::string_view state,
             std::string_view message);  // "finished", "failed", "interrupted"

 private:
  void write();
  RunDirectory& directory_;
  nlohmann::ordered_json status_;
  double started_;
  double written_ = -1;
};

// Now as "2026-01-31T12:00:00Z".
std::string utc_now();

}  // namespace gh::host
