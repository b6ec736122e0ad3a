// K = d+m points, 2 ≤ m ≤ d, whose largest cosine is 0, the smallest possible (Rankin 1955): m
// simplices in mutually orthogonal subspaces. With m = d they are pairs ±e, the cross polytope.
#include "gh/component.hpp"
#include "gh/frames.hpp"

#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>

namespace {

// Writes the n+1 corners of a simplex, rows of unit length, into `out` [n+1, n].
void write_simplex(const at::Tensor& out) {
  const int64_t n = out.size(1);
  auto p = out.accessor<double, 2>();
  const double scale = std::sqrt((n + 1.0) / n);
  for (int64_t j = 0; j < n; ++j) {  // Helmert: columns orthonormal and orthogonal to ones
    const double below = j + 1.0, entry = scale / std::sqrt(below * (below + 1));
    for (int64_t i = 0; i <= j; ++i) p[i][j] = entry;
    p[j + 1][j] = -below * entry;
  }
}

class CrossPolytope final : public gh::Structure {
 public:
  explicit CrossPolytope(const gh::Params& params) : points_(params.integer("points")) {}

  void check(int64_t width, gh::Complaints& out) const override {
    if (const std::string why = problem(width); !why.empty()) out.add("points", why);
  }

  at::Tensor points(int64_t width, gh::Random random) const override {
    gh::require(problem(width).empty(), gh::ErrorCode::invalid_param, "points: ", problem(width));
    const int64_t simplices = points_ - width;
    const at::Tensor out = at::zeros({points_, width}, at::kDouble);
    for (int64_t i = 0, row = 0, column = 0; i < simplices; ++i) {
      const int64_t n = width / simplices + (i < width % simplices ? 1 : 0);
      write_simplex(out.narrow(0, row, n + 1).narrow(1, column, n));
      row += n + 1;
      column += n;
    }
    return out.matmul(gh::random_frame(width, width, random));
  }

  double best_cosine(int64_t) const override { return 0; }

 private:
  // Why there is no such arrangement in `width` dimensions; empty: there is one.
  std::string problem(int64_t width) const {
    const std::string asked = std::to_string(points_) + " in " + std::to_string(width);
    if (points_ <= width + 1)
      return asked + " dimensions can do better than a largest cosine of 0: use etf";
    if (points_ > 2 * width)
      return asked + " dimensions exceed the " + std::to_string(2 * width) +
             " that can have no positive cosine: use a structure approximated by gradients";
    return "";
  }

  int64_t points_;
};

constexpr gh::Param kParams[] = {
    gh::points_param("200", "number of points K, from width + 2 to 2 width", 4),
};
constexpr gh::Component kComponents[] = {
    gh::describe<CrossPolytope>("cross_polytope",
                                "d+2 to 2d points without a positive cosine: orthogonal simplices",
                                kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The optimal structure for K between the embedding width plus two and its double")
