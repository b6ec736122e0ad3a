// Checkpoints of a run, checkpoints/step-000001234.safetensors. Each is complete in itself and
// carries a checksum of everything in it; a new one is written before an old one goes. Those in
// kept/ stay, for other runs to begin with.
#pragma once

#include "weights/safetensors.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gh::host {

struct CheckpointPlan {
  int64_t keep = 2;             // newest ones kept
  int64_t best = 0;             // kept besides, by score
  bool largest_is_best = true;  // or the smallest
};

struct Checkpoint {
  std::filesystem::path file;
  TensorFile content;
};

class CheckpointStore {
 public:
  CheckpointStore(const std::filesystem::path& run, CheckpointPlan plan);

  // Writes, syncs, renames, then removes what need not be kept. A score takes part in the choice of
  // the best; NaN does not. Throws gh::Error (io); earlier checkpoints are untouched then.
  void save(int64_t step, TensorFile content, std::optional<double> score);

  // Writes one of another run, with the list of the best that it has; removes nothing.
  void adopt(int64_t step, TensorFile content);

  // Has the newest one stay, whatever comes after it.
  void keep_newest() const;

  // The newest sound one. Each damaged one is told of first.
  std::optional<Checkpoint> newest(const std::function<void(const std::string&)>& warn) const;
  // The one with the best score, by what the newest says.
  std::optional<Checkpoint> best() const;

  // After a resume: which ones are best, from the checkpoint that is gone on from, and removal of
  // those that came after it.
  void go_on_from(const Checkpoint& checkpoint);

  // Oldest first; without those in kept/, and with those of them that are nowhere else.
  std::vector<std::filesystem::path> files() const;
  std::vector<std::filesystem::path> files_and_kept() const;

  // Steps of the best ones, by what a checkpoint says.
  static std::vector<int64_t> best_steps(const Checkpoint& checkpoint);
  std::filesystem::path file_of(int64_t step) const;

 private:
  struct Scored {
    double score;
    int64_t step;
  };
  void rank(int64_t step, double score);
  void prune() const;

  std::filesystem::path directory_, kept_;
  CheckpointPlan plan_;
  std::vector<Scored> best_;  // best first
};

// Of names, types, shapes, bytes and metadata but the checksum itself: damage anywhere shows.
std::string checkpoint_checksum(const TensorFile& content);

// Reads a checkpoint and compares its checksum. Throws gh::Error (io) saying what is wrong.
TensorFile read_checkpoint(const std::filesystem::path& file);

}  // namespace gh::host
