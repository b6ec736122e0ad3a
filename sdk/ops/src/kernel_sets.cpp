#include "kernel_sets.hpp"

namespace gh {
inline namespace v1 {

const char* name_of(KernelSet set) {
  switch (set) {
    case KernelSet::portable:
      return "portable";
    case KernelSet::avx2:
      return "avx2";
    case KernelSet::avx512:
      return "avx512";
    case KernelSet::avx512_bfloat16:
      return "avx512_bfloat16";
  }
  return "";
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
