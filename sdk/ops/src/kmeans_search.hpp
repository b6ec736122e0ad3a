// The search for each row's nearest centre, where K-means spends its time.
#pragma once

#include "kmeans_pairs.hpp"

namespace gh {
inline namespace v1 {
namespace {

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
  using Ids = typename L::Integers;
  Vector most = L::load(scores);
  for (int64_t p = L::kCount; p < round.places; p += L::kCount)
    most = larger(most, L::load(scores + p));
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
    for (int64_t s = 1; s < round.span; ++s) top = larger(top, L::load(from + s * L::kCount));
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
      top = larger(top, part);
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

}  // namespace
}  // namespace v1
}  // namespace gh
