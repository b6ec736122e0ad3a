// Every set of a family's kernels, whichever this processor would choose.
#pragma once

#include "kernel_sets.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace gh::test {

template <class Kernels>
struct NamedKernels {
  std::string name;
  const Kernels* kernels;
};

template <class Kernels>
std::vector<NamedKernels<Kernels>> all_kernels() {
  for (const KernelSet set : {KernelSet::avx2, KernelSet::avx512, KernelSet::avx512_bfloat16})
    if (!runs_here(set)) WARN("not on this processor: " << name_of(set));
  std::vector<NamedKernels<Kernels>> out;
  Kernels::Sets::template visit<Kernels>([&](KernelSet set, const Kernels& kernels) {
    out.push_back({name_of(set), &kernels});
    return false;
  });
  return out;
}

}  // namespace gh::test
