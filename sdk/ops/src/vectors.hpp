// Vectors as wide as the set of kernels that a source is compiled for: what all *_loops.hpp begin
// with. Nothing of the standard library in here or in them: an inline function compiled for these
// instructions could be the one that the linker keeps.
#pragma once

#include "kernel_sets.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace gh {
inline namespace v1 {
namespace {

#define GH_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// What a source has to show for the set it is compiled for.
#if defined(__AVX512BF16__)
constexpr KernelSet kInstructions = KernelSet::avx512_bfloat16;
#elif defined(__AVX512F__)
constexpr KernelSet kInstructions = KernelSet::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr KernelSet kInstructions = KernelSet::avx2;
#else
constexpr KernelSet kInstructions = KernelSet::portable;
#endif
constexpr KernelSet kThisSet = KernelSet::GH_KERNEL_SET;
// In namespace gh::v1 of a source that is compiled for each set: what it has of a family.
#define GH_COMPILED_KERNELS(Kernels, ...)                        \
  template <>                                                    \
  const Kernels* compiled_kernels<Kernels, kThisSet>() {         \
    return kInstructions >= kThisSet ? &(__VA_ARGS__) : nullptr; \
  }
// Of a family with <Family>Kernels<T> and k<Family>Loops<T> for float and double.
#define GH_COMPILED_FAMILY(Family)                                     \
  GH_COMPILED_KERNELS(Family##Kernels<float>, k##Family##Loops<float>) \
  GH_COMPILED_KERNELS(Family##Kernels<double>, k##Family##Loops<double>)
// Where the loops cannot be compiled.
#define GH_NO_KERNELS(Kernels)                           \
  template <>                                            \
  const Kernels* compiled_kernels<Kernels, kThisSet>() { \
    return nullptr;                                      \
  }

template <int kBytes>
struct IntegerOf {
  using Type = int64_t;
};
template <>
struct IntegerOf<4> {
  using Type = int32_t;
};

template <class T, int kBytes = kVectorBytes>
struct Lanes {
  static constexpr int kCount = kBytes / sizeof(T);
  using Integer = typename IntegerOf<sizeof(T)>::Type;
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
  typedef Integer Integers __attribute__((vector_size(kBytes)));
  typedef Integer UnalignedIntegers
      __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));

  static GH_INLINE Vector load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static GH_INLINE Integers load(const Integer* p) {
    return *reinterpret_cast<const UnalignedIntegers*>(p);
  }
  static GH_INLINE void store(T* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }
  // Not "+": −0 + 0 is another value, which costs an addition.
  static GH_INLINE Vector all(T x) { return x - Vector{}; }
};

// As many values of any type as a vector has doubles.
using Doubles = Lanes<double>::Vector;
constexpr int kDoubles = Lanes<double>::kCount;
template <class T>
GH_INLINE Doubles load_doubles(const T* p) {
  return __builtin_convertvector((Lanes<T, kDoubles * sizeof(T)>::load(p)), Doubles);
}
template <class T>
GH_INLINE void store_doubles(T* p, Doubles v) {
  using L = Lanes<T, kDoubles * sizeof(T)>;
  L::store(p, __builtin_convertvector(v, typename L::Vector));
}

// Lanes in their order.
GH_INLINE double total(Doubles v) {
  double sum = 0;
  for (int i = 0; i < kDoubles; ++i) sum += v[i];
  return sum;
}

// Of numbers, or of lanes.
template <class T>
GH_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
GH_INLINE T smaller(T a, T b) {
  return a < b ? a : b;
}

GH_INLINE float root(float x) { return __builtin_sqrtf(x); }
GH_INLINE double root(double x) { return __builtin_sqrt(x); }

}  // namespace
}  // namespace v1
}  // namespace gh
