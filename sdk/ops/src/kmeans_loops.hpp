// The loops of kmeans_kernels.hpp, written once for vectors of any size and included by the sources
// that compile them. No function of the standard library in here: an inline one compiled for these
// instructions could be the one that the linker keeps.
#pragma once

#include "kmeans_kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace gh {
inline namespace v1 {
namespace {

#define GH_INLINE inline __attribute__((always_inline))
#define GH_APART __attribute__((noinline))  // registers of its own; profiles name it

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kPanel = 4;  // 24 of 32 registers hold sums, 4 centres
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kPanel = 3;  // 12 of 16, 3
#else
constexpr int kVectorBytes = 16, kPanel = 3;
#endif

// ---- vectors ----

template <class T>
struct Lanes {
  static constexpr int kCount = kVectorBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  typedef KMeansId<T> Ids __attribute__((vector_size(kVectorBytes)));
  typedef KMeansId<T> UnalignedIds
      __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  // As many values as a vector has doubles.
  static constexpr int kDoubles = kVectorBytes / sizeof(double);
  typedef double Doubles __attribute__((vector_size(kVectorBytes)));
  typedef double UnalignedDoubles
      __attribute__((vector_size(kVectorBytes), aligned(sizeof(double)), may_alias));
  typedef T Narrow
      __attribute__((vector_size(kDoubles * sizeof(T)), aligned(sizeof(T)), may_alias));

  static GH_INLINE Vector load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static GH_INLINE Ids load(const KMeansId<T>* p) {
    return *reinterpret_cast<const UnalignedIds*>(p);
  }
  static GH_INLINE void store(T* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }
  static GH_INLINE Doubles load_doubles(const T* p) {
    return __builtin_convertvector(*reinterpret_cast<const Narrow*>(p), Doubles);
  }
  static GH_INLINE void add(double* p, Doubles v) { *reinterpret_cast<UnalignedDoubles*>(p) += v; }
  // Not "+": −0 + 0 is another value, which costs an addition.
  static GH_INLINE Vector all(T x) { return x - Vector{}; }
  static GH_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }
};

// Lane i of the result is lane i ^ kDistance.
template <int kDistance, class Vector, class Ids>
GH_INLINE Vector swapped(Vector v, Ids) {
  constexpr int k = kDistance, n = sizeof(Vector) / sizeof(v[0]);
  if constexpr (n == 2)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k});
  else if constexpr (n == 4)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k});
  else if constexpr (n == 8)
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k, 4 ^ k, 5 ^ k, 6 ^ k, 7 ^ k});
  else
    return __builtin_shuffle(v, Ids{0 ^ k, 1 ^ k, 2 ^ k, 3 ^ k, 4 ^ k, 5 ^ k, 6 ^ k, 7 ^ k, 8 ^ k,
                                    9 ^ k, 10 ^ k, 11 ^ k, 12 ^ k, 13 ^ k, 14 ^ k, 15 ^ k});
}

// The largest lane, in all lanes.
template <class T, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE typename Lanes<T>::Vector largest(typename Lanes<T>::Vector v) {
  v = Lanes<T>::larger(v, swapped<kDistance>(v, typename Lanes<T>::Ids{}));
  if constexpr (kDistance > 1)
    return largest<T, kDistance / 2>(v);
  else
    return v;
}
template <class T, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE KMeansId<T> smallest(typename Lanes<T>::Ids v) {
  const typename Lanes<T>::Ids other = swapped<kDistance>(v, v);
  v = v < other ? v : other;
  if constexpr (kDistance > 1)
    return smallest<T, kDistance / 2>(v);
  else
    return v[0];
}

template <class T>
constexpr T kInfinity = static_cast<T>(__builtin_huge_val());
template <class T>
constexpr T kUnitRoundoff = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53);

GH_INLINE float root(float x) { return __builtin_sqrtf(x); }
GH_INLINE double root(double x) { return __builtin_sqrt(x); }

