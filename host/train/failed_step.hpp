// What is known of an optimiser step whose numbers are not finite, written to failure/ of a run and
// compared with when `ghhost replay` makes the step again.
#pragma once

#include "data/loader.hpp"
#include "run/run_directory.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

struct StepExamination {
  int64_t step = 0;                // optimiser steps done before it, over all stages
  std::string loss;                // as text: JSON has no NaN
  std::string gradient;            // L2 norm over all parameters
  std::vector<std::string> views;  // of the last call: "0: -2.1 … 2.6" or "0: not finite"
  // Per parameter, in the optimiser's order: name, norm of the value, norm of the gradient.
  struct Parameter {
    std::string name, value, gradient;
    bool operator==(const Parameter&) const = default;
  };
  std::vector<Parameter> parameters;

  bool finite() const;
  bool operator==(const StepExamination&) const = default;
};

StepExamination examine_step(int64_t step, double loss, double gradient, const LoadedBatch& batch,
                             const std::vector<std::pair<std::string, at::Tensor>>& parameters);

std::string summary(const StepExamination& examination);  // several lines

// failure/step.json and failure/batch.safetensors, the samples and views of the last call.
void write_failure(RunDirectory& directory, const StepExamination& examination,
                   const LoadedBatch& batch);
// Throws gh::Error (missing_data) when the run has none.
StepExamination read_failure(const std::filesystem::path& run);

}  // namespace gh::host
