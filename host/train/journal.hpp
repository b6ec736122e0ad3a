// What a run writes down of its training: lines of metrics and of timing after each epoch, status
// and a line on the terminal after each step.
#pragma once

#include "ranks/ranks.hpp"
#include "run/run_directory.hpp"
#include "train/console.hpp"
#include "train/notebook.hpp"
#include "train/pace.hpp"
#include "train/position.hpp"

namespace gh::host {

class Journal {
 public:
  // All of it outlives the journal.
  struct Parts {
    Notebook& notebook;
    Ranks& ranks;
    RunDirectory& directory;
    RunStatus& status;
    Console& console;
  };
  explicit Journal(const Parts& parts) : parts_(parts) {}

  // `steps` are those of an epoch, `loss` is that of the step.
  void after_step(const Position& position, int64_t steps, double rate, const Pace& pace,
                  double loss);
  // A step that is made again, which changes no status.
  void after_replayed_step(const Position& position, int64_t steps, double rate, const Pace& pace);
  // A collective.
  void after_epoch(const Position& position, double rate, const Pace& pace);

 private:
  Parts parts_;
};

}  // namespace gh::host
