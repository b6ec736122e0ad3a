// SDCLR (Jiang et al. 2021): NT-Xent between a dense and a pruned branch of one network. What the
// network has learnt weakly, the tail, is what pruning takes away, so that it is seen more.
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/two_branches.hpp"
#include "gh/two_view.hpp"

namespace {

class Sdclr final : public gh::parts::TwoBranches {
 public:
  explicit Sdclr(const gh::Params& params)
      : TwoBranches(gh::projector_of(params), params.real("prune")),
        temperature_(params.real("temperature")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoBranches::check(facts, out);
    gh::parts::require_two_samples(facts, out, "NT-Xent needs negatives");
  }

  at::Tensor loss(const gh::Batch&, const at::Tensor& z1, const at::Tensor& z2, bool) override {
    return gh::parts::nt_xent(host(), z1, z2, {.temperature = temperature_}).mean();
  }

 private:
  double temperature_;
};

constexpr gh::Param kParams[] = {
    gh::parts::prune_param(),
    GH_NT_XENT_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Sdclr>("sdclr", "SDCLR: NT-Xent between a dense and a pruned branch", kParams)
        .with_facts({.paper = "Jiang et al., ICML 2021",
                     .views = "2",
                     .state = "encoder, projector",
                     .ranks = "embeddings: negatives are those of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "SDCLR (Jiang et al., ICML 2021): self-damaging contrastive learning")
