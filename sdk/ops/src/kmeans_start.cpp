// The first centres: k-means++ (Arthur and Vassilvitskii 2007) that tries several rows and keeps
// the best.
#include "kmeans_lloyd.hpp"
#include "patience.hpp"

#include <ATen/ops/full.h>

#include <cmath>
#include <limits>

namespace gh {
inline namespace v1 {
namespace {

template <class T>
class PlusPlus {
 public:
  PlusPlus(const KMeansRows<T>& rows, int64_t clusters, Random random,
           const KMeansKernels<T>& kernels)
      : kernels_(kernels),
        random_(random),
        x_(rows.x.template data_ptr<T>()),
        count_(rows.x.size(0)),
        width_(rows.x.size(1)),
        blocks_(cut(count_, kKMeansChunk)),
        trials_(std::min<int64_t>(kKMeansCandidates, 2 + static_cast<int64_t>(std::log(clusters)))),
        nearest_(at::full({count_}, std::numeric_limits<T>::infinity(), rows.x.options())),
        found_(kmeans_room<T>({trials_, count_})),
        sums_(blocks_),
        trial_sums_(blocks_ * trials_),
        taken_(count_, 0) {}

  std::vector<int64_t> choose(int64_t clusters) {
    std::vector<int64_t> chosen, candidates = {random_.below(count_)};
    const ops::Patience patience;
    while (true) {
      patience.check();
      double left = 0;
      const int64_t best = candidates[take_best(candidates, left)];
      chosen.push_back(best);
      taken_[best] = 1;
      if (static_cast<int64_t>(chosen.size()) == clusters) return chosen;
      candidates.clear();
      for (int64_t t = 0; t < trials_ && left > 0; ++t)
        if (const int64_t row = draw(left); row >= 0) candidates.push_back(row);
      if (candidates.empty())
        candidates.push_back(std::find(taken_.begin(), taken_.end(), 0) - taken_.begin());
    }
  }

 private:
  // The candidate that leaves least, as a centre; `left` is Σ of what it leaves.
  int64_t take_best(const std::vector<int64_t>& candidates, double& left) {
    const int64_t tried = static_cast<int64_t>(candidates.size());
    std::vector<const T*> centres;
    centres.reserve(candidates.size());
    for (const int64_t c : candidates) centres.push_back(x_ + c * width_);
    ops::parallel_indices(blocks_, [&](int64_t b) {
      const int64_t begin = b * kKMeansChunk, end = std::min(count_, begin + kKMeansChunk);
      kernels_.nearest(x_ + begin * width_, width_, end - begin, centres.data(), tried,
                       nearest_.template data_ptr<T>() + begin,
                       found_.template data_ptr<T>() + begin, count_,
                       trial_sums_.data() + b * trials_);
    });
    int64_t best = 0;
    left = std::numeric_limits<double>::infinity();
    for (int64_t t = 0; t < tried; ++t) {
      double whole = 0;
      for (int64_t b = 0; b < blocks_; ++b) whole += trial_sums_[b * trials_ + t];
      if (whole < left) best = t, left = whole;
    }
    for (int64_t b = 0; b < blocks_; ++b) sums_[b] = trial_sums_[b * trials_ + best];
    nearest_.copy_(found_.select(0, best));
    return best;
  }

  // The row at which the running sum of `nearest` passes a share of the whole.
  int64_t draw(double whole) {
    double left = random_.uniform() * whole;
    int64_t block = 0;
    while (block + 1 < blocks_ && left >= sums_[block]) left -= sums_[block++];
    const int64_t end = std::min(count_, (block + 1) * kKMeansChunk);
    const T* const n = nearest_.template data_ptr<T>();
    int64_t last = -1;  // of the rows that can be drawn; roundings may lead behind it
    for (int64_t i = block * kKMeansChunk; i < end; ++i) {
      if (!(n[i] > 0)) continue;
      last = i;
      left -= static_cast<double>(n[i]);
      if (left < 0) break;
    }
    return last;
  }

  const KMeansKernels<T>& kernels_;
  Random random_;
  const T* x_;
  int64_t count_, width_, blocks_, trials_;
  at::Tensor nearest_, found_;  // squares of distances, [N] and [trials, N]
  std::vector<double> sums_, trial_sums_;
  std::vector<char> taken_;
};

}  // namespace

template <class T>
std::vector<int64_t> plus_plus(const KMeansRows<T>& rows, int64_t clusters, Random random,
                               const KMeansKernels<T>& kernels) {
  return PlusPlus<T>(rows, clusters, random, kernels).choose(clusters);
}

template std::vector<int64_t> plus_plus(const KMeansRows<float>&, int64_t, Random,
                                        const KMeansKernels<float>&);
template std::vector<int64_t> plus_plus(const KMeansRows<double>&, int64_t, Random,
                                        const KMeansKernels<double>&);

}  // namespace v1
}  // namespace gh
