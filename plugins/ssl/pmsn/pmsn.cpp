// PMSN (Assran et al. 2023): every view predicts to which prototypes a moving average of the network
// assigns the other large view; over a batch, prototypes are used as a power law says, since that is
// how long-tailed data are.
#include "gh/component.hpp"
#include "gh/ops/sinkhorn.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/multi_crop.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/parts/twin.hpp"
#include "gh/parts/unit_prototypes.hpp"
#include "gh/rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <span>
#include <vector>

namespace {

using gh::unit_rows;
using gh::parts::HeadSpec;

constexpr std::size_t kTargetViews = 2;

HeadSpec projector(const gh::Params& params) {
  if (params.text("projector") == "none") return {};
  const int64_t hidden = params.integer("hidden");
  return {.widths = {hidden, hidden, params.integer("embedding")}, .hidden_bias = false};
}

// KL(p ‖ q) of shares [K]; one that is too small for a number stands for 1e-30.
at::Tensor divergence(const at::Tensor& p, const at::Tensor& q) {
  return (p * (p.clamp_min(1e-30).log() - q.clamp_min(1e-30).log())).sum();
}

class Pmsn final : public gh::parts::OnlineMethod {
 public:
  explicit Pmsn(const gh::Params& params)
      : OnlineMethod(projector(params),
                     "A smaller sharpening, a larger weight of the prior, more Sinkhorn iterations "
                     "or fewer prototypes may help"),
        temperature_(params.real("temperature")),
        sharpening_(params.real("sharpening")),
        iterations_(params.integer("iterations")),
        prototype_count_(params.integer("prototypes")),
        exponent_(params.real("exponent")),
        weight_(params.real("weight")),
        prior_first_(params.text("kl_first") == "prior"),
        momentum_(params.real("momentum")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_crops(facts, out);
  }

  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    prototypes_.make(host, prototype_count_, embedding_width(), /*frozen_steps=*/0);
    twin_.emplace(host, network(), network_spec(), gh::parts::TwinSpec{.momentum = momentum_});
    add("twin", twin_->network(), gh::parts::Role::followed);
    const at::TensorOptions options = prototypes_.points().options();
    const at::Tensor law = at::arange(1, prototype_count_ + 1, options).pow(-exponent_);
    prior_ = law / law.sum();
  }
  void trainable(gh::Trainables& out) override {
    OnlineMethod::trainable(out);
    prototypes_.trainable(out);
  }

  // Mean over all views of the cross-entropy, and how far their mean is from the power law.
  void step(const gh::Batch& batch, gh::Step& step) override {
    const std::vector<at::Tensor> target = targets(batch.views.first(kTargetViews));
    const std::vector<at::Tensor> z = gh::parts::embed_crops(network(), batch.views);
    const double views = static_cast<double>(z.size());
    at::Tensor cross_entropy = at::zeros({}, prior_.options()), share = at::zeros_like(prior_);
    for (std::size_t v = 0; v < z.size(); ++v) {
      const at::Tensor log_p = at::log_softmax(scores(z[v]) / temperature_, 1);
      const at::Tensor& other = v < kTargetViews ? target[1 - v] : target[kTargetViews];
      cross_entropy = cross_entropy - (other * log_p).sum(1).mean() / views;
      share = share + log_p.exp().mean(0) / views;
    }
    share = host().all_reduce_sum(share) / host().facts().world;
    const at::Tensor prior = prior_first_ ? divergence(prior_, share) : divergence(share, prior_);
    learn(step, cross_entropy + weight_ * prior, z[0], z[1]);
    host().log_tensor("loss_prior", prior.detach());
  }

  void after_update(gh::Host& host) override {
    prototypes_.after_update(host.progress());
    host.log("twin_momentum", twin_->momentum(host.progress()));
    twin_->follow(host.progress());
  }

  void visit_state(gh::State& state) override {
    OnlineMethod::visit_state(state);
    prototypes_.visit_state(state, "prototypes");
  }

 private:
  // Cosines [B, K]. Prototypes are of unit length between steps; gradients are to know it.
  at::Tensor scores(const at::Tensor& z) const {
    return unit_rows(z).matmul(unit_rows(prototypes_.points()).t());
  }

  // What the twin assigns this rank's rows of both large views to, [B, K], and the mean of the two,
  // for views that are neither. Sharpening p^(1/T) of a softmax is a lower temperature.
  std::vector<at::Tensor> targets(std::span<const at::Tensor> views) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> out;
    for (const at::Tensor& z : gh::parts::embed_crops(*twin_->network(), views)) {
      const at::Tensor log_p = at::log_softmax(scores(z) / (temperature_ * sharpening_), 1);
      if (iterations_ == 0) {
        out.push_back(log_p.exp());
        continue;
      }
      const gh::ops::SinkhornProblem all[] = {{host().all_gather(log_p), {}}};
      const auto solved = gh::ops::sinkhorn(all, {.epsilon = 1, .iterations = iterations_});
      out.push_back(solved[0].targets.narrow(0, host().facts().rank * z.size(0), z.size(0)));
    }
    out.push_back((out[0] + out[1]) / 2);
    return out;
  }

  double temperature_, sharpening_;
  int64_t iterations_, prototype_count_;
  double exponent_, weight_;
  bool prior_first_;
  double momentum_;
  gh::parts::UnitPrototypes prototypes_;
  std::optional<gh::parts::Twin> twin_;
  at::Tensor prior_;  // [K]
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.1", "softmax temperature of views and targets").above(0),
    gh::real("sharpening", "0.25", "targets are sharpened to the power of 1/sharpening").above(0),
    gh::integer("iterations", "3", "of Sinkhorn on targets, to an even use of prototypes; 0: none")
        .at_least(0)
        .at_most(100000),
    gh::integer("prototypes", "1024", "points that samples are assigned to")
        .at_least(2)
        .at_most(1048576),
    gh::real("exponent", "0.25",
             "of the power law that prototypes are to be used by; 0: evenly, which is MSN")
        .at_least(0),
    gh::real("weight", "1.0", "of the divergence between their use and the power law").at_least(0),
    gh::choice("kl_first", "mean", "mean|prior",
               "direction of the divergence: KL(mean prediction || power law), or the other way "
               "round"),
    gh::parts::twin_momentum_param("0.996"),
    gh::parts::projector_param(
        "head between backbone and loss: three linear layers with BN and ReLU between; or nothing"),
    gh::parts::hidden_param("2048", "width inside the projector; 0: that of the features"),
    gh::parts::width_param("embedding", "256", "width of the projector's output"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<Pmsn>("pmsn", "PMSN: views predict a twin's prototypes, used by a power law",
                       kParams)
        .with_facts({.paper = "Assran et al., ICLR 2023",
                     .views = "2 of one size, and any number of further ones of any size",
                     .state = "encoder, projector, twin, prototypes",
                     .ranks = "assignments of all ranks' rows, and the mean of their predictions"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc =
              "PMSN (Assran et al., ICLR 2023): moving-average targets over prototypes, whose "
              "use follows a power law")
