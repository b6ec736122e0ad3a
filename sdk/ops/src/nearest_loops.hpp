// The loops of nearest_kernels.hpp, written once for vectors of any size.
#pragma once

#include "nearest_kernels.hpp"
#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

using Floats = Lanes<float>;
using Vector = Floats::Vector;
constexpr int kLanes = Floats::kCount;

// As many sums as registers hold beside the factors.
constexpr int kVectors = kVectorBytes == 64 ? 3 : 2;
constexpr int kRows = kVectorBytes == 64 ? 8 : 6;
constexpr int kPanel = kVectors * kLanes;

// A bit for each lane where a ≥ b.
GH_INLINE uint32_t reached(Vector a, Vector b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
#else
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= static_cast<uint32_t>(a[i] >= b[i]) << i;
  return bits;
#endif
}

// ---- what images are made of ----

struct Single {
  using Value = float;
  static constexpr int kStep = 1;  // coordinates that are multiplied at a time
  static GH_INLINE float rounded(float x, Value* out) { return *out = x; }
  static GH_INLINE Vector add_products(Vector sum, const Value* bank, const Value* query) {
    return sum + Floats::load(bank) * Floats::all(*query);
  }
};

#if defined(__AVX512BF16__)
// Pairs of coordinates lie side by side.
struct Brain {
  using Value = uint16_t;
  static constexpr int kStep = 2;
  // To the nearest, of equally near ones the even.
  static GH_INLINE float rounded(float x, Value* out) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x);
    *out = static_cast<Value>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    return __builtin_bit_cast(float, static_cast<uint32_t>(*out) << 16);
  }
  static GH_INLINE Vector add_products(Vector sum, const Value* bank, const Value* query) {
    int pair;
    __builtin_memcpy(&pair, query, sizeof pair);
    const __m512i factors = _mm512_loadu_si512(bank);
    return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, factors),
                            __builtin_bit_cast(__m512bh, _mm512_set1_epi32(pair)));
  }
};
#endif

#if defined(__AVX512BF16__)
template <KernelSet kSet>
struct Images {
  using Type = Single;
};
template <>
struct Images<KernelSet::avx512_bfloat16> {
  using Type = Brain;
};
template <KernelSet kSet>
using ImageOf = typename Images<kSet>::Type;
#else
template <KernelSet>
using ImageOf = Single;
#endif

template <class Image>
int64_t bytes(int64_t width, int64_t rows) {
  constexpr int64_t kStep = Image::kStep;
  return (width + kStep - 1) / kStep * kStep * rows *
         static_cast<int64_t>(sizeof(typename Image::Value));
}

template <class Image, class T>
NearestImage pack(const T* x, const NearestFrame& frame, int64_t place, int64_t rows, void* out) {
  auto* const image = static_cast<typename Image::Value*>(out) + place * Image::kStep;
  const auto keep = [&](float value, int64_t d) {
    return Image::rounded(value, image + d / Image::kStep * rows * Image::kStep + d % Image::kStep);
  };
  Doubles square = {}, error = {}, along = {};
  int64_t d = 0;
  for (; d + kDoubles <= frame.width; d += kDoubles) {
    const Doubles centre = load_doubles(frame.centre + d);
    const Doubles value = (load_doubles(x + d) - centre) * frame.scale;
    Doubles kept;
#pragma GCC unroll 8
    for (int i = 0; i < kDoubles; ++i)
      kept[i] = static_cast<double>(keep(static_cast<float>(value[i]), d + i));
    square += value * value;
    error += (value - kept) * (value - kept);
    along += value * centre * frame.scale;
  }
  NearestImage sums = {total(square), total(error), total(along)};
  for (; d < frame.width; ++d) {
    const double value = (static_cast<double>(x[d]) - frame.centre[d]) * frame.scale;
    const double off = value - static_cast<double>(keep(static_cast<float>(value), d));
    sums.square += value * value;
    sums.error += off * off;
    sums.along += value * frame.centre[d] * frame.scale;
  }
  for (; d % Image::kStep != 0; ++d) keep(0, d);
  return sums;
}

// ---- coarse scores ----

GH_INLINE void take(const Vector* scores, int64_t query, int32_t first, const NearestRoom& room) {
  const Vector threshold = Floats::all(room.thresholds[query]);
  uint64_t wanted = 0;
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v)
    wanted |= static_cast<uint64_t>(reached(scores[v], threshold)) << (v * kLanes);
  if (wanted == 0) return;
  float values[kPanel];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) Floats::store(values + v * kLanes, scores[v]);
  int32_t filled = room.filled[query];
  for (; wanted != 0; wanted &= wanted - 1, ++filled) {
    const int lane = __builtin_ctzll(wanted);
    room.scores[query * room.capacity + filled] = values[lane];
    room.ids[query * room.capacity + filled] = first + lane;
  }
  room.filled[query] = filled;
}

template <class Image>
void scan(const void* tiles, int64_t count, const void* panel, const float* bias, int32_t first,
          int64_t width, const NearestRoom& room) {
  using Value = typename Image::Value;
  constexpr int kStep = Image::kStep;
  const int64_t steps = (width + kStep - 1) / kStep;
  const auto* query = static_cast<const Value*>(tiles);
  for (int64_t tile = 0; tile < count; tile += kRows) {
    const auto* bank = static_cast<const Value*>(panel);
    Vector sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Floats::load(bias + v * kLanes);
    for (int64_t s = 0; s < steps; ++s, bank += kPanel * kStep, query += kRows * kStep) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] =
              Image::add_products(sums[r][v], bank + v * kLanes * kStep, query + r * kStep);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) take(sums[r], tile + r, first, room);
  }
}

// ---- in float64 ----

template <class T, bool kDistance>
double exact(const T* a, const T* b, int64_t width) {
  Doubles sums[4] = {};
  const auto add = [&](int j, int64_t d) {
    const Doubles x = load_doubles(a + d), y = load_doubles(b + d);
    const Doubles apart = x - y;
    sums[j] += kDistance ? apart * apart : x * y;
  };
  int64_t d = 0;
  for (; d + 4 * kDoubles <= width; d += 4 * kDoubles)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) add(j, d + j * kDoubles);
  for (; d + kDoubles <= width; d += kDoubles) add(0, d);
  double sum = total((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; d < width; ++d) {
    const double x = static_cast<double>(a[d]), y = static_cast<double>(b[d]);
    sum += kDistance ? (x - y) * (x - y) : x * y;
  }
  return sum;
}

template <class Image, class T>
constexpr NearestKernels<T> kNearestLoops = {
    kPanel, kRows, bytes<Image>, pack<Image, T>, scan<Image>, exact<T, false>, exact<T, true>};

}  // namespace
}  // namespace v1
}  // namespace gh
