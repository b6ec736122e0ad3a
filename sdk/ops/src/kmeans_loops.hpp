// The loops of kmeans_kernels.hpp, written once for vectors of any size and included by the sources
// that compile them. No function of the standard library in here: an inline one compiled for these
// instructions could be the one that the linker keeps.
#pragma once

#include "kmeans_kernels.hpp"

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
template <class T>
GH_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  using L = Lanes<T>;
  typename L::Vector sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * L::kCount <= n; i += 4 * L::kCount)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      sum[j] += L::load(a + i + j * L::kCount) * L::load(b + i + j * L::kCount);
  for (; i + L::kCount <= n; i += L::kCount) sum[0] += L::load(a + i) * L::load(b + i);
  const typename L::Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T out = 0;
  for (int j = 0; j < L::kCount; ++j) out += all[j];
  for (; i < n; ++i) out += a[i] * b[i];
  return out;
}

// ---- the nearest centre ----

// Rows of a block, and the best that was found for each.
template <class T>
struct Search {
  const T* rows[kKMeansBlock];    // those that look at a group
  int32_t places[kKMeansBlock];   // theirs in the block
  uint64_t wanted[kKMeansBlock];  // a bit for each group to be looked at
  T slack[kKMeansBlock];          // of |x − c|²
  T best[kKMeansBlock];           // the largest score, or at first a bound below it
  T rest[kKMeansBlock];           // the largest other one of the same group
  T top[kKMeansBlock];            // the largest of the present group
  int32_t label[kKMeansBlock];
  int32_t group[kKMeansBlock];
};

// The scores of a row with one panel.
template <class T, int kVectors>
GH_INLINE void take_scores(Search<T>& s, int32_t row, int32_t group, const KMeansPanel<T>& panel,
                           const typename Lanes<T>::Vector* scores) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  using Ids = typename L::Ids;
  Vector most = scores[0];
#pragma GCC unroll 3
  for (int v = 1; v < kVectors; ++v) most = L::larger(most, scores[v]);
  most = largest<T>(most);
  const T top = most[0];
  if (__builtin_expect(top >= s.best[row], 0)) {
    constexpr KMeansId<T> kBeyond = INT32_MAX;
    Ids first = Ids{} + kBeyond;
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      const Ids here = scores[v] == most ? L::load(panel.ids + v * L::kCount) : Ids{} + kBeyond;
      first = here < first ? here : first;
    }
    const KMeansId<T> id = smallest<T>(first);
    if (top > s.best[row] || id < s.label[row]) {
      Vector others = L::all(-kInfinity<T>);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v)
        others = L::larger(
            others, L::load(panel.ids + v * L::kCount) == id ? L::all(-kInfinity<T>) : scores[v]);
      s.rest[row] = larger(s.top[row], largest<T>(others)[0]);
      s.best[row] = top;
      s.label[row] = static_cast<int32_t>(id);
      s.group[row] = group;
      s.top[row] = larger(s.top[row], top);
      return;
    }
  }
  if (s.group[row] == group) s.rest[row] = larger(s.rest[row], top);
  s.top[row] = larger(s.top[row], top);
}

// `count` rows with one panel, as many at a time as registers hold sums for.
template <class T, int kRows, int kVectors>
void look_at(Search<T>& s, int64_t count, int64_t width, int32_t group,
             const KMeansPanel<T>& panel) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  for (int64_t first = 0; first < count; first += kRows) {
    const T* rows[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) rows[r] = s.rows[first + r < count ? first + r : count - 1];
    Vector sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r][v] = L::load(panel.bias + v * L::kCount);
    const T* centres = panel.centres;
    for (int64_t d = 0; d < width; ++d, centres += kVectors * L::kCount) {
      Vector c[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) c[v] = L::load(centres + v * L::kCount);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vector x = L::all(rows[r][d]);
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) sums[r][v] += x * c[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      if (first + r < count)
        take_scores<T, kVectors>(s, s.places[first + r], group, panel, sums[r]);
  }
}

