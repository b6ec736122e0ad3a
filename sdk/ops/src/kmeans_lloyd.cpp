#include "kmeans_lloyd.hpp"

#include "patience.hpp"

#include "gh/error.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

using ops::KMeansMetric;

constexpr int64_t kChunk = 512;  // rows that are summed as one

int64_t cut(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

template <class T>
at::Tensor room(at::IntArrayRef shape) {
  return at::empty(shape, c10::CppTypeToScalarType<T>::value);
}

// Σ of term(i), in an order that lets a processor add several at a time.
template <class Term>
double sum_of(int64_t count, Term term) {
  constexpr int64_t kAtOnce = 8;
  double sums[kAtOnce] = {};
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (int64_t j = 0; j < kAtOnce; ++j) sums[j] += term(i + j);
  for (; i < count; ++i) sums[i % kAtOnce] += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// work(begin, end) for blocks of rows.
template <class Work>
void for_blocks(int64_t rows, int64_t block, Work work) {
  ops::parallel_indices(cut(rows, block),
                        [&](int64_t i) { work(i * block, std::min(rows, (i + 1) * block)); });
}

// out[width] += sign · Σ of these rows
struct Addition {
  const int32_t* rows;
  int64_t count;
  double sign;
  double* out;
};

// Rows are summed in chunks, chunks in their order, whoever does it.
template <class T>
void add_up(const T* x, int64_t width, const std::vector<Addition>& additions,
            const KMeansKernels<T>& kernels) {
  std::vector<Addition> chunks;
  for (const Addition& a : additions)
    for (int64_t b = 0; b < a.count; b += kChunk)
      chunks.push_back({a.rows + b, std::min(kChunk, a.count - b), a.sign, a.out});
  const int64_t count = static_cast<int64_t>(chunks.size());
  const at::Tensor sums = room<double>({count, width});
  double* const all = sums.data_ptr<double>();
  ops::parallel_pieces(count, at::get_num_threads(), [&](int64_t i, int64_t) {
    kernels.sum(x, width, chunks[i].rows, chunks[i].count, all + i * width);
  });
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < width; ++d) chunks[i].out[d] += chunks[i].sign * all[i * width + d];
}

template <class T>
at::Tensor squares_of(const at::Tensor& x, const char* name, const KMeansKernels<T>& kernels) {
  const int64_t width = x.size(1);
  const at::Tensor squares = room<double>({x.size(0)});
  for_blocks(x.size(0), kChunk, [&](int64_t begin, int64_t end) {
    kernels.squares(x.data_ptr<T>() + begin * width, width, end - begin,
                    squares.data_ptr<double>() + begin);
  });
  // Also where a square leaves T's range, as scores would.
  const double most = static_cast<double>(std::numeric_limits<T>::max()) / 64;
  const double* const s = squares.data_ptr<double>();
  for (int64_t i = 0; i < x.size(0); ++i)
    require(s[i] < most, ErrorCode::numeric, "row ", i, " of ", name,
            " is not finite, or too large");
  return squares;
}

template <class T>
std::vector<double> mean_of(const at::Tensor& x, const KMeansKernels<T>& kernels) {
  std::vector<int32_t> rows(x.size(0));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<double> mean(x.size(1));
  add_up(x.data_ptr<T>(), x.size(1), {{rows.data(), x.size(0), 1, mean.data()}}, kernels);
  for (double& m : mean) m /= static_cast<double>(x.size(0));
  return mean;
}

template <class T>
at::Tensor moved(const at::Tensor& x, const std::vector<double>& mean, double sign) {
  const int64_t width = x.size(1);
  const at::Tensor out = room<T>(x.sizes());
  const T* const from = x.data_ptr<T>();
  T* const to = out.data_ptr<T>();
  for_blocks(x.size(0), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t d = 0; d < width; ++d)
        to[i * width + d] =
            static_cast<T>(static_cast<double>(from[i * width + d]) + sign * mean[d]);
  });
  return out;
}

