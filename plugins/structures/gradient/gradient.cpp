// Points for any K, meant for K > d+1, where no closed form is at hand: gradient descent on the
// paper's potential, from a random start, with unit rows and zero sum.
#include "points_cache.hpp"
#include "search.hpp"

#include "gh/component.hpp"
#include "gh/digest.hpp"
#include "gh/frames.hpp"

#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <torch/version.h>

#include <bit>
#include <span>
#include <string>

namespace {

class Gradient final : public gh::Structure {
 public:
  explicit Gradient(const gh::Params& params)
      : points_(params.integer("points")), cache_(params.boolean("cache")) {
    plan_.form = params.text("objective") == "row" ? gradient::Form::row : gradient::Form::all;
    plan_.tau = params.real("tau");
    plan_.steps = params.integer("steps");
  }

  void check(int64_t width, gh::Complaints& out) const override {
    if (width < 2) out.add("points", "they need an embedding of at least 2 dimensions to move in");
  }

  at::Tensor points(int64_t width, gh::Random random) const override {
    gh::require(width >= 2, gh::ErrorCode::invalid_param,
                "points need at least 2 dimensions to move in, the embedding has ", width);
    const at::Tensor start = at::empty({points_, width}, at::kDouble);
    random.fill_normal(start, 0, 1);
    if (!cache_) return gradient::search(plan_, start);
    const gradient::PointsCache cache(key(start), points_, width);
    if (const auto known = cache.read()) return *known;
    const at::Tensor found = gradient::search(plan_, start);
    cache.write(found);
    return found;
  }

 private:
  // All that decides the numbers: the start stands for seed and shape, the library and the kind of
  // processor for rounding.
  std::string key(const at::Tensor& start) const {
    const auto number = [](auto value) { return std::to_string(value) + " "; };
    return gh::Digest()
        .add("gradient " + number(gradient::kAlgorithm) + number(points_) + number(start.size(1)))
        .add(number(static_cast<int>(plan_.form)) + number(std::bit_cast<uint64_t>(plan_.tau)))
        .add(number(plan_.steps) + TORCH_VERSION + " " + at::get_cpu_capability())
        .add(std::span(static_cast<const uint8_t*>(start.data_ptr()), start.nbytes()))
        .hex();
  }

  int64_t points_;
  bool cache_;
  gradient::SearchPlan plan_;
};

constexpr gh::Param kParams[] = {
    gh::points_param("200", "number of points K"),
    gh::choice("objective", "all", "all|row",
               "sum over all pairs (the paper) or mean of sums over rows (TSC)"),
    gh::real("tau", "0.002",
             "temperature at the end; the smaller, the more the largest cosine counts")
        .at_least(1e-6),
    gh::integer("steps", "500", "gradient steps").at_least(1).at_most(1000000),
    gh::boolean("cache", "true", "keep the points in ~/.cache/ghhost/structures"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Gradient>("gradient", "any number of points, spread by gradient descent", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The gradient-approximated structure of the paper for K above the embedding width")
