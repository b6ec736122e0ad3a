#include "train/journal.hpp"

#include "machine/memory.hpp"

#include <ATen/ops/tensor.h>

#include <utility>

namespace gh::host {

void Journal::after_step(const Position& position, int64_t steps, double rate, const Pace& pace,
                         double loss) {
  const Progress& progress = parts_.notebook.progress;
  parts_.status.running({.stage = progress.stage,
                         .epoch = position.epochs + (position.steps == steps ? 1 : 0),
                         .epochs = progress.epochs,
                         .step = progress.step,
                         .steps = progress.steps,
                         .loss = loss,
                         .rate = rate,
                         .samples_per_second = pace.samples_per_second(),
                         .seconds_left = pace.seconds_left()});
  after_replayed_step(position, steps, rate, pace);
}

void Journal::after_replayed_step(const Position& position, int64_t steps, double rate,
                                  const Pace& pace) {
  const Progress& progress = parts_.notebook.progress;
  const bool whole = position.steps == steps;
  parts_.console.tick(
      {.stage = progress.stage,
       .epoch = position.epochs + (whole ? 1 : 0),
       .epochs = progress.epochs,
       .part = whole ? 0 : static_cast<double>(position.steps) / static_cast<double>(steps),
       .loss = parts_.notebook.metrics.mean("loss"),
       .rate = rate,
       .samples_per_second = pace.samples_per_second(),
       .waiting = pace.waiting(),
       .seconds_left = pace.seconds_left(),
       .memory = resident_memory()});
}

void Journal::after_epoch(const Position& position, double rate, const Pace& pace) {
  const Progress& progress = parts_.notebook.progress;
  const int64_t epoch = position.epochs + 1;
  nlohmann::ordered_json line = {{"stage", progress.stage},
                                 {"epoch", epoch},
                                 {"epochs", progress.epochs},
                                 {"step", progress.step},
                                 {"lr", rate}};
  parts_.notebook.metrics.write(line);
  at::Tensor skipped =
      at::tensor({static_cast<double>(std::exchange(parts_.notebook.skipped, 0))}, at::kDouble);
  parts_.ranks.sum_in_place(skipped);
  if (const auto all = static_cast<int64_t>(skipped.item<double>()); all > 0) line["skipped"] = all;
  parts_.directory.append_metrics(line, position.total);
  parts_.directory.append_timing({{"stage", progress.stage},
                                  {"epoch", epoch},
                                  {"seconds", pace.seconds()},
                                  {"samples_per_second", pace.samples_per_second()},
                                  {"waited_for_data", pace.waited()}},
                                 position.total);
}

}  // namespace gh::host
