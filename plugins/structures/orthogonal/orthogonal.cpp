// Plus and minus every vector of an orthonormal basis: 2d points, each orthogonal to all but its
// antipode. In the plane, the corners (±1, ±1)/√2 of the paper's toy.
#include "gh/component.hpp"

#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

namespace {

class Orthogonal final : public gh::Structure {
 public:
  explicit Orthogonal(const gh::Params&) {}

  at::Tensor points(int64_t width, gh::Random) const override {
    at::Tensor out = at::empty({2 * width, width}, at::kDouble);
    auto p = out.accessor<double, 2>();
    const double d = static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i) {
      // Row i of the orthonormal cosine transform (DCT-II).
      const double scale = std::sqrt((i == 0 ? 1 : 2) / d);
      for (int64_t j = 0; j < width; ++j) {
        p[2 * i][j] = scale * std::cos(std::numbers::pi * (2 * j + 1) * i / (2 * d));
        p[2 * i + 1][j] = -p[2 * i][j];
      }
    }
    return out;
  }

  // More than d+1 points cannot all be obtuse (Rankin 1955); one point pair on a line can.
  double best_cosine(int64_t width) const override { return width == 1 ? -1 : 0; }
};

constexpr gh::Component kComponents[] = {
    gh::describe<Orthogonal>("orthogonal", "plus and minus an orthonormal basis: 2d points"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The structure of the paper's two-dimensional toy, in any dimension")
