#include "gh/error.hpp"
#include "gh/ops/linear_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

constexpr int64_t kHeldOut = 10;  // one in so many
constexpr int kDecades = 7;
// What is tried needs to be known only well enough to be told from its neighbours.
constexpr double kRoughly = 4e-3;

class Search {
 public:
  Search(const LogisticRegression& regression, Random random) : regression_(regression) {
    const int64_t rows = regression.x().size(0), held = std::max<int64_t>(1, rows / kHeldOut);
    const at::Tensor order = random.permutation(rows);
    learnt_ = std::get<0>(order.narrow(0, held, rows - held).sort());
    const at::Tensor asked = order.narrow(0, 0, held);
    x_ = regression.x().index_select(0, asked);
    targets_ = regression.targets().index_select(0, asked);
  }

  // False where this l2 is worse than the best before.
  bool attempt(double l2, const LinearClassifier& start) {
    last_ = regression_.fit({.l2 = l2, .tolerance = kRoughly, .rows = learnt_, .start = start});
    passes_ += last_.passes;
    const int64_t right =
        linear_scores(x_, last_.classifier).argmax(1).eq(targets_).sum().item<int64_t>();
    const bool worse = best_ && right < right_;
    const bool better = !best_ || right > right_ || (right == right_ && l2 > best_->l2);
    if (better) best_ = last_, right_ = right;
    return !worse;
  }

  const LogisticFit& best() const { return *best_; }
  const LogisticFit& last() const { return last_; }
  int64_t passes() const { return passes_; }

 private:
  const LogisticRegression& regression_;
  at::Tensor learnt_, x_, targets_;
  LogisticFit last_;
  std::optional<LogisticFit> best_;
  int64_t right_ = 0, passes_ = 0;
};

}  // namespace

LogisticFit fit_with_chosen_l2(const LogisticRegression& regression, Random random) {
  require(regression.x().size(0) >= 2, ErrorCode::missing_data,
          "choosing l2 takes at least 2 rows, one of them to be held out");
  // Features that do not vary at all give no scale; then any will do.
  const double scale = regression.curvature() > 0 ? regression.curvature() : 1;
  Search search(regression, random);
  double l2 = 10 * scale;
  for (int i = 0; i < kDecades && search.attempt(l2, search.last().classifier); ++i) l2 /= 10;
  const LogisticFit decade = search.best();
  for (const double side : {std::sqrt(10.0), 1 / std::sqrt(10.0)})
    search.attempt(decade.l2 * side, decade.classifier);
  LogisticFit out = regression.fit({.l2 = search.best().l2, .start = search.best().classifier});
  out.passes += search.passes();
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