// Roots of lanes, and a bit for each lane of a comparison.
#if defined(__AVX512F__)
GH_INLINE Lanes<float>::Vector root(Lanes<float>::Vector v) { return _mm512_maskz_sqrt_ps(-1, v); }
GH_INLINE Lanes<double>::Vector root(Lanes<double>::Vector v) {
  return _mm512_maskz_sqrt_pd(-1, v);
}
GH_INLINE uint64_t bits(Lanes<float>::Ids v) {
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v));
}
GH_INLINE uint64_t bits(Lanes<double>::Ids v) {
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v));
}
#elif defined(__AVX2__)
GH_INLINE Lanes<float>::Vector root(Lanes<float>::Vector v) { return _mm256_sqrt_ps(v); }
GH_INLINE Lanes<double>::Vector root(Lanes<double>::Vector v) { return _mm256_sqrt_pd(v); }
GH_INLINE uint64_t bits(Lanes<float>::Ids v) {
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(v)));
}
GH_INLINE uint64_t bits(Lanes<double>::Ids v) {
  return static_cast<uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(v)));
}
#else
template <class Vector>
GH_INLINE Vector root(Vector v) {
  for (unsigned i = 0; i < sizeof(v) / sizeof(v[0]); ++i) v[i] = root(v[i]);
  return v;
}
template <class Ids>
GH_INLINE uint64_t bits(Ids v) {
  uint64_t out = 0;
  for (unsigned i = 0; i < sizeof(v) / sizeof(v[0]); ++i) out |= (v[i] & uint64_t{1}) << i;
  return out;
}
#endif

template <class T>
GH_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}

// ---- products of pairs of rows ----

constexpr int kPairs = 8;

// Lanes without kDistance have the sums of a's lanes at that distance, lanes with it those of b's.
template <class T, int kDistance>
GH_INLINE typename Lanes<T>::Vector fold(typename Lanes<T>::Vector a, typename Lanes<T>::Vector b) {
  using L = Lanes<T>;
  typename L::Ids lane;
#pragma GCC unroll 16
  for (int i = 0; i < L::kCount; ++i) lane[i] = i;
  const typename L::Ids upper = (lane & kDistance) != 0;
  return (upper ? b : a) + swapped<kDistance>(upper ? a : b, lane);
}

// Sums over the lanes of kCount vectors, in the first lanes of kCount equal parts of the result.
template <class T, int kCount, int kDistance = Lanes<T>::kCount / 2>
GH_INLINE typename Lanes<T>::Vector folded(typename Lanes<T>::Vector* v) {
  constexpr int kLeft = kCount > 1 ? kCount / 2 : 1;
#pragma GCC unroll 8
  for (int i = 0; i < kLeft; ++i)
    v[i] = kCount > 1 ? fold<T, kDistance>(v[i], v[i + kLeft])
                      : v[i] + swapped<kDistance>(v[i], typename Lanes<T>::Ids{});
  if constexpr (kDistance > 1)
    return folded<T, kLeft, kDistance / 2>(v);
  else
    return v[0];
}

enum class Left { one, many };  // a[0] with all, or a row for each

// Scores of kPairs rows and centres, and where they are in vectors. Sums in another order than
// look_at()'s.
template <class T>
struct Pairs {
  using L = Lanes<T>;
  static constexpr int kAtOnce = kPairs < L::kCount ? kPairs : L::kCount;
  typename L::Vector part[kPairs / kAtOnce];

  template <Left kLeft>
  GH_INLINE void look(const T* const* a, const T* const* b, const T* bias, int64_t width) {
    typename L::Vector sums[kPairs];
    const int64_t whole = width - width % L::kCount;
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; ++j) {
      T first = bias[j];
      for (int64_t d = whole; d < width; ++d) first += a[kLeft == Left::one ? 0 : j][d] * b[j][d];
      sums[j] = typename L::Vector{first};
    }
    for (int64_t d = 0; d < whole; d += L::kCount) {
      const typename L::Vector x = L::load(a[0] + d);
#pragma GCC unroll 8
      for (int j = 0; j < kPairs; ++j)
        sums[j] += (kLeft == Left::one ? x : L::load(a[j] + d)) * L::load(b[j] + d);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kPairs; j += kAtOnce) part[j / kAtOnce] = folded<T, kAtOnce>(sums + j);
  }

  GH_INLINE void store(T* out) const {
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; ++j)
      out[j] = part[j / kAtOnce][j % kAtOnce * (L::kCount / kAtOnce)];
  }
};

// ---- the nearest centre ----

