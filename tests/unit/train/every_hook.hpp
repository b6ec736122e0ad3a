// A method that uses every hook of gh::SslMethod and every service of gh::Host, with little to
// learn: three stages, one of them without an epoch and one on a part of the samples; a twin that
// follows by momentum; a first pass whose gradients are thrown away; two losses; a queue, centres
// and losses of all samples as state.
#pragma once

#include "gh/allocator.hpp"
#include "gh/backbone.hpp"
#include "gh/ssl.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gh::test {

// One linear layer with batch normalisation.
class SmallEncoder final : public Encoder {
 public:
  SmallEncoder(LayerFactory& layers, int64_t in, Random random) {
    linear_ = add_child("linear", layers.linear({.in = in, .out = kWidth}, random));
    norm_ = add_child("norm", layers.normalization({.channels = kWidth}));
  }
  at::Tensor forward(const at::Tensor& x) override {
    return norm_->forward(linear_->forward(x.flatten(1)));
  }
  int64_t features() const override { return kWidth; }
  static constexpr int64_t kWidth = 6;

 private:
  std::shared_ptr<Layer> linear_;
  std::shared_ptr<Normalization> norm_;
};

class SmallBackbone final : public Backbone {
 public:
  std::shared_ptr<Encoder> make(const BackboneRequest& request) const override {
    int64_t in = 1;
    for (const int64_t side : request.sample_shape) in *= side;
    return std::make_shared<SmallEncoder>(*request.layers, in, request.random);
  }
};

// Softer than argmax, and pulled towards what it was fitted to.
class FittedAllocator final : public Allocator {
 public:
  at::Tensor assign(const AssignRequest& request, AssignReport& report) override {
    report.scalar("residual", 0.25);
    const at::Tensor logits = request.logits * 5;
    return at::softmax(fitted_.defined() ? logits + fitted_.to(logits) : logits, 1).detach();
  }
  int64_t fit_every() const override { return 1; }
  at::Tensor fit(const FitRequest& request, AssignReport&) override {
    fitted_ = request.embeddings.to(at::kDouble).mm(request.points.t()).mean(0);
    return {};
  }
  void visit_state(State& state) override { state.tensor("fitted", fitted_); }

 private:
  at::Tensor fitted_;
};

class EveryHook final : public SslMethod {
 public:
  // Told of each hook as it is called.
  explicit EveryHook(std::function<void(const std::string& hook)> seen) : seen_(std::move(seen)) {}

  void check(const RunFacts&, Complaints&) const override {}
  void plan_stages(const RunFacts&, Stages& out) const override {
    out.add("whole", 2);
    out.add("between", 0);
    out.add("part", 2);
  }
  void build(Host& host) override {
    host_ = &host;
    encoder_ = host.make_backbone("online", nullptr);
    twin_ = host.make_backbone("twin", nullptr);
    twin_->copy_from(*encoder_);
    twin_->requires_grad(false);
    Random random = host.random("head");
    head_ = host.layers().linear({.in = kWidth, .out = kWidth}, random);
    head_->to(host.facts().device, host.facts().dtype);
    queue_ = at::zeros({kQueue, kWidth});
    losses_ = at::zeros({host.facts().samples});
  }
  int64_t embedding_width() const override { return kWidth; }

  void begin_stage(Host& host) override {
    seen_("begin_stage");
    stage_ = host.progress().stage;
  }
  at::Tensor stage_samples() const override { return stage_ == "part" ? chosen_ : at::Tensor(); }
  void trainable(Trainables& out) override {
    add_all(out, *encoder_);
    for (const NamedTensor& p : head_->parameters()) out.add(p.tensor, Policy::fixed_rate, 0.5);
  }
  void end_stage(Host& host) override {
    seen_("end_stage");
    if (stage_ != "between") return;
    // The half of the samples whose first feature is largest.
    const at::Tensor first = whole_set(host, "plain").select(1, 0);
    chosen_ = std::get<0>(first.argsort(-1, true).narrow(0, 0, first.size(0) / 2).sort());
  }
  void begin_epoch(Host& host) override {
    seen_("begin_epoch");
    centre_ = whole_set(host, "train").mean(0);
  }
  void end_epoch(Host& host) override {
    seen_("end_epoch");
    host.publish_per_sample("strength", losses_ / losses_.max().clamp_min(1e-6));
    host.picture("centre", "of this epoch", "image/png", std::string("\0png", 4));
  }