// Which groups each row has to look at. A group may be skipped only where none of its scores, as
// look_at() rounds them, could reach that of the row's own centre. `slack` is twice what a computed
// |x − c|² can be off: (width + few) roundings of terms that sum to (|x| + |c|)²/2 at most.
template <class T>
void choose_groups(const KMeansRound<T>& round, int64_t begin, int64_t count, Search<T>& s) {
  const uint64_t all = ~uint64_t{0} >> (64 - round.groups);
  const T unit = static_cast<T>(2 * (round.width + 16)) * kUnitRoundoff<T>;
  for (int64_t i = 0; i < count; ++i) {
    const T* const x = round.x + (begin + i) * round.width;
    const T square = round.squares[begin + i], reach = root(square) + round.longest;
    s.slack[i] = unit * reach * reach;
    s.label[i] = INT32_MAX;
    s.group[i] = -1;
    s.wanted[i] = all;
    s.best[i] = -kInfinity<T>;
    const int32_t own = round.labels[begin + i];
    if (own < 0) continue;
    const T score = dot(x, round.centres + own * round.width, round.width) + round.biases[own];
    const T distance = root(larger(square + round.offset - 2 * score, T(0)) + 3 * s.slack[i]);
    const T* const bounds = round.bounds + (begin + i) * round.groups;
    uint64_t wanted = 0;
    for (int64_t g = 0; g < round.groups; ++g)
      wanted |= static_cast<uint64_t>(!(bounds[g] - round.drift[g] > distance)) << g;
    // Scores are compared only where they were computed in the same way.
    s.wanted[i] = wanted ? wanted | uint64_t{1} << round.group_of[own] : 0;
    s.best[i] = score - s.slack[i];
  }
}

template <class T>
void assign(const KMeansRound<T>& round, int64_t begin, int64_t end) {
  const int64_t count = end - begin, width = round.width;
  Search<T> s;
  choose_groups(round, begin, count, s);
  for (int32_t g = 0; g < round.groups; ++g) {
    int64_t looking = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!(s.wanted[i] >> g & 1)) continue;
      s.rows[looking] = round.x + (begin + i) * width;
      s.places[looking++] = static_cast<int32_t>(i);
      s.top[i] = -kInfinity<T>;
    }
    if (looking == 0) continue;
    for (int32_t p = round.first_panel[g]; p < round.first_panel[g + 1]; ++p) {
      const KMeansPanel<T>& panel = round.panels[p];
      if (panel.vectors == 3)
        look_at<T, 4, 3>(s, looking, width, g, panel);
      else if (panel.vectors == 2)
        look_at<T, 6, 2>(s, looking, width, g, panel);
      else
        look_at<T, 8, 1>(s, looking, width, g, panel);
    }
    for (int64_t j = 0; j < looking; ++j) {
      const int32_t i = s.places[j];
      round.bounds[(begin + i) * round.groups + g] = s.top[i];
    }
  }
  // Scores become bounds; the factor keeps them below in spite of the roundings here.
  constexpr T kBelow = 1 - 8 * kUnitRoundoff<T>;
  for (int64_t i = 0; i < count; ++i) {
    if (!s.wanted[i]) continue;
    round.labels[begin + i] = s.label[i];
    T* const bounds = round.bounds + (begin + i) * round.groups;
    const T square = round.squares[begin + i] + round.offset - s.slack[i];
    for (int64_t g = 0; g < round.groups; ++g) {
      if (!(s.wanted[i] >> g & 1)) continue;
      const T score = g == s.group[i] ? s.rest[i] : bounds[g];
      bounds[g] = (root(larger(square - 2 * score, T(0))) + round.drift[g]) * kBelow;
    }
  }
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
constexpr KMeansKernels<T> kKMeansLoops = {Lanes<T>::kCount, assign<T>, sum<T>, squares<T>,
                                           nearest<T>};

}  // namespace
}  // namespace v1
}  // namespace gh
