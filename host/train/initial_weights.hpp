// Puts weights of a file into an encoder before training.
#pragma once

#include "weights/safetensors.hpp"

#include "gh/module.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

struct WeightReport {
  std::vector<std::string> found;       // names of the encoder
  std::vector<std::string> missing;     // of the encoder
  std::vector<std::string> foreign;     // of the file: more of a part that the encoder has, too
  std::vector<std::string> unexpected;  // of the file: heads, twins, optimisers' state, …
  std::string prefix;                   // what stands before the encoder's names in the file
  std::string inside;                   // the dictionary of the file; empty: all of it
  bool complete() const { return missing.empty() && foreign.empty(); }
};

// Which tensors of `file` have the names of the encoder's parameters and buffers after one common
// prefix ("", "module.encoder_q.", "backbone.", any other). The prefix is the one that fits most
// names; of several, the shortest, then the first in the file, where methods keep the trained
// network before its twin. Counters of batches (num_batches_tracked) are nobody's loss.
WeightReport match_weights(const Module& encoder, const TensorFile& file);

// Copies them, converted to the encoder's dtype and device. Throws gh::Error (shape), and changes
// nothing, unless the match is complete and every tensor has its shape: what is half loaded would
// train, too.
WeightReport load_weights(Module& encoder, const TensorFile& file);

// A few lines for people: what of `file` is in the encoder, what is not.
std::string describe(const WeightReport& report, const std::filesystem::path& file);

}  // namespace gh::host