  void step(const Batch& batch, Step& step) override {
    seen_("step");
    // Up the gradient, and the gradient from there.
    step.backward(loss_of(batch.views[0], batch.views[1]).mean());
    step.reduce_gradients();
    std::vector<std::pair<at::Tensor, at::Tensor>> moved;
    {
      const at::NoGradGuard no_grad;
      for (const NamedTensor& p : encoder_->parameters()) {
        moved.emplace_back(p.tensor, p.tensor.clone());
        p.tensor.add_(p.tensor.grad(), 0.01);
      }
    }
    step.discard_gradients();
    const at::Tensor losses = loss_of(batch.views[0], batch.views[1]);
    step.backward(losses.mean());
    const at::Tensor z1 = encoder_->forward(batch.views[0]), z2 = encoder_->forward(batch.views[1]);
    const at::Tensor p1 = step.project(z1), p2 = step.project(z2);
    step.backward((p1 - p2).square().mean() + step.harmonize(z1, z2) +
                  step.harmonize(z2, z1, {.track = 0}));
    remember(batch, losses.detach());
    const at::NoGradGuard no_grad;
    for (auto& [tensor, was] : moved) tensor.copy_(was);
  }
  void before_update(Host& host) override {
    seen_("before_update");
    for (const NamedTensor& p : head_->parameters())
      if (host.progress().step % 2 == 1) p.tensor.mutable_grad().reset();  // left alone
  }
  void after_update(Host& host) override {
    const at::NoGradGuard no_grad;
    const auto own = encoder_->parameters(), twins = twin_->parameters();
    for (std::size_t i = 0; i < own.size(); ++i) twins[i].tensor.mul_(0.9).add_(own[i].tensor, 0.1);
    host.log("queue_norm", queue_.norm().item<double>());
    host.log_tensor("centre_norm", centre_.norm());
    seen_("after_update");
  }

  void train(bool on) override {
    for (Layer* each : {static_cast<Layer*>(encoder_.get()), static_cast<Layer*>(twin_.get())})
      each->train(on);
  }
  std::shared_ptr<Encoder> encoder() override { return encoder_; }
  at::Tensor embed(const at::Tensor& x) override { return encoder_->forward(x); }
  void visit_state(State& state) override {
    encoder_->visit_state(state, "encoder");
    twin_->visit_state(state, "twin");
    head_->visit_state(state, "head");
    state.tensor("queue", queue_);
    state.integer("pointer", pointer_);
    state.tensor("losses", losses_);
    state.tensor("centre", centre_);
    state.tensor("chosen", chosen_);
    state.real("last", last_);
    state.text("stage_of_last", stage_of_last_);
  }

  at::Tensor chosen() const { return chosen_; }

 private:
  static constexpr int64_t kWidth = SmallEncoder::kWidth, kQueue = 10;

  at::Tensor whole_set(Host& host, std::string_view views) {
    return host.embed_all(views, [&](const at::Tensor& x) {
      seen_("embed_all");
      return encoder_->forward(x);
    });
  }

  // Of each sample: keyed noise, noise of LibTorch's own generator, keys whose statistics come from
  // rows of other ranks, and the queue.
  at::Tensor loss_of(const at::Tensor& x1, const at::Tensor& x2) {
    at::Tensor keys;
    {
      const at::NoGradGuard no_grad;
      keys = host_->unshuffle_rows(twin_->forward(host_->shuffle_rows(x2)));
    }
    at::Tensor noise = at::empty({kWidth});
    host_->random("noise").fill_normal(noise, 0, 0.01);
    const at::Tensor q = head_->forward(encoder_->forward(x1)) + noise + 0.01 * at::rand({kWidth});
    const at::Tensor mean = host_->all_reduce_sum(q.mean(0)) / host_->facts().world;
    return (q - keys).square().mean(1) + 0.1 * (q - mean).square().mean(1) +
           0.1 * q.mm(queue_.t()).square().mean(1) + 0.1 * (q - centre_).square().mean(1);
  }

  // What all ranks saw, in their order.
  void remember(const Batch& batch, const at::Tensor& losses) {
    const at::NoGradGuard no_grad;
    losses_.index_copy_(0, host_->all_gather(batch.indices), host_->all_gather(losses));
    const at::Tensor keys = host_->all_gather(twin_->forward(batch.views[1]));
    for (int64_t i = 0; i < keys.size(0); ++i, pointer_ = (pointer_ + 1) % kQueue)
      queue_[pointer_].copy_(keys[i]);
    last_ = losses_.sum().item<double>();
    stage_of_last_ = stage_;
  }

  std::function<void(const std::string&)> seen_;
  Host* host_ = nullptr;
  std::shared_ptr<Encoder> encoder_, twin_;
  std::shared_ptr<Layer> head_;
  at::Tensor queue_, losses_, centre_, chosen_;
  int64_t pointer_ = 0;
  double last_ = 0;
  std::string stage_, stage_of_last_;
};

}  // namespace gh::test
