// A method without weights whose features are the pixels, for tests of what feeds methods.
#pragma once

#include "gh/backbone.hpp"
#include "gh/ssl.hpp"

#include <memory>

namespace gh::test {

class FlatEncoder final : public Encoder {
 public:
  explicit FlatEncoder(float bias = 0) : bias_(bias) {}
  at::Tensor forward(const at::Tensor& x) override { return x.flatten(1) + bias_; }
  int64_t features() const override { return 0; }

 private:
  float bias_;
};

class FlatBackbone final : public Backbone {
 public:
  std::shared_ptr<Encoder> make(const BackboneRequest&) const override {
    return std::make_shared<FlatEncoder>();
  }
};

class FlatMethod final : public SslMethod {
 public:
  bool training = true;
  float bias = 0;  // added to every feature
  void build(Host&) override {}
  int64_t embedding_width() const override { return 1; }
  void trainable(Trainables&) override {}
  void step(const Batch&, Step&) override {}
  void train(bool on) override { training = on; }
  std::shared_ptr<Encoder> encoder() override { return std::make_shared<FlatEncoder>(bias); }
  at::Tensor embed(const at::Tensor& x) override { return x.flatten(1).mean(1, true); }
  void visit_state(State&) override {}
};

}  // namespace gh::test