template <class T>
at::Tensor unit_rows(const at::Tensor& x, const at::Tensor& squares) {
  const int64_t width = x.size(1);
  const at::Tensor out = room<T>(x.sizes());
  const T* const from = x.data_ptr<T>();
  const double* const square = squares.data_ptr<double>();
  T* const to = out.data_ptr<T>();
  for_blocks(x.size(0), kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double scale = square[i] > 0 ? 1 / std::sqrt(square[i]) : 0;
      for (int64_t d = 0; d < width; ++d)
        to[i * width + d] = static_cast<T>(static_cast<double>(from[i * width + d]) * scale);
    }
  });
  return out;
}

// Centres in the order of groups: each begins with the first centre that is left and takes those
// next to it, so that a row far from one is far from all.
template <class T>
std::vector<int32_t> neighbours_together(const T* centres, int64_t count, int64_t width,
                                         int64_t group) {
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> apart(count);
  for (int64_t begin = 0; begin + group < count; begin += group) {
    const T* const seed = centres + order[begin] * width;
    ops::parallel_indices(count - begin, [&](int64_t i) {
      const int32_t c = order[begin + i];
      double sum = 0;
      for (int64_t d = 0; d < width; ++d) {
        const double e = static_cast<double>(centres[c * width + d] - seed[d]);
        sum += e * e;
      }
      apart[c] = sum;
    });
    std::nth_element(
        order.begin() + begin, order.begin() + begin + group - 1, order.end(),
        [&](int32_t a, int32_t b) { return apart[a] != apart[b] ? apart[a] < apart[b] : a < b; });
    std::sort(order.begin() + begin + group, order.end());
  }
  return order;
}

// Centres by place, and the same packed into panels.
template <class T>
class Centres {
 public:
  Centres(const at::Tensor& start, KMeansMetric metric, const KMeansKernels<T>& kernels)
      : metric_(metric),
        lanes_(kernels.lanes),
        count_(start.size(0)),
        width_(start.size(1)),
        span_(cut(count_, kKMeansGroups)),
        places_(cut(cut(count_, span_), lanes_) * lanes_ * span_),
        by_place_(room<T>({places_, width_}).zero_()),
        packed_(room<T>({places_ * width_}).zero_()),
        biases_(places_, -std::numeric_limits<T>::infinity()),
        ids_(places_, -1),
        place_of_(count_),
        lengths_(count_),
        moved_(groups()),
        drift_(groups()) {
    std::vector<int32_t> order(count_);
    std::iota(order.begin(), order.end(), 0);
    if (span_ > 1) order = neighbours_together(start.data_ptr<T>(), count_, width_, span_);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t group = i / span_, vector = group / lanes_ * span_ + i % span_;
      place_of_[order[i]] = static_cast<int32_t>(vector * lanes_ + group % lanes_);
      ids_[place_of_[order[i]]] = order[i];
    }
    const int64_t vectors = places_ / lanes_, panels = cut(vectors, kernels.panel);
    for (int64_t p = 0, first = 0; p < panels; first += panels_[p++].vectors) {
      const int64_t size = vectors / panels + (p < vectors % panels);
      panels_.push_back({packed_.template data_ptr<T>() + first * lanes_ * width_, first, size});
      panel_of_.insert(panel_of_.end(), size, static_cast<int32_t>(p));
    }
    for (int64_t j = 0; j < count_; ++j) put(j, start.data_ptr<T>() + j * width_);
  }

  int64_t groups() const { return places_ / span_; }
  int64_t places() const { return places_; }
  at::Tensor rows() const {
    const at::Tensor out = room<T>({count_, width_});
    for (int64_t j = 0; j < count_; ++j)
      std::copy_n(centre(j), width_, out.template data_ptr<T>() + j * width_);
    return out;
  }
  const T* centre(int64_t j) const {
    return by_place_.template data_ptr<T>() + place_of_[j] * width_;
  }

  void describe(KMeansRound<T>& round) {
    round.offset = metric_ == KMeansMetric::spherical ? 1 : 0;
    round.panels = panels_.data();
    round.panel_count = static_cast<int64_t>(panels_.size());
    round.centres = by_place_.template data_ptr<T>();
    round.places = places_;
    round.span = span_;
    round.biases = biases_.data();
    round.ids = ids_.data();
    round.place_of = place_of_.data();
    round.longest = *std::max_element(lengths_.begin(), lengths_.end());
    round.drift = drift_.data();
  }

  // Replaces all; true where one moved.
  bool move_to(const std::vector<double>& centres) {
    std::vector<double> by(count_), most(groups());
    ops::parallel_indices(count_, [&](int64_t j) { by[j] = put(j, centres.data() + j * width_); });
    for (int64_t j = 0; j < count_; ++j) {
      const int64_t vector = place_of_[j] / lanes_, lane = place_of_[j] % lanes_;
      double& group = most[vector / span_ * lanes_ + lane];
      group = std::max(group, by[j]);
    }
    for (int64_t g = 0; g < groups(); ++g) {
      moved_[g] += most[g];
      drift_[g] = static_cast<T>(moved_[g] * (1 + 8 * std::numeric_limits<T>::epsilon()));
    }
    return *std::max_element(by.begin(), by.end()) > 0;
  }

 private:
  // Puts a centre wherever it is kept; by how much it moved.
  template <class Value>
  double put(int64_t j, const Value* to) {
    const int64_t place = place_of_[j];
    const KMeansPanel<T>& panel = panels_[panel_of_[place / lanes_]];
    const int64_t distance = panel.vectors * lanes_;
    T* const row = by_place_.template data_ptr<T>() + place * width_;
    T* const packed = const_cast<T*>(panel.centres) + place - panel.first * lanes_;
    const double moved = sum_of(width_, [&](int64_t d) {
      const double by = static_cast<double>(static_cast<T>(to[d])) - static_cast<double>(row[d]);
      return by * by;
    });
    for (int64_t d = 0; d < width_; ++d) row[d] = packed[d * distance] = static_cast<T>(to[d]);
    const double square = sum_of(width_, [&](int64_t d) {
      return static_cast<double>(row[d]) * static_cast<double>(row[d]);
    });
    biases_[place] = metric_ == KMeansMetric::spherical ? T(0) : static_cast<T>(-square / 2);
    lengths_[j] = static_cast<T>(std::sqrt(square) * 1.000001);
    return std::sqrt(moved);
  }

  KMeansMetric metric_;
  int64_t lanes_, count_, width_, span_, places_;
  at::Tensor by_place_, packed_;  // aligned as vectors like it
  std::vector<T> biases_;
  std::vector<KMeansId<T>> ids_;
  std::vector<int32_t> place_of_, panel_of_;  // of a centre, of a vector
  std::vector<KMeansPanel<T>> panels_;
  std::vector<T> lengths_;
  std::vector<double> moved_;  // as drift_, exactly
  std::vector<T> drift_;
};

