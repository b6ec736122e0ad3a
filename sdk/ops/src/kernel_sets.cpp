#include "kernel_sets.hpp"

#include <cstddef>
#include <iterator>

namespace gh {
inline namespace v1 {

const char* name_of(KernelSet set) {
  static constexpr const char* kNames[] = {"portable", "avx2", "avx512", "avx512_bfloat16"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(KernelSet::avx512_bfloat16) + 1);
  return kNames[static_cast<std::size_t>(set)];
}

#if defined(__x86_64__)
bool runs_here(KernelSet set) {
  switch (set) {
    case KernelSet::portable:
      return true;
    case KernelSet::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case KernelSet::avx512:
      return __builtin_cpu_supports("avx512f");
    case KernelSet::avx512_bfloat16:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16");
  }
  return false;
}
#else
bool runs_here(KernelSet set) { return set == KernelSet::portable; }
#endif

}  // namespace v1
}  // namespace gh
