// Base of methods that compare a dense branch, which sees view 1, with a pruned one, which sees
// view 2: two backward passes, of which each holds the graph of one branch. Needs libghops.
#pragma once

#include "gh/params.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/parts/pruned_branch.hpp"

#include <ATen/core/grad_mode.h>

#include <optional>
#include <string_view>

namespace gh::parts {

constexpr Param prune_param() {
  return real("prune", "0.9", "share of the encoder's weights that the pruned branch lacks")
      .at_least(0)
      .below(1);
}

class TwoBranches : public OnlineMethod, private EncoderLoader {
 public:
  // `pruned`: the share of weights that count as zero, prune_param().
  TwoBranches(HeadSpec projector, double pruned)
      : OnlineMethod(std::move(projector)), pruned_(pruned) {}

  // Scalar, a mean over own rows; one of the two is a constant. Embeddings [B, width], or what GH
  // makes of them. `dense` is true in the first of the two passes.
  virtual at::Tensor loss(const Batch& batch, const at::Tensor& z1, const at::Tensor& z2,
                          bool dense) = 0;

  void check(const RunFacts& facts, Complaints& out) const override {
    require_two_views(facts, out);
  }
  void build(Host& host) override {
    layers_.emplace(host);
    OnlineMethod::build(host);
    require(!layers_->prunable().empty(), ErrorCode::unsupported,
            "the backbone asked for no convolution and no linear layer, so there is nothing to "
            "prune");
  }

  void begin_epoch(Host& host) override {
    host.log("mask_density", prune_by_magnitude(layers_->prunable(), pruned_));
  }

  void step(const Batch& batch, Step& step) override {
    at::Tensor still2;
    {
      const at::NoGradGuard no_grad;
      still2 = embed_pruned(batch.views[1]);
    }
    const at::Tensor z1 = embed(batch.views[0]);
    learn(step, loss(batch, step.project(z1), step.project(still2), true), z1, still2);
    const at::Tensor still1 = z1.detach();
    const at::Tensor z2 = embed_pruned(batch.views[1]);
    const at::Tensor base = loss(batch, step.project(still1), step.project(z2), false);
    host().log_tensor("loss_pruned", base.detach());
    step.backward(base + step.harmonize(still1, z2, {.track = 0}));
  }

  // The dense branch in plain layers.
  std::shared_ptr<Encoder> clone_encoder(Host& host) override {
    auto copy = host.make_backbone("clone", nullptr);
    for_plain_tensors(*encoder(), *copy, "dense",
                      [](at::Tensor own, at::Tensor plain) { plain.copy_(own); });
    return copy;
  }
  void load_encoder(const Encoder& plain) override {
    for (const char* branch : {"dense", "pruned"})
      for_plain_tensors(*encoder(), plain, branch,
                        [](at::Tensor own, at::Tensor given) { own.copy_(given); });
  }
  void* query(const char* interface_id) override {
    const std::string_view id = interface_id;
    if (id == EncoderLoader::kId) return static_cast<EncoderLoader*>(this);
    return id == kProjects ? this : OnlineMethod::query(interface_id);
  }

 protected:
  LayerFactory* encoder_layers(Host&) override { return &layers_->encoder(); }
  LayerFactory* head_layers(Host&) override { return &layers_->head(); }

 private:
  at::Tensor embed_pruned(const at::Tensor& x) {
    const PrunedScope scope(layers_->branch());
    return embed(x);
  }

  double pruned_;
  std::optional<BranchLayers> layers_;
};

}  // namespace gh::parts