template <class T>
class Lloyd {
 public:
  Lloyd(const KMeansRows<T>& rows, const at::Tensor& start, KMeansMetric metric,
        const KMeansKernels<T>& kernels)
      : rows_(rows),
        metric_(metric),
        kernels_(kernels),
        x_(rows.x.template data_ptr<T>()),
        count_(rows.x.size(0)),
        width_(rows.x.size(1)),
        clusters_(start.size(0)),
        centres_(start, metric, kernels),
        labels_(count_, -1),
        before_(count_, -1),
        sizes_(clusters_),
        sums_(clusters_ * width_),
        squares_(rows.squares.to(rows.x.scalar_type())),
        bounds_(room<T>({count_, centres_.groups()})),
        scores_(room<T>({at::get_num_threads(), kKMeansTile, centres_.places()})) {}

  // True where a label changed.
  bool assign(KMeansSearch search) {
    before_ = labels_;
    if (search == KMeansSearch::exhaustive) std::fill(labels_.begin(), labels_.end(), -1);
    KMeansRound<T> round{};
    round.x = x_;
    round.width = width_;
    round.squares = squares_.template data_ptr<T>();
    centres_.describe(round);
    round.bounds = bounds_.template data_ptr<T>();
    round.labels = labels_.data();
    T* const scores = scores_.template data_ptr<T>();
    ops::parallel_pieces(cut(count_, kKMeansBlock), scores_.size(0), [&](int64_t i, int64_t w) {
      kernels_.assign(round, i * kKMeansBlock, std::min(count_, (i + 1) * kKMeansBlock),
                      scores + w * kKMeansTile * centres_.places());
    });
    return labels_ != before_;
  }

