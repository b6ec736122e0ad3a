// Simplex equiangular tight frame: K unit vectors with all cosines −1/(K−1), the most uniform
// arrangement of K ≤ d+1 points.
#include "gh/component.hpp"
#include "gh/frames.hpp"

#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>

namespace {

// K×(K−1), orthonormal columns, each orthogonal to the vector of ones (Helmert).
at::Tensor centred_basis(int64_t k) {
  at::Tensor out = at::zeros({k, k - 1}, at::kDouble);
  auto h = out.accessor<double, 2>();
  for (int64_t j = 0; j < k - 1; ++j) {
    const double n = static_cast<double>(j + 1);
    for (int64_t i = 0; i <= j; ++i) h[i][j] = 1 / std::sqrt(n * (n + 1));
    h[j + 1][j] = -n / std::sqrt(n * (n + 1));
  }
  return out;
}

class Etf final : public gh::Structure {
 public:
  explicit Etf(const gh::Params& params) : points_(params.integer("points")) {}

  void check(int64_t width, gh::Complaints& out) const override {
    if (points_ > width + 1)
      out.add("points", "a simplex in " + std::to_string(width) + " dimensions has at most " +
                            std::to_string(width + 1) + " points, the recipe asks for " +
                            std::to_string(points_));
  }

  at::Tensor points(int64_t width, gh::Random random) const override {
    gh::require(points_ <= width + 1, gh::ErrorCode::invalid_param, "points = ", points_,
                " exceeds the ", width + 1, " of a simplex in ", width, " dimensions");
    const double scale = std::sqrt(points_ / (points_ - 1.0));
    // The published generator centres a random K-frame; that needs K ≤ d, and for K = d+1 it is no
    // simplex.
    if (points_ <= width) {
      const at::Tensor frame = gh::random_frame(points_, width, random);
      return scale * (frame - frame.mean({0}, true));
    }
    return scale * centred_basis(points_).matmul(gh::random_frame(points_ - 1, width, random));
  }

  double best_cosine(int64_t) const override { return -1.0 / (points_ - 1.0); }

 private:
  int64_t points_;
};

constexpr gh::Param kParams[] = {
    gh::points_param("100", "number of points K, at most width + 1"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Etf>("etf", "simplex equiangular tight frame of K ≤ d+1 points", kParams),
};

}  // namespace

GH_PLUGIN(
    kComponents, .license = "MIT", .authors = "the ghhost authors",
    .doc = "The geometric uniform structure of the paper for K up to the embedding width plus one")
