// What the architecture is worth: an encoder whose weights stay as they were drawn. Only running
// statistics of normalisation get used to the data.
#include "gh/component.hpp"
#include "gh/parts/online_method.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace {

class Untrained final : public gh::parts::OnlineMethod {
 public:
  explicit Untrained(const gh::Params&) : OnlineMethod({}, "Nothing trains it") {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_two_views(facts, out);
  }

  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    nothing_ = at::zeros({1}, at::TensorOptions(host.facts().device).dtype(host.facts().dtype));
    nothing_.set_requires_grad(true);
  }

  // A run trains something: a number that nobody reads, and that stays zero.
  void trainable(gh::Trainables& out) override { out.add(nothing_, gh::Policy::no_decay, 0.0); }

  void step(const gh::Batch& batch, gh::Step& step) override {
    at::Tensor z1, z2;
    {
      const at::NoGradGuard no_grad;
      z1 = embed(batch.views[0]);
      z2 = embed(batch.views[1]);
    }
    learn(step, nothing_.square().sum(), z1, z2);
  }

  void visit_state(gh::State& state) override {
    OnlineMethod::visit_state(state);
    state.tensor("nothing", nothing_);
  }

 private:
  at::Tensor nothing_;
};

constexpr gh::Component kComponents[] = {
    gh::describe<Untrained>("random", "an untrained encoder: the reference below all methods")
        .with_facts(
            {.views = "2", .state = "encoder, nothing", .ranks = "nothing: no gradient flows"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "An encoder as it was drawn, for comparison with what training makes of it")