  // Centres to the means of their rows; true where one moved.
  bool update() {
    add_members();
    std::vector<double> next = sums_;
    std::vector<int64_t> counts = sizes_;
    fill_empty(next, counts);
    const int64_t largest = std::max_element(counts.begin(), counts.end()) - counts.begin();
    for (int64_t j = 0; j < clusters_; ++j)
      if (counts[j] > 0) finish(next.data() + j * width_, j, counts[j]);
    for (int64_t j = 0; j < clusters_; ++j)
      if (counts[j] == 0)
        std::copy_n(next.begin() + largest * width_, width_, next.begin() + j * width_);
    return centres_.move_to(next);
  }

  double objective() {
    const int64_t blocks = cut(count_, kChunk);
    std::vector<double> sums(blocks);
    ops::parallel_indices(blocks, [&](int64_t b) {
      for (int64_t i = b * kChunk; i < std::min(count_, (b + 1) * kChunk); ++i)
        sums[b] += metric_ == KMeansMetric::spherical ? cosine(i) : distance(i);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  ops::KMeansResult result(int64_t iterations) {
    ops::KMeansResult out;
    out.objective = objective();
    out.iterations = iterations;
    out.centres = rows_.mean.empty() ? centres_.rows() : moved<T>(centres_.rows(), rows_.mean, 1);
    out.labels = at::empty({count_}, at::kLong);
    std::copy(labels_.begin(), labels_.end(), out.labels.template data_ptr<int64_t>());
    return out;
  }

 private:
  const T* row(int64_t i) const { return x_ + i * width_; }
  const T* own_centre(int64_t i) const { return centres_.centre(labels_[i]); }
  double distance(int64_t i) {
    const T *const a = row(i), *const b = own_centre(i);
    return sum_of(width_, [&](int64_t d) {
      const double by = static_cast<double>(a[d]) - static_cast<double>(b[d]);
      return by * by;
    });
  }
  double cosine(int64_t i) {
    const T *const a = row(i), *const b = own_centre(i);
    return sum_of(width_,
                  [&](int64_t d) { return static_cast<double>(a[d]) * static_cast<double>(b[d]); });
  }

  struct ByCluster {
    std::vector<int64_t> first;  // [clusters + 1]
    std::vector<int32_t> rows;   // each cluster's in their order
    int64_t size(int64_t j) const { return first[j + 1] - first[j]; }
    const int32_t* begin(int64_t j) const { return rows.data() + first[j]; }
  };
  // `of(i)` < 0: in none.
  template <class Of>
  ByCluster by_cluster(const std::vector<int32_t>& rows, Of of) const {
    ByCluster out{.first = std::vector<int64_t>(clusters_ + 1), .rows = {}};
    for (const int32_t i : rows)
      if (of(i) >= 0) ++out.first[of(i) + 1];
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
    out.rows.resize(out.first.back());
    std::vector<int64_t> next(out.first.begin(), out.first.end() - 1);
    for (const int32_t i : rows)
      if (of(i) >= 0) out.rows[next[of(i)]++] = i;
    return out;
  }

  // Sums follow from those before by what came and what went. A cluster where that is more than
  // what it has is summed anew; thus what goes is never much larger than what stays, and roundings
  // remain those of a sum.
  void add_members() {
    std::vector<int32_t> changed, anew;
    for (int64_t i = 0; i < count_; ++i)
      if (labels_[i] != before_[i]) changed.push_back(static_cast<int32_t>(i));
    const ByCluster came = by_cluster(changed, [&](int32_t i) { return labels_[i]; }),
                    went = by_cluster(changed, [&](int32_t i) { return before_[i]; });
    std::vector<char> summed_anew(clusters_);
    for (int64_t j = 0; j < clusters_; ++j) {
      sizes_[j] += came.size(j) - went.size(j);
      summed_anew[j] = came.size(j) + went.size(j) > sizes_[j];
    }
    if (std::count(summed_anew.begin(), summed_anew.end(), 1) > 0)
      for (int64_t i = 0; i < count_; ++i)
        if (summed_anew[labels_[i]]) anew.push_back(static_cast<int32_t>(i));
    const ByCluster members = by_cluster(anew, [&](int32_t i) { return labels_[i]; });
    std::vector<Addition> additions;
    for (int64_t j = 0; j < clusters_; ++j) {
      double* const sum = sums_.data() + j * width_;
      if (summed_anew[j]) {
        std::fill_n(sum, width_, 0.0);
        additions.push_back({members.begin(j), members.size(j), 1, sum});
      } else {
        additions.push_back({came.begin(j), came.size(j), 1, sum});
        additions.push_back({went.begin(j), went.size(j), -1, sum});
      }
    }
    add_up(x_, width_, additions, kernels_);
  }

  // See kmeans() in the header for the rule. Labels stay as they are until the next round.
  void fill_empty(std::vector<double>& sums, std::vector<int64_t>& counts) {
    const int64_t empty = std::count(counts.begin(), counts.end(), 0);
    if (empty == 0) return;
    std::vector<double> distances(count_);
    for_blocks(count_, kChunk, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) distances[i] = distance(i);
    });
    std::vector<int64_t> far(count_);
    std::iota(far.begin(), far.end(), 0);
    std::partial_sort(far.begin(), far.begin() + empty, far.end(), [&](int64_t a, int64_t b) {
      return distances[a] != distances[b] ? distances[a] > distances[b] : a < b;
    });
    if (distances[far[0]] == 0) return;
    int64_t taken = 0;
    for (int64_t j = 0; j < clusters_; ++j) {
      if (sizes_[j] > 0) continue;
      const int64_t i = far[taken++], from = labels_[i];
      for (int64_t d = 0; d < width_; ++d) {
        sums[from * width_ + d] -= static_cast<double>(row(i)[d]);
        sums[j * width_ + d] = static_cast<double>(row(i)[d]);
      }
      --counts[from];
      counts[j] = 1;
    }
  }

  void finish(double* sum, int64_t cluster, int64_t count) {
    double scale = 1 / static_cast<double>(count);
    if (metric_ == KMeansMetric::spherical) {
      double square = 0;
      for (int64_t d = 0; d < width_; ++d) square += sum[d] * sum[d];
      if (square == 0) {
        std::copy_n(centres_.centre(cluster), width_, sum);
        return;
      }
      scale = 1 / std::sqrt(square);
    }
    for (int64_t d = 0; d < width_; ++d) sum[d] *= scale;
  }

  const KMeansRows<T>& rows_;
  KMeansMetric metric_;
  const KMeansKernels<T>& kernels_;
  const T* x_;
  int64_t count_, width_, clusters_;
  Centres<T> centres_;
  std::vector<int32_t> labels_, before_;
  std::vector<int64_t> sizes_;  // of clusters
  std::vector<double> sums_;
  at::Tensor squares_, bounds_, scores_;
};

}  // namespace