// What a row looks at, and where it lies.
template <class T>
struct Row {
  const T* x;
  T* bounds;
  int32_t* label;
  T square;  // |x|² + offset
  T slack;   // of |x − c|²
};

// `slack` is twice what a computed |x − c|² can be off: (width + few) roundings of terms that sum
// to (|x| + |c|)²/2 at most. Two scores of a pair, summed in different orders, thus differ by half
// of it at most.
template <class T>
GH_INLINE Row<T> row_of(const KMeansRound<T>& round, int64_t i) {
  const T unit = static_cast<T>(2 * (round.width + 16)) * kUnitRoundoff<T>;
  const T reach = root(round.squares[i]) + round.longest;
  return {round.x + i * round.width, round.bounds + i * (round.places / round.span),
          round.labels + i, round.squares[i] + round.offset, unit * reach * reach};
}

// Scores become bounds; the factor keeps them below in spite of the roundings here.
template <class T>
constexpr T kBelow = 1 - 8 * kUnitRoundoff<T>;
template <class Value, class T>
GH_INLINE Value bound_of(const Row<T>& row, Value score, Value drift) {
  const Value square = (row.square - row.slack) - 2 * score;
  return (root(square > 0 ? square : Value{}) + drift) * kBelow<T>;
}

// The place of a group in the first of its vectors.
template <class T>
GH_INLINE int64_t first_place(const KMeansRound<T>& round, int64_t group) {
  constexpr int64_t kLanes = Lanes<T>::kCount;
  return group / kLanes * round.span * kLanes + group % kLanes;
}
template <class T>
GH_INLINE int64_t group_of(const KMeansRound<T>& round, int64_t place) {
  constexpr int64_t kLanes = Lanes<T>::kCount;
  return place / kLanes / round.span * kLanes + place % kLanes;
}

// Scores of `count` rows with one panel, as many at a time as registers hold sums for.
template <class T, int kRows, int kVectors>
GH_APART void look_at(const T* const* x, int64_t count, const KMeansRound<T>& round,
                      const KMeansPanel<T>& panel, T* scores) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  static_assert(kKMeansTile % kRows == 0);
  for (int64_t first = 0; first < count; first += kRows) {
    const T* rows[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) rows[r] = x[first + r < count ? first + r : count - 1];
    Vector sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = L::load(round.biases + (panel.first + v) * L::kCount);
    const T* centres = panel.centres;
    for (int64_t d = 0; d < round.width; ++d, centres += kVectors * L::kCount) {
      Vector c[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) c[v] = L::load(centres + v * L::kCount);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vector one = L::all(rows[r][d]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] += one * c[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        L::store(scores + (first + r) * round.places + (panel.first + v) * L::kCount, sums[r][v]);
  }
}

// Label and bounds of a row from all its scores.
template <class T>
GH_INLINE void take_all(const KMeansRound<T>& round, const Row<T>& row, const T* scores) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  using Ids = typename L::Ids;
  Vector most = L::load(scores);
  for (int64_t p = L::kCount; p < round.places; p += L::kCount)
    most = L::larger(most, L::load(scores + p));
  most = largest<T>(most);
  constexpr KMeansId<T> kBeyond = INT32_MAX;
  Ids first = Ids{} + kBeyond;
  for (int64_t p = 0; p < round.places; p += L::kCount) {
    const Ids here = L::load(scores + p) == most ? L::load(round.ids + p) : Ids{} + kBeyond;
    first = here < first ? here : first;
  }
  *row.label = static_cast<int32_t>(smallest<T>(first));

  const int64_t groups = round.places / round.span;
  for (int64_t g = 0; g < groups; g += L::kCount) {
    const T* const from = scores + g * round.span;
    Vector top = L::load(from);
    for (int64_t s = 1; s < round.span; ++s) top = L::larger(top, L::load(from + s * L::kCount));
    L::store(row.bounds + g, bound_of(row, top, L::load(round.drift + g)));
  }
  const int64_t own = round.place_of[*row.label], group = group_of(round, own);
  T rest = -kInfinity<T>;
  for (int64_t s = 0, p = first_place(round, group); s < round.span; ++s, p += L::kCount)
    if (p != own) rest = larger(rest, scores[p]);
  row.bounds[group] = bound_of(row, rest, round.drift[group]);
}

