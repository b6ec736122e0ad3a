// SimCLR (Chen et al. 2020): two views, NT-Xent over all other samples of the global batch; and
// with the factor of the focal loss (Lin et al. 2017).
#include "gh/component.hpp"
#include "gh/rows.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/logsumexp.h>

#include <limits>

namespace {

class Simclr : public gh::TwoViewMethod {
 public:
  explicit Simclr(const gh::Params& params)
      : TwoViewMethod(params), temperature_(params.real("temperature")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    if (facts.batch / facts.accumulate < 2)
      out.add(".train.batch",
              "NT-Xent needs negatives: at least 2 samples a step, and in each part of one "
              "(train.accumulate)");
  }

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) final {
    return anchor_losses(odds_against(z1, z2)).view({2, z1.size(0)}).mean(0);
  }

 protected:
  // Of log((1 − p)/p), [2B]. In this form neither p → 0 nor p → 1 cancels: −log p is
  // −log_sigmoid(−odds), log(1 − p) is log_sigmoid(odds).
  virtual at::Tensor anchor_losses(const at::Tensor& odds) const { return -at::log_sigmoid(-odds); }

 private:
  at::Tensor odds_against(const at::Tensor& z1, const at::Tensor& z2) const {
    const at::Tensor a = gh::unit_rows(z1);
    const at::Tensor b = gh::unit_rows(z2);
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
    const at::Tensor negatives = similarity.scatter(1, at::cat({self, partner}, 1), none);
    return at::logsumexp(negatives, 1) - similarity.gather(1, partner).squeeze(1);
  }

  double temperature_;
};

// −(1 − p)^exponent · log p; the gradient passes through the factor, too.
class Focal final : public Simclr {
 public:
  explicit Focal(const gh::Params& params) : Simclr(params), exponent_(params.real("exponent")) {}

 private:
  at::Tensor anchor_losses(const at::Tensor& odds) const override {
    return (exponent_ * at::log_sigmoid(odds)).exp() * Simclr::anchor_losses(odds);
  }

  double exponent_;
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
