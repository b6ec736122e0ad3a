// What bench/sinkhorn.py calls: Sinkhorn's iteration of libghops for a Python that has imported
// torch.
#include "gh/ops/sinkhorn.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <vector>

using gh::ops::SinkhornOptions;
using gh::ops::SinkhornProblem;
using gh::ops::SinkhornResult;

namespace {

// Of the latest call.
std::vector<SinkhornResult> results;

}  // namespace

extern "C" {

// Solves `count` problems of n samples and k points, whose logits lie at `logits`: float32, or
// float64 if `exact`. All share the prior [k] float64. 0, or 1 after a message.
__attribute__((visibility("default"))) int sinkhorn_solve(void* const* logits, int64_t count,
                                                          int exact, double* prior, int64_t n,
                                                          int64_t k, double epsilon,
                                                          int64_t iterations, double tolerance,
                                                          double relaxation, const char* domain,
                                                          int trace) {
  try {
    std::vector<SinkhornProblem> problems;
    const at::Tensor pi = at::from_blob(prior, {k}, at::kDouble);
    for (int64_t i = 0; i < count; ++i)
      problems.push_back({at::from_blob(logits[i], {n, k}, exact ? at::kDouble : at::kFloat), pi});
    SinkhornOptions options;
    options.epsilon = epsilon;
    options.iterations = iterations;
    options.tolerance = tolerance;
    options.relaxation = relaxation;
    options.domain = gh::ops::sinkhorn_domain(domain);
    options.trace = trace != 0;
    results = gh::ops::sinkhorn(problems, options);
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}

// Targets [n, k] of a problem of the latest call, and its trace; the latter's length.
__attribute__((visibility("default"))) const void* sinkhorn_targets(int64_t problem) {
  return results.at(static_cast<size_t>(problem)).targets.const_data_ptr();
}
__attribute__((visibility("default"))) int64_t sinkhorn_trace(int64_t problem, double* to) {
  const std::vector<double>& trace = results.at(static_cast<size_t>(problem)).trace;
  std::copy(trace.begin(), trace.end(), to);
  return static_cast<int64_t>(trace.size());
}

__attribute__((visibility("default"))) const char* sinkhorn_kernels() {
  return gh::ops::sinkhorn_instructions().data();
}
}