// All centres for some rows of a block.
template <class T>
void search_all(const KMeansRound<T>& round, const int64_t* rows, int64_t count, T* scores) {
  for (; count > 0; rows += kKMeansTile, count -= kKMeansTile) {
    const int64_t here = count < kKMeansTile ? count : kKMeansTile;
    const T* x[kKMeansTile];
    for (int64_t i = 0; i < here; ++i) x[i] = round.x + rows[i] * round.width;
    for (int64_t p = 0; p < round.panel_count; ++p) {
      const KMeansPanel<T>& panel = round.panels[p];
      if (kPanel == 4 && panel.vectors == 4)
        look_at<T, 6, kPanel == 4 ? 4 : 1>(x, here, round, panel, scores);
      else if (panel.vectors == 3)
        look_at<T, kPanel == 4 ? 8 : 4, 3>(x, here, round, panel, scores);
      else if (panel.vectors == 2)
        look_at<T, kPanel == 4 ? 8 : 6, 2>(x, here, round, panel, scores);
      else
        look_at<T, 8, 1>(x, here, round, panel, scores);
    }
    for (int64_t i = 0; i < here; ++i)
      take_all(round, row_of(round, rows[i]), scores + i * round.places);
  }
}

// The groups that a row has to look at.
struct Wanted {
  static constexpr int64_t kMost = 1024;  // centres; more are better searched with all others
  static constexpr int64_t kBeyond = 16;  // room that is written but not used
  uint64_t bits[kKMeansGroups / 64];
  int64_t count;
  int32_t groups[kKMeansGroups + kBeyond];
};

// A group may be skipped only where none of its scores, as look_at() rounds them, could reach that
// of the row's own centre.
template <class T>
GH_INLINE void choose_groups(const KMeansRound<T>& round, const Row<T>& row, T score,
                             Wanted& wanted) {
  using L = Lanes<T>;
  const typename L::Vector distance =
      L::all(root(larger(row.square - 2 * score, T(0)) + 3 * row.slack));
  const int64_t groups = round.places / round.span;
  wanted.count = 0;
  for (int64_t word = 0; word < groups; word += 64) {
    uint64_t found = 0;
    for (int64_t g = word; g < groups && g < word + 64; g += L::kCount)
      found |= bits(L::load(row.bounds + g) - L::load(round.drift + g) <= distance) << (g - word);
    wanted.bits[word / 64] = found;
    wanted.count += __builtin_popcountll(found);
  }
}

// Their numbers. How many there are is hard to foresee, so that a loop over bits costs more in
// wrong guesses than in work.
GH_INLINE void list_groups(int64_t groups, Wanted& wanted) {
  int32_t* to = wanted.groups;
#if defined(__AVX512F__)
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t g = 0; g < groups; g += 16) {
    const __mmask16 found = static_cast<__mmask16>(wanted.bits[g / 64] >> (g % 64));
    const __m512i here = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int32_t>(g)));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(found, here));
    to += __builtin_popcount(found);
  }
#else
  for (int64_t word = 0; word < groups; word += 64)
    for (uint64_t found = wanted.bits[word / 64]; found != 0; found &= found - 1)
      *to++ = static_cast<int32_t>(word + __builtin_ctzll(found));
#endif
}

// The places of groups that have several. In place of the row's own stands a neighbour.
template <class T>
void expand(const KMeansRound<T>& round, const Wanted& wanted, int64_t own, int32_t* places) {
  for (int64_t k = 0; k < wanted.count; ++k)
    for (int64_t s = 0, p = first_place(round, wanted.groups[k]); s < round.span;
         ++s, p += Lanes<T>::kCount) {
      const int64_t other = s == 0 ? p + Lanes<T>::kCount : p - Lanes<T>::kCount;
      *places++ = static_cast<int32_t>(p == own ? other : p);
    }
}

