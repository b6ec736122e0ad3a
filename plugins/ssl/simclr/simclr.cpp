// SimCLR (Chen et al. 2020): two views, NT-Xent over all other samples of the global batch.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/logsumexp.h>

#include <limits>

namespace {

at::Tensor unit_rows(const at::Tensor& x) { return x / x.norm(2, {1}, true).clamp_min(1e-12); }

class Simclr final : public gh::TwoViewMethod {
 public:
  explicit Simclr(const gh::Params& params)
      : TwoViewMethod(params), temperature_(params.real("temperature")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    if (facts.batch < 2)
      out.add(".train.batch", "NT-Xent needs negatives: at least 2 samples a step");
  }

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    const at::Tensor a = unit_rows(z1);
    const at::Tensor b = unit_rows(z2);
    const at::Tensor all_a = host().all_gather(a);
    const at::Tensor all_b = host().all_gather(b);
    const int64_t total = all_a.size(0);

    // Rows: this rank's anchors of both views. Columns: every sample of both views.
    const at::Tensor similarity =
        at::cat({a, b}).matmul(at::cat({all_a, all_b}).t()) / temperature_;
    const at::Tensor mine =
        at::arange(a.size(0), z1.options().dtype(at::kLong)) + host().facts().rank * a.size(0);
    const at::Tensor self = at::cat({mine, mine + total}).unsqueeze(1);
    const at::Tensor partner = at::cat({mine + total, mine}).unsqueeze(1);

    const double none = -std::numeric_limits<double>::infinity();
    const at::Tensor others = at::logsumexp(similarity.scatter(1, self, none), 1);
    const at::Tensor anchors = others - similarity.gather(1, partner).squeeze(1);
    return anchors.view({2, a.size(0)}).mean(0);
  }

 private:
  double temperature_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.2", "softmax temperature of NT-Xent").above(0),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Simclr>("simclr", "SimCLR: NT-Xent between two views of each sample", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "SimCLR (Chen et al., ICML 2020), the base method of Geometric Harmonization")
