// Exponentials of lanes, in their own precision.
#pragma once

#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

// exp(y) for y ≤ 0, zero below T's normal numbers: 2ⁿ·exp(f) with |f| ≤ log(2)/2, by its series.
template <class T>
GH_INLINE typename Lanes<T>::Vector exp_of(typename Lanes<T>::Vector y) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  using Bits = typename L::Integers;
  constexpr bool kShort = sizeof(T) == 4;
  constexpr T kLow = kShort ? T(-87) : T(-708);
  constexpr T kRound = kShort ? T(12582912) : T(6755399441055744.0);  // what is added is rounded
  constexpr int kMantissa = kShort ? 23 : 52;
  // log 2 in two parts; the product of the first with a small integer is exact.
  constexpr T kLog2 = kShort ? T(0.693359375) : T(0.69314718036912381649);
  constexpr T kRest = kShort ? T(-2.12194440054690583e-4) : T(1.90821492927058770002e-10);
  constexpr int kDegree = kShort ? 7 : 13;
  const Vector bounded = y > L::all(kLow) ? y : L::all(kLow);
  const Vector shifted = bounded * T(1.4426950408889634) + kRound;
  const Vector n = shifted - kRound;
  const Vector f = (bounded - n * kLog2) - n * kRest;
  Vector sum = L::all(T(1));
#pragma GCC unroll 16
  for (int i = kDegree; i >= 1; --i) sum = sum * (f * (T(1) / static_cast<T>(i))) + T(1);
  const Bits power = reinterpret_cast<Bits>(shifted) << kMantissa;
  const Vector out = reinterpret_cast<Vector>(reinterpret_cast<Bits>(sum) + power);
  return y < L::all(kLow) ? Vector{} : out;
}

}  // namespace
}  // namespace v1
}  // namespace gh