// Looks at the wanted groups alone. False where two centres are so nearly as far that the order of
// roundings could decide; then nothing has changed.
template <class T>
GH_APART bool search_some(const KMeansRound<T>& round, const Row<T>& row, T own_score,
                          Wanted& wanted) {
  using L = Lanes<T>;
  constexpr int64_t kRoom = Wanted::kMost + kPairs;
  const int64_t own = round.place_of[*row.label], count = wanted.count * round.span;
  int32_t several[kRoom];
  int32_t* places = wanted.groups;
  if (round.span > 1) {
    expand(round, wanted, own, several);
    places = several;
  }
  for (int j = 0; j < kPairs; ++j) places[count + j] = places[count - 1];
  T scores[kRoom], bounds[kRoom];
  typename L::Vector top = L::all(-kInfinity<T>);
  for (int64_t j = 0; j < count; j += kPairs) {
    const T* centres[kPairs];
    T biases[kPairs];
#pragma GCC unroll 8
    for (int k = 0; k < kPairs; ++k) {
      centres[k] = round.centres + places[j + k] * round.width;
      biases[k] = round.biases[places[j + k]];
    }
    Pairs<T> pairs;
    pairs.template look<Left::one>(&row.x, centres, biases, round.width);
    pairs.store(scores + j);
    for (typename L::Vector& part : pairs.part) {
      top = L::larger(top, part);
      part = bound_of(row, part, typename L::Vector{});
    }
    pairs.store(bounds + j);
  }

  const T most = largest<T>(top)[0];
  int64_t next = -1;
  if (most >= own_score - row.slack) {
    const T least = larger(most, own_score) - row.slack;
    if (own_score >= least) return false;
    for (int64_t j = 0; j < count; ++j) {
      if (scores[j] < least) continue;
      if (next >= 0) return false;
      next = j;
    }
    bounds[next] = kInfinity<T>;
    *row.label = static_cast<int32_t>(round.ids[places[next]]);
  }
  for (int64_t k = 0; k < wanted.count; ++k) {
    const int32_t g = wanted.groups[k];
    T bound = bounds[k * round.span];
    for (int64_t s = 1; s < round.span; ++s)
      bound = bound < bounds[k * round.span + s] ? bound : bounds[k * round.span + s];
    row.bounds[g] = (bound + round.drift[g]) * kBelow<T>;
  }
  if (next >= 0) {
    const int64_t g = group_of(round, own);
    const T bound = bound_of(row, own_score, round.drift[g]);
    if (bound < row.bounds[g]) row.bounds[g] = bound;
  }
  return true;
}

template <class T>
GH_INLINE void prefetch(const T* from, int64_t count) {
  for (int64_t i = 0; i < count; i += 64 / sizeof(T)) __builtin_prefetch(from + i);
}

// The scores of rows from `first` on with their own centres.
template <class T>
GH_INLINE void own_scores(const KMeansRound<T>& round, int64_t first, int64_t end, T* scores) {
  const T *x[kPairs], *centres[kPairs];
  T biases[kPairs];
#pragma GCC unroll 8
  for (int j = 0; j < kPairs; ++j) {
    const int64_t i = first + j < end ? first + j : end - 1;
    const int64_t place = round.place_of[round.labels[i]];
    x[j] = round.x + i * round.width;
    centres[j] = round.centres + place * round.width;
    biases[j] = round.biases[place];
  }
  Pairs<T> pairs;
  pairs.template look<Left::many>(x, centres, biases, round.width);
  pairs.store(scores);
}

template <class T>
void assign(const KMeansRound<T>& round, int64_t begin, int64_t end, T* scores) {
  int64_t rows[kKMeansBlock];  // those that look at all centres
  int64_t count = 0;
  const int64_t groups = round.places / round.span;
  Wanted wanted;
  for (int64_t first = begin; first < end; first += kPairs) {
    const int64_t last = first + kPairs < end ? first + kPairs : end;
    if (round.labels[first] < 0) {  // all of them, then
      for (int64_t i = first; i < last; ++i) rows[count++] = i;
      continue;
    }
    T own[kPairs];
    own_scores(round, first, end, own);
    for (int64_t i = first; i < last; ++i) {
      if (i + kPairs < end) {  // what the next rows read, while these compute
        prefetch(round.x + (i + kPairs) * round.width, round.width);
        prefetch(round.bounds + (i + kPairs) * groups, groups);
      }
      const Row<T> row = row_of(round, i);
      choose_groups(round, row, own[i - first], wanted);
      if (wanted.count == 0) continue;
      const int64_t centres = wanted.count * round.span;
      bool done = 4 * centres <= round.places && centres <= Wanted::kMost;
      if (done) {
        list_groups(groups, wanted);
        done = search_some(round, row, own[i - first], wanted);
      }
      if (!done) rows[count++] = i;
    }
  }
  search_all(round, rows, count, scores);
}

