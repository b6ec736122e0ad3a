// Base of methods with one online network and whatever stands beside it. It answers what the host
// asks of every network (mode, state, optimiser), sees whether the method learns, and leaves step()
// to the method:
//
//   void build(gh::Host& host) override {
//     OnlineMethod::build(host);
//     predictor_ = add("predictor", parts::make_head(host, …), parts::Role::fixed_rate);
//   }
#pragma once

#include "gh/parts/learning_watch.hpp"
#include "gh/parts/network.hpp"
#include "gh/ssl.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gh::parts {

enum class Role {
  trained,
  fixed_rate,  // trained at a learning rate that ignores the schedule
  followed     // not trained by the optimiser, but in train mode with the rest
};

inline void require_two_views(const RunFacts& facts, Complaints& out) {
  if (facts.view_shapes.size() != 2)
    out.add(".views", "this method takes exactly two views, the recipe gives " +
                          std::to_string(facts.view_shapes.size()));
}
// `why`: what needs more than one sample, as the beginning of a sentence.
inline void require_two_samples(const RunFacts& facts, Complaints& out, const std::string& why) {
  if (facts.batch / facts.accumulate < 2)
    out.add(".train.batch",
            why + ": at least 2 samples a step, and in each part of one (train.accumulate)");
}

class OnlineMethod : public SslMethod {
 public:
  // `advice`: see LearningWatch.
  explicit OnlineMethod(HeadSpec projector, std::string advice = kGeneralAdvice)
      : watch_(std::move(advice)) {
    spec_.head = std::move(projector);
  }

  void build(Host& host) override {
    host_ = &host;
    spec_.encoder_layers = encoder_layers(host);
    spec_.head_layers = head_layers(host);
    network_ = std::make_shared<Network>(host, spec_);
    owned_.clear();
    add("encoder", network_->encoder(), Role::trained);
    if (network_->projector()) add("projector", network_->projector(), Role::trained);
  }
  int64_t embedding_width() const override { return network_->width(); }

  void trainable(Trainables& out) override {
    for (const Owned& o : owned_) {
      if (o.role == Role::trained) add_all(out, *o.module);
      if (o.role == Role::fixed_rate)
        for (const NamedTensor& p : o.module->parameters())
          out.add(p.tensor, Policy::fixed_rate, 1.0);
    }
  }
  void train(bool on) override {
    for (const Owned& o : owned_) o.module->train(on);
  }
  void visit_state(State& state) override {
    for (const Owned& o : owned_) o.module->visit_state(state, o.name);
  }
  std::shared_ptr<Encoder> encoder() override { return network_->encoder(); }
  at::Tensor embed(const at::Tensor& x) override { return network_->forward(x); }

 protected:
  static constexpr const char* kGeneralAdvice =
      "A lower learning rate, a longer warm-up of it, larger batches or stronger views may help";

  Host& host() const { return *host_; }
  Network& network() const { return *network_; }
  const NetworkSpec& network_spec() const { return spec_; }  // for twins and experts

  // Factories of the method's own, which outlive it; null: the host's.
  virtual LayerFactory* encoder_layers(Host&) { return nullptr; }
  virtual LayerFactory* head_layers(Host&) { return nullptr; }

  // From build(): a further module to be saved, set to a mode and perhaps trained.
  template <class M>
  std::shared_ptr<M> add(std::string name, std::shared_ptr<M> module, Role role) {
    owned_.push_back({std::move(name), module, role});
    return module;
  }

  // For a trainable() of the method's own.
  std::vector<std::shared_ptr<Module>> trained_modules() const {
    std::vector<std::shared_ptr<Module>> out;
    for (const Owned& o : owned_)
      if (o.role != Role::followed) out.push_back(o.module);
    return out;
  }

  // The end of a step: GH's term, the backward pass, and what is logged. `base` is a scalar; GH
  // sees embeddings [B, embedding_width()].
  void learn(Step& step, const at::Tensor& base, const at::Tensor& z1, const at::Tensor& z2) {
    step.backward(base + step.harmonize(z1, z2));
    watch_.see(*host_, base, z1, z2);
  }

 private:
  struct Owned {
    std::string name;
    std::shared_ptr<Module> module;
    Role role;
  };

  NetworkSpec spec_;
  LearningWatch watch_;
  Host* host_ = nullptr;
  std::shared_ptr<Network> network_;
  std::vector<Owned> owned_;
};

}  // namespace gh::parts
