// The picture of where the tail goes wrong: samples of the worst small classes beside their nearest
// neighbours.
#pragma once

#include "gh/classification.hpp"

struct Neighbourhood {
  std::string bank;        // split
  at::Tensor samples;      // [rows of the bank] int64, positions in the split; undefined: all of it
  at::Tensor bank_labels;  // [rows of the bank] int64
  at::Tensor neighbours;   // [queries, k] int64, rows of the bank, nearest first
};

// Picture "neighbours"; nothing where the host shows no samples or they are no images.
void draw_neighbours(gh::Evaluation& evaluation, const gh::ClassificationSettings& settings,
                     const gh::Classified& outcome, const Neighbourhood& around);
