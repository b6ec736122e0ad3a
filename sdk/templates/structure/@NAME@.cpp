// @NAME@: K points on the unit sphere. In the plane a regular polygon, elsewhere independent
// random directions.
//
// Where to change what:
//   points()       your arrangement, [K, width] float64 with unit rows: a pure function of
//                  parameters, width and random
//   best_cosine()  the best that is possible, if you know it; reports set it beside what points()
//                  reached
//   check()        refuses widths that cannot hold the points
//   kParams        what a recipe may set beside `id` in harmonize.structure
//
// Override learnable() to have the points trained along, with rows kept on the sphere.
#include "gh/component.hpp"

#include <ATen/ops/empty.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace {

class @CLASS@ final : public gh::Structure {
 public:
  explicit @CLASS@(const gh::Params& params) : points_(params.integer("points")) {}

  void check(int64_t width, gh::Complaints& out) const override {
    if (width < 2) out.add(".method", "points need an embedding of at least 2 dimensions");
  }

  at::Tensor points(int64_t width, gh::Random random) const override {
    const at::Tensor out = at::empty({points_, width}, at::kDouble);
    random.fill_normal(out, 0, 1);
    if (width != 2) return out / out.norm(2, {1}, true);

    const double turn = 2 * std::numbers::pi;
    const double start = random.uniform(0, turn);
    double* row = out.data_ptr<double>();
    for (int64_t i = 0; i < points_; ++i) {
      row[2 * i] = std::cos(start + turn * i / points_);
      row[2 * i + 1] = std::sin(start + turn * i / points_);
    }
    return out;
  }

  double best_cosine(int64_t width) const override {
    if (points_ <= width + 1) return -1.0 / (points_ - 1.0);  // a simplex fits
    if (width == 2) return std::cos(2 * std::numbers::pi / points_);
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  int64_t points_;
};

constexpr gh::Param kParams[] = {
    gh::integer("points", "4", "number of points K").at_least(2).at_most(65536),
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "regular polygon in the plane, random directions elsewhere",
                          kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
