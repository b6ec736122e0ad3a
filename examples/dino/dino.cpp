// DINO (Caron et al., ICCV 2021): crops of any size predict what a momentum twin says of the two
// large ones; the twin's outputs are centred and sharpened, so that neither one column nor all of
// them win.
#include "gh/component.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/multi_crop.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/parts/twin.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <optional>

namespace {

class Dino final : public gh::parts::OnlineMethod {
 public:
  explicit Dino(const gh::Params& params)
      : OnlineMethod({.widths = {params.integer("hidden"), params.integer("outputs")}}),
        temperature_(params.real("temperature")),
        sharpness_(params.real("twin_temperature")),
        centring_(params.real("centring")),
        momentum_(params.real("momentum")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_crops(facts, out);
  }
  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    twin_.emplace(host, network(), network_spec(), gh::parts::TwinSpec{.momentum = momentum_});
    add("twin", twin_->network(), gh::parts::Role::followed);
    centre_ = at::zeros({embedding_width()},
                        at::TensorOptions(host.facts().dtype).device(host.facts().device));
  }

  void step(const gh::Batch& batch, gh::Step& step) override {
    const std::vector<at::Tensor> z = gh::parts::embed_crops(network(), batch.views);
    const auto targets = twins_say(batch.views.first(2));
    at::Tensor loss = at::zeros({}, z[0].options().requires_grad(false));
    double pairs = 0;
    for (std::size_t v = 0; v < z.size(); ++v)
      for (std::size_t t = 0; t < 2; ++t) {
        if (v == t) continue;
        loss = loss - (targets[t] * at::log_softmax(z[v] / temperature_, 1)).sum(1).mean();
        ++pairs;
      }
    learn(step, loss / pairs, z[0], z[1]);
  }
  void after_update(gh::Host& host) override { twin_->follow(host.progress()); }
  void visit_state(gh::State& state) override {
    OnlineMethod::visit_state(state);
    state.tensor("centre", centre_);
  }

 private:
  // Targets [B, outputs] of the two large crops. The centre follows the mean over all ranks, and
  // only after it was used.
  std::vector<at::Tensor> twins_say(std::span<const at::Tensor> views) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> targets;
    at::Tensor sum = at::zeros_like(centre_);
    for (const at::Tensor& y : gh::parts::embed_crops(*twin_->network(), views)) {
      targets.push_back(at::softmax((y - centre_) / sharpness_, 1));
      sum = sum + y.mean(0) / 2;
    }
    centre_.lerp_(host().all_reduce_sum(sum) / host().facts().world, 1 - centring_);
    return targets;
  }

  double temperature_, sharpness_, centring_, momentum_;
  std::optional<gh::parts::Twin> twin_;
  at::Tensor centre_;  // [outputs]
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.1", "softmax temperature of the predictions").above(0),
    gh::real("twin_temperature", "0.04", "and of the twin's outputs").above(0),
    gh::real("centring", "0.9", "momentum of the centre").at_least(0).at_most(1),
    gh::parts::twin_momentum_param("0.996"),
    gh::parts::hidden_param("256", "width inside the head; 0: that of the features"),
    gh::parts::width_param("outputs", "64", "columns that crops and twin agree on"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Dino>("dino", "DINO: crops predict a centred, sharpened twin", kParams)
        .with_facts({.paper = "Caron et al., ICCV 2021",
                     .views = "2 of one size, and any number of further ones",
                     .state = "encoder, projector, twin, centre",
                     .ranks = "the centre: the mean of all ranks"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "DINO (Caron et al., ICCV 2021) with centring and multi-crop")
