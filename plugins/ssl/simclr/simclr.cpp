// SimCLR (Chen et al. 2020): two views, NT-Xent over all other samples of the global batch; and
// with the factor of the focal loss (Lin et al. 2017).
#include "gh/component.hpp"
#include "gh/ops/contrastive.hpp"
#include "gh/rows.hpp"
#include "gh/two_view.hpp"

namespace {

class Simclr : public gh::TwoViewMethod {
 public:
  explicit Simclr(const gh::Params& params, double exponent = 0)
      : TwoViewMethod(params),
        options_{.temperature = params.real("temperature"), .exponent = exponent} {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    if (facts.batch / facts.accumulate < 2)
      out.add(".train.batch",
              "NT-Xent needs negatives: at least 2 samples a step, and in each part of one "
              "(train.accumulate)");
  }

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) final {
    const at::Tensor a = points(z1), b = points(z2);
    const gh::RunFacts& facts = host().facts();
    if (facts.world == 1) return gh::ops::nt_xent(a, b, options_);
    return gh::ops::nt_xent(a, b, host().all_gather(a), host().all_gather(b),
                            facts.rank * a.size(0), options_);
  }

 private:
  // Autocast's short numbers are too coarse for odds.
  static at::Tensor points(const at::Tensor& z) {
    return gh::unit_rows(z.scalar_type() == at::kDouble ? z : z.to(at::kFloat));
  }

  gh::ops::ContrastiveOptions options_;
};

// −(1 − p)^exponent · log p; the gradient passes through the factor, too.
class Focal final : public Simclr {
 public:
  explicit Focal(const gh::Params& params) : Simclr(params, params.real("exponent")) {}
};

#define NT_XENT_PARAMS \
  gh::real("temperature", "0.2", "softmax temperature of NT-Xent").above(0), GH_PROJECTOR_PARAMS

constexpr gh::Param kSimclrParams[] = {NT_XENT_PARAMS};
constexpr gh::Param kFocalParams[] = {
    gh::real("exponent", "2.0", "exponent of the factor 1 - p").at_least(0),
    NT_XENT_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Simclr>("simclr", "SimCLR: NT-Xent between two views of each sample",
                         kSimclrParams),
    gh::describe<Focal>(
        "focal", "SimCLR with the focal loss: anchors already told apart count less", kFocalParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc =
              "SimCLR (Chen et al., ICML 2020), the base method of Geometric Harmonization, and "
              "its focal form")
