#include "kmeans_lloyd.hpp"

#include "kmeans_centres.hpp"
#include "patience.hpp"

#include <ATen/Parallel.h>

namespace gh {
inline namespace v1 {
namespace {

using ops::KMeansMetric;

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
        bounds_(kmeans_room<T>({count_, centres_.groups()})),
        scores_(kmeans_room<T>({at::get_num_threads(), kKMeansTile, centres_.places()})) {}

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
    const int64_t blocks = cut(count_, kKMeansChunk);
    std::vector<double> sums(blocks);
    ops::parallel_indices(blocks, [&](int64_t b) {
      for (int64_t i = b * kKMeansChunk; i < std::min(count_, (b + 1) * kKMeansChunk); ++i)
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
    for_blocks(count_, kKMeansChunk, [&](int64_t begin, int64_t end) {
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
ops::KMeansResult lloyd(const KMeansRows<T>& rows, const at::Tensor& start,
                        const ops::KMeansOptions& options, const KMeansKernels<T>& kernels,
                        KMeansSearch search) {
  at::Tensor first = start.contiguous();
  const at::Tensor squares = squares_of(first, "start", kernels);
  if (options.metric == KMeansMetric::spherical)
    first = scaled_to_unit<T>(first, squares);
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

template ops::KMeansResult lloyd(const KMeansRows<float>&, const at::Tensor&,
                                 const ops::KMeansOptions&, const KMeansKernels<float>&,
                                 KMeansSearch);
template ops::KMeansResult lloyd(const KMeansRows<double>&, const at::Tensor&,
                                 const ops::KMeansOptions&, const KMeansKernels<double>&,
                                 KMeansSearch);

}  // namespace v1
}  // namespace gh
