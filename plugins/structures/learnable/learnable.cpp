// Prototypes that are trained along with the network, from random directions: what the paper
// calls "w/o GUS".
#include "gh/component.hpp"
#include "gh/frames.hpp"

#include <ATen/ops/empty.h>

namespace {

class Learnable final : public gh::Structure {
 public:
  explicit Learnable(const gh::Params& params) : points_(params.integer("points")) {}

  at::Tensor points(int64_t width, gh::Random random) const override {
    const at::Tensor out = at::empty({points_, width}, at::kDouble);
    random.fill_normal(out, 0, 1);
    return out / out.norm(2, {1}, true);
  }

  bool learnable() const override { return true; }

 private:
  int64_t points_;
};

constexpr gh::Param kParams[] = {
    gh::points_param("100", "number of prototypes K"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Learnable>("learnable", "prototypes trained along, from random directions",
                            kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The ablation without a geometric uniform structure: its points are learned")
