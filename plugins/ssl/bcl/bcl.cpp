// BCL (Zhou et al. 2022): samples whose contrastive loss stays high over the epochs get stronger
// views; on SimCLR's base (BCL-I), and on that of a dense and a pruned branch (BCL-D).
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/loss_memory.hpp"
#include "gh/parts/two_branches.hpp"
#include "gh/two_view.hpp"

#include <algorithm>

namespace {

constexpr const char* kStrength = "strength";  // what the views read

// What both have beside their base: the memory, and the weights made of it.
template <class Base>
class Boosted : public Base {
 public:
  template <class... Arguments>
  explicit Boosted(const gh::Params& params, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...),
        memory_(params.real("momentum")),
        temperature_(params.real("temperature")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    Base::check(facts, out);
    gh::parts::require_two_samples(facts, out, "NT-Xent needs negatives");
    if (std::ranges::find(facts.per_sample, kStrength) == facts.per_sample.end())
      out.add(".views",
              "no view has a boost, so the strength of samples would reach none: take the preset "
              "bcl-32 or bcl-224, or add boost to a group");
  }
  void build(gh::Host& host) override {
    Base::build(host);
    memory_.make(host.facts());
  }
  void end_epoch(gh::Host& host) override { host.publish_per_sample(kStrength, memory_.weights()); }
  void visit_state(gh::State& state) override {
    Base::visit_state(state);
    memory_.visit_state(state, "memory");
  }

 protected:
  at::Tensor nt_xent(const at::Tensor& z1, const at::Tensor& z2) {
    return gh::parts::nt_xent(this->host(), z1, z2, {.temperature = temperature_});
  }
  // The mean, after a look at each sample's loss.
  at::Tensor remembered(const gh::Batch& batch, const at::Tensor& losses) {
    memory_.see(this->host(), batch.indices, losses);
    return losses.mean();
  }

 private:
  gh::parts::LossMemory memory_;
  double temperature_;
};

class BclI final : public Boosted<gh::TwoViewMethod> {
 public:
  explicit BclI(const gh::Params& params) : Boosted(params, params) {}

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override { return nt_xent(z1, z2); }
  at::Tensor loss(const gh::Batch& batch, gh::Step& step, const at::Tensor& z1,
                  const at::Tensor& z2) override {
    return remembered(batch, losses(step.project(z1), step.project(z2)));
  }
};

class BclD final : public Boosted<gh::parts::TwoBranches> {
 public:
  explicit BclD(const gh::Params& params)
      : Boosted(params, gh::projector_of(params), params.real("prune")) {}

  // The dense branch's loss is remembered.
  at::Tensor loss(const gh::Batch& batch, const at::Tensor& z1, const at::Tensor& z2,
                  bool dense) override {
    const at::Tensor losses = nt_xent(z1, z2);
    return dense ? remembered(batch, losses) : losses.mean();
  }
};

#define BCL_PARAMS                                                                            \
  gh::real("momentum", "0.97", "of each sample's loss").at_least(0).below(1).in("per epoch"), \
      GH_NT_XENT_PARAMS

constexpr gh::Param kBclIParams[] = {BCL_PARAMS};
constexpr gh::Param kBclDParams[] = {
    gh::parts::prune_param(),
    BCL_PARAMS,
};

constexpr gh::ComponentFacts kFacts = {
    .paper = "Zhou et al., ICML 2022",
    .views = "2, boosted by \"strength\"",
    .state = "encoder, projector, memory",
    .ranks = "embeddings: negatives are those of all ranks; every rank remembers all losses"};

constexpr gh::Component kComponents[] = {
    gh::describe<BclI>("bcl", "BCL-I: SimCLR with views boosted by the memory of losses",
                       kBclIParams)
        .with_facts(kFacts),
    gh::describe<BclD>("bcl_d", "BCL-D: dense and pruned branch with boosted views", kBclDParams)
        .with_facts(kFacts),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "BCL (Zhou et al., ICML 2022): boosted contrastive learning")
