// Test cases that run in several processes: the program starts itself again, once a rank, with the
// name of the test case.
//
//   TEST_CASE("sums are sums") {
//     if (started_as_ranks({2, 3})) return;      // the parent, after its children succeeded
//     const auto ranks = join_as_told();         // a child
#pragma once

#include "ranks/ranks.hpp"

#include "gh/random.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace gh::host::test {

struct Outcome {
  int exit_code = -1;  // -1 for one ended by a signal
  int signal = 0;
  double seconds = 0;
  std::string output;
};

bool is_rank();

// Starts `world` ranks of the current test case, without those in `left_out`, and waits for all.
std::vector<Outcome> start_ranks(int world, const std::vector<int>& left_out = {});

// In the parent: starts them for each world, CHECKs that all succeeded, true. In a rank: false.
bool started_as_ranks(std::initializer_list<int> worlds);

std::unique_ptr<Ranks> join_as_told(double timeout_seconds = 30);

// Normal numbers in float64, the same wherever the key is.
at::Tensor normal(uint64_t key, at::IntArrayRef shape);
// The rows of `all` that are this rank's share.
at::Tensor own_rows(const Ranks& ranks, const at::Tensor& all);
// Largest |a − b|, relative to the largest |b|.
double distance(const at::Tensor& a, const at::Tensor& b);

}  // namespace gh::host::test
