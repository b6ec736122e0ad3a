// Thins a balanced data set into a long-tailed one.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

// With n the size of the largest class, class c of C keeps the floor of
//   exp     n·ratio^(−c/(C−1))
//   step    n in the first half of the classes, n/ratio in the others
//   pareto  n·(1 + (ratio^alpha − 1)·c/(C−1))^(−1/alpha): classes larger than x fall as x^−alpha
//   counts  counts[c]
// samples, or all it has, and of these the part `keep`, rounded down, at least one; law "file"
// keeps the positions a file lists (data/index_file.hpp).
struct LongTail {
  std::string law = "exp";
  double ratio = 1;  // exp, step, pareto: largest over smallest class
  double alpha = 1;  // pareto
  std::vector<int64_t> counts = {};
  std::filesystem::path file = {};
  double keep = 1;  // not of law "file"
  uint32_t seed = 0;
};

// Samples to keep, as positions in `labels` ([N] int64), class by class; in the file's order with
// law "file", which reads no label and takes any [N, …]. The choice is that of the published
// CIFAR-100-LT code: one MT19937 stream over all classes, each class's positions shuffled as
// NumPy's legacy generator does, the first ones kept. Throws gh::Error: unsupported without class
// labels, invalid_param when the law cannot be followed, and what reading the file throws.
at::Tensor thin(const at::Tensor& labels, const LongTail& law);

// "sha256:" and the digest of the positions ([n] int64) as little-endian bytes.
std::string fingerprint_of(const at::Tensor& chosen);

// A fingerprint that does not depend on the order of the data set: the digest of label and rank
// within the class of each chosen sample, both [n] int64. Published subsets are known by it.
std::string pattern_of(const at::Tensor& labels, const at::Tensor& chosen);

}  // namespace gh::host
