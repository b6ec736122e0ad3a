// Base for methods of two views through one encoder and projector. A new method overrides losses():
//
//   class Simclr : public gh::TwoViewMethod {
//     using TwoViewMethod::TwoViewMethod;
//     at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override { … }   // [B]
//   };
//
// and lists gh::kProjectorParams among its parameters. Compiled into the plugin, so it may change
// between minors.
#pragma once

#include "gh/ssl.hpp"
#include "gh/tensor.hpp"

#include <memory>
#include <string_view>

namespace gh {
inline namespace v1 {

// Splice into a method's own parameters: {GH_PROJECTOR_PARAMS, gh::real("temperature", …)}.
#define GH_PROJECTOR_PARAMS                                                                     \
  gh::choice(                                                                                   \
      "projector", "mlp", "mlp|none",                                                           \
      "head between backbone and loss: linear, BN, ReLU, linear without bias, BN; or nothing"), \
      gh::integer("embedding", "128",                                                           \
                  "width of the projector's output; unused with projector = \"none\"")          \
          .at_least(1)                                                                          \
          .at_most(65536)

class TwoViewMethod : public SslMethod {
 public:
  explicit TwoViewMethod(const Params& params)
      : has_projector_(params.text("projector") == "mlp"),
        embedding_(params.integer("embedding")) {}

  // Loss of each sample, [B]; z1 and z2 are [B, width], not normalised, or what GH makes of them.
  virtual at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) = 0;

  void check(const RunFacts& facts, Complaints& out) const override {
    if (facts.view_shapes.size() != 2)
      out.add(".views", "this method takes exactly two views, the recipe gives " +
                            std::to_string(facts.view_shapes.size()));
  }

  void build(Host& host) override {
    host_ = &host;
    encoder_ = host.make_backbone("encoder", nullptr);
    if (!has_projector_) return;
    Random random = host.random("projector");
    const int64_t width = encoder_->features();
    projector_ = std::make_shared<Sequential>();
    projector_->then(host.layers().linear({.in = width, .out = width}, random))
        .then(host.layers().normalization({.channels = width, .relu = true}))
        .then(host.layers().linear({.in = width, .out = embedding_, .bias = false}, random))
        .then(host.layers().normalization({.channels = embedding_}));
    projector_->to(host.facts().device, host.facts().dtype);
  }

  int64_t embedding_width() const override {
    return projector_ ? embedding_ : encoder_->features();
  }

  void trainable(Trainables& out) override {
    add_all(out, *encoder_);
    if (projector_) add_all(out, *projector_);
  }

  void step(const Batch& batch, Step& step) override {
    // Two forward calls, as the published GH code does: BN statistics are per view.
    const at::Tensor z1 = embed(batch.views[0]);
    const at::Tensor z2 = embed(batch.views[1]);
    const at::Tensor base = losses(step.project(z1), step.project(z2)).mean();
    host_->log_tensor("loss_base", base.detach());
    step.backward(base + step.harmonize(z1, z2));
  }

  void train(bool on) override {
    encoder_->train(on);
    if (projector_) projector_->train(on);
  }
  void* query(const char* interface_id) override {
    return std::string_view(interface_id) == kProjects ? this : SslMethod::query(interface_id);
  }
  std::shared_ptr<Encoder> encoder() override { return encoder_; }
  at::Tensor embed(const at::Tensor& x) override {
    const at::Tensor features = encoder_->forward(x);
    return projector_ ? projector_->forward(features) : features;
  }
  void visit_state(State& state) override {
    encoder_->visit_state(state, "encoder");
    if (projector_) projector_->visit_state(state, "projector");
  }

 protected:
  Host& host() const { return *host_; }

 private:
  bool has_projector_;
  int64_t embedding_;
  Host* host_ = nullptr;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Sequential> projector_;
};

}  // namespace v1
}  // namespace gh
