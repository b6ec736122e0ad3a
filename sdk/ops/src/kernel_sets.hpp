// Sets of kernels: the loops of a family (K-means, Sinkhorn, …) compiled once for each kind of
// processor, and the choice among them at run time. Each family is a struct of functions in
// <family>_kernels.hpp that names the sets it is compiled for; <family>_loops.cpp is compiled for
// each of them, as CMakeLists.txt lists. A new kind of processor is an enumerator and its place in
// the lists here, a line in runs_here() and a line there.
#pragma once

namespace gh {
inline namespace v1 {

// From the fewest instructions to the most.
enum class KernelSet { portable, avx2, avx512, avx512_bfloat16 };

const char* name_of(KernelSet set);
// Whether this processor has the set's instructions.
bool runs_here(KernelSet set);

// Defined by the source that is compiled for the set; null where the compiler lacks it.
template <class Kernels, KernelSet kSet>
const Kernels* compiled_kernels();

// The sets of a family, the one to prefer first.
template <KernelSet... kSets>
struct KernelSets {
  // visit(set, kernels) for those that were compiled and run here, until it returns true.
  template <class Kernels, class Visit>
  static void visit(Visit visit) {
    (visit_one<Kernels, kSets>(visit) || ...);
  }

 private:
  template <class Kernels, KernelSet kSet, class Visit>
  static bool visit_one(Visit& visit) {
    const Kernels* const kernels = runs_here(kSet) ? compiled_kernels<Kernels, kSet>() : nullptr;
    return kernels != nullptr && visit(kSet, *kernels);
  }
};
using EverySet = KernelSets<KernelSet::avx512, KernelSet::avx2, KernelSet::portable>;
using VectorSets = KernelSets<KernelSet::avx512, KernelSet::avx2>;  // others have no use for them

template <class Kernels>
struct ChosenKernels {
  const Kernels* kernels = nullptr;
  KernelSet set = KernelSet::portable;
};

// What this processor runs best; null only where the family has no portable set.
template <class Kernels>
const ChosenKernels<Kernels>& chosen_kernels() {
  static const ChosenKernels<Kernels> best = [] {
    ChosenKernels<Kernels> out;
    Kernels::Sets::template visit<Kernels>([&](KernelSet set, const Kernels& kernels) {
      out = {&kernels, set};
      return true;
    });
    return out;
  }();
  return best;
}
// Of a family that has one.
template <class Kernels>
const Kernels& best_kernels() {
  return *chosen_kernels<Kernels>().kernels;
}

}  // namespace v1
}  // namespace gh