template <class T>
KMeansRows<T> kmeans_rows(const at::Tensor& x, KMeansMetric metric,
                          const KMeansKernels<T>& kernels) {
  KMeansRows<T> rows{.x = x.contiguous(), .squares = {}, .mean = {}};
  rows.squares = squares_of(rows.x, "x", kernels);
  if (metric == KMeansMetric::spherical) {
    rows.x = unit_rows<T>(rows.x, rows.squares);
    rows.squares = squares_of(rows.x, "x", kernels);
    return rows;
  }
  std::vector<double> mean = mean_of(rows.x, kernels);
  const double offset = std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0);
  const double* const squares = rows.squares.template data_ptr<double>();
  const double whole = std::accumulate(squares, squares + x.size(0), 0.0);
  if (2 * offset * static_cast<double>(x.size(0)) <= whole) return rows;
  rows.x = moved<T>(rows.x, mean, -1);
  rows.squares = squares_of(rows.x, "x", kernels);
  rows.mean = std::move(mean);
  return rows;
}

template <class T>
std::vector<int64_t> plus_plus(const KMeansRows<T>& rows, int64_t clusters, Random random,
                               const KMeansKernels<T>& kernels) {
  const int64_t count = rows.x.size(0), width = rows.x.size(1), blocks = cut(count, kChunk);
  const T* const x = rows.x.template data_ptr<T>();
  const int64_t trials =
      std::min<int64_t>(kKMeansCandidates, 2 + static_cast<int64_t>(std::log(clusters)));
  at::Tensor nearest = at::full({count}, std::numeric_limits<T>::infinity(), rows.x.options());
  at::Tensor found = room<T>({trials, count});
  std::vector<double> sums(blocks), trial_sums(blocks * trials);
  std::vector<int64_t> chosen;
  std::vector<char> taken(count, 0);

  // The row at which the running sum of `nearest` passes a share of the whole.
  const auto draw = [&](double whole) {
    double left = random.uniform() * whole;
    int64_t block = 0;
    while (block + 1 < blocks && left >= sums[block]) left -= sums[block++];
    const int64_t end = std::min(count, (block + 1) * kChunk);
    const T* const n = nearest.template data_ptr<T>();
    int64_t last = -1;  // of the rows that can be drawn; roundings may lead behind it
    for (int64_t i = block * kChunk; i < end; ++i) {
      if (!(n[i] > 0)) continue;
      last = i;
      left -= static_cast<double>(n[i]);
      if (left < 0) break;
    }
    return last;
  };
  const auto first_free = [&] {
    return static_cast<int64_t>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
  };

  std::vector<int64_t> candidates = {random.below(count)};
  const ops::Patience patience;
  while (true) {
    patience.check();
    const int64_t tried = static_cast<int64_t>(candidates.size());
    std::vector<const T*> centres;
    centres.reserve(candidates.size());
    for (const int64_t c : candidates) centres.push_back(x + c * width);
    ops::parallel_indices(blocks, [&](int64_t b) {
      const int64_t begin = b * kChunk, end = std::min(count, begin + kChunk);
      kernels.nearest(x + begin * width, width, end - begin, centres.data(), tried,
                      nearest.template data_ptr<T>() + begin, found.template data_ptr<T>() + begin,
                      count, trial_sums.data() + b * trials);
    });
    int64_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t t = 0; t < tried; ++t) {
      double whole = 0;
      for (int64_t b = 0; b < blocks; ++b) whole += trial_sums[b * trials + t];
      if (whole < least) best = t, least = whole;
    }
    for (int64_t b = 0; b < blocks; ++b) sums[b] = trial_sums[b * trials + best];
    nearest.copy_(found.select(0, best));
    chosen.push_back(candidates[best]);
    taken[candidates[best]] = 1;
    if (static_cast<int64_t>(chosen.size()) == clusters) return chosen;

    candidates.clear();
    for (int64_t t = 0; t < trials && least > 0; ++t)
      if (const int64_t row = draw(least); row >= 0) candidates.push_back(row);
    if (candidates.empty()) candidates.push_back(first_free());
  }
}