// ---- sums ----

// Adds kRows rows to out. They lie anywhere in memory, so those that come next are fetched
// meanwhile.
template <class T, int kRows>
GH_INLINE void add_rows(const T* const* rows, const T* const* next, int64_t width, double* out) {
  using L = Lanes<T>;
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t d = 0;
  for (; d + L::kDoubles <= width; d += L::kDoubles) {
    if (d % kLine == 0)
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) __builtin_prefetch(next[r] + d);
    typename L::Doubles sum = L::load_doubles(rows[0] + d);
#pragma GCC unroll 4
    for (int r = 1; r < kRows; ++r) sum += L::load_doubles(rows[r] + d);
    L::add(out + d, sum);
  }
  for (; d < width; ++d)
    for (int r = 0; r < kRows; ++r) out[d] += static_cast<double>(rows[r][d]);
}

template <class T>
void sum(const T* x, int64_t width, const int32_t* rows, int64_t count, double* out) {
  for (int64_t d = 0; d < width; ++d) out[d] = 0;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T *four[4], *next[4];
    for (int64_t r = 0; r < 4; ++r) {
      four[r] = x + rows[i + r] * width;
      next[r] = x + rows[i + 4 + r < count ? i + 4 + r : i] * width;
    }
    add_rows<T, 4>(four, next, width, out);
  }
  for (; i < count; ++i) {
    const T* const row = x + rows[i] * width;
    add_rows<T, 1>(&row, &row, width, out);
  }
}

template <class T>
void squares(const T* x, int64_t width, int64_t count, double* out) {
  using L = Lanes<T>;
  for (int64_t i = 0; i < count; ++i, x += width) {
    typename L::Doubles sums[4] = {};
    int64_t d = 0;
    for (; d + 4 * L::kDoubles <= width; d += 4 * L::kDoubles)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const typename L::Doubles v = L::load_doubles(x + d + j * L::kDoubles);
        sums[j] += v * v;
      }
    const typename L::Doubles all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (int j = 0; j < L::kDoubles; ++j) total += all[j];
    for (; d < width; ++d) total += static_cast<double>(x[d]) * static_cast<double>(x[d]);
    out[i] = total;
  }
}

// ---- k-means++ ----

template <class T, int kCandidates>
GH_INLINE void distances(const T* x, int64_t width, const T* const* centres, T* out) {
  using L = Lanes<T>;
  typename L::Vector sums[kCandidates] = {};
  int64_t d = 0;
  for (; d + L::kCount <= width; d += L::kCount) {
    const typename L::Vector v = L::load(x + d);
#pragma GCC unroll 6
    for (int j = 0; j < kCandidates; ++j) {
      const typename L::Vector apart = v - L::load(centres[j] + d);
      sums[j] += apart * apart;
    }
  }
#pragma GCC unroll 6
  for (int j = 0; j < kCandidates; ++j) {
    T total = 0;
    for (int k = 0; k < L::kCount; ++k) total += sums[j][k];
    for (int64_t e = d; e < width; ++e) total += (x[e] - centres[j][e]) * (x[e] - centres[j][e]);
    out[j] = total;
  }
}

template <class T>
void nearest(const T* x, int64_t width, int64_t count, const T* const* centres, int64_t candidates,
             const T* before, T* out, int64_t stride, double* sums) {
  for (int64_t j = 0; j < candidates; ++j) sums[j] = 0;
  for (int64_t i = 0; i < count; ++i, x += width) {
    T found[kKMeansCandidates];
    int64_t j = 0;
    for (; j + 6 <= candidates; j += 6) distances<T, 6>(x, width, centres + j, found + j);
    for (; j + 3 <= candidates; j += 3) distances<T, 3>(x, width, centres + j, found + j);
    for (; j < candidates; ++j) distances<T, 1>(x, width, centres + j, found + j);
    for (j = 0; j < candidates; ++j) {
      const T least = found[j] < before[i] ? found[j] : before[i];
      out[j * stride + i] = least;
      sums[j] += static_cast<double>(least);
    }
  }
}

template <class T>
constexpr KMeansKernels<T> kKMeansLoops = {Lanes<T>::kCount, kPanel,     assign<T>,
                                           sum<T>,           squares<T>, nearest<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
