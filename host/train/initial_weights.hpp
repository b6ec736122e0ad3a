// Puts weights of a file into an encoder before training.
#pragma once

#include "run/safetensors.hpp"

#include "gh/module.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

struct WeightReport {
  std::vector<std::string> loaded;      // names of the encoder
  std::vector<std::string> missing;     // of the encoder; these keep their values
  std::vector<std::string> unexpected;  // of the file: heads, twins, optimisers' state, …
  std::string prefix;                   // what stands before the encoder's names in the file
  std::string inside;                   // the dictionary of the file; empty: all of it
};

// Copies the tensors of `file` whose names, after one common prefix ("", "module.encoder_q.",
// "backbone.", any other), are those of the encoder's parameters and buffers; values are converted
// to the encoder's dtype and device. The prefix is the one that fits most names; of several, the
// shortest, then the first in the file, where methods keep the trained network before its twin.
// Missing counters of batches (num_batches_tracked) are not reported.
//
// Throws gh::Error (shape), and changes nothing, when a tensor has another shape or when no name
// fits.
WeightReport load_weights(Module& encoder, const TensorFile& file);

// A few lines for people: what was loaded from `file`, what was not.
std::string describe(const WeightReport& report, const std::filesystem::path& file);

}  // namespace gh::host