template <class T>
ops::KMeansResult lloyd(const KMeansRows<T>& rows, const at::Tensor& start,
                        const ops::KMeansOptions& options, const KMeansKernels<T>& kernels,
                        KMeansSearch search) {
  at::Tensor first = start.contiguous();
  const at::Tensor squares = squares_of(first, "start", kernels);
  if (options.metric == KMeansMetric::spherical)
    first = unit_rows<T>(first, squares);
  else if (!rows.mean.empty())
    first = moved<T>(first, rows.mean, -1);
  Lloyd<T> problem(rows, first, options.metric, kernels);
  const ops::Patience patience;
  for (int64_t i = 1; i <= options.iterations; ++i) {
    patience.check();
    const bool changed = problem.assign(search);
    if (!changed || !problem.update()) return problem.result(i);
  }
  problem.assign(search);
  return problem.result(options.iterations);
}

#define GH_KMEANS(T)                                                                            \
  template KMeansRows<T> kmeans_rows(const at::Tensor&, KMeansMetric, const KMeansKernels<T>&); \
  template std::vector<int64_t> plus_plus(const KMeansRows<T>&, int64_t, Random,                \
                                          const KMeansKernels<T>&);                             \
  template ops::KMeansResult lloyd(const KMeansRows<T>&, const at::Tensor&,                     \
                                   const ops::KMeansOptions&, const KMeansKernels<T>&,          \
                                   KMeansSearch);
GH_KMEANS(float)
GH_KMEANS(double)
#undef GH_KMEANS

}  // namespace v1
}  // namespace gh
