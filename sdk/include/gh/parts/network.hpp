// An encoder and the head on it, as one module: one call each for state, mode, optimiser and twin.
//
//   parts::NetworkSpec spec;
//   spec.head = {.widths = {4096, 256}, .last_bias = false};   // BYOL's projector
//   network_ = std::make_shared<parts::Network>(host, spec);
//   at::Tensor z = network_->forward(x);
//
// All parts are compiled into the plugin that uses them, so they may change between minors.
#pragma once

#include "gh/host.hpp"
#include "gh/layers.hpp"
#include "gh/module.hpp"
#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gh::parts {

enum class LastNorm { none, fixed, affine };  // fixed: without scale and shift

// Linear layers with a normalisation and a ReLU behind each but the last.
struct HeadSpec {
  // Outputs of the linear layers, 0 for as many as come into the head; empty: no head.
  std::vector<int64_t> widths = {};
  bool hidden_bias = true;
  bool hidden_norm = true;  // false: only the ReLU
  bool last_bias = true;
  LastNorm last_norm = LastNorm::none;
};

// On the CPU in float32, as layers are made. `random` advances.
inline std::shared_ptr<Sequential> make_head(LayerFactory& layers, int64_t in, const HeadSpec& spec,
                                             Random& random) {
  auto head = std::make_shared<Sequential>();
  int64_t width = in;
  for (std::size_t i = 0; i < spec.widths.size(); ++i) {
    const bool last = i + 1 == spec.widths.size();
    const int64_t out = spec.widths[i] > 0 ? spec.widths[i] : in;
    head->then(layers.linear(
        {.in = width, .out = out, .bias = last ? spec.last_bias : spec.hidden_bias}, random));
    width = out;
    if (!last && spec.hidden_norm)
      head->then(layers.normalization({.channels = out, .relu = true}));
    else if (!last)
      head->then(make_relu());
    else if (spec.last_norm != LastNorm::none)
      head->then(
          layers.normalization({.channels = out, .affine = spec.last_norm == LastNorm::affine}));
  }
  return head;
}

// A head of the host's layers where the run computes; `purpose` keys its initial weights.
inline std::shared_ptr<Sequential> make_head(Host& host, std::string_view purpose, int64_t in,
                                             const HeadSpec& spec) {
  Random random = host.random(purpose);
  auto head = make_head(host.layers(), in, spec, random);
  head->to(host.facts().device, host.facts().dtype);
  return head;
}

struct NetworkSpec {
  HeadSpec head = {};
  std::string encoder_purpose = "encoder";  // key of the initial weights
  std::string head_purpose = "projector";
  LayerFactory* encoder_layers = nullptr;  // null: the host's
  LayerFactory* head_layers = nullptr;
};

// Children "encoder" and, where there is a head, "projector".
class Network final : public Layer {
 public:
  Network(Host& host, const NetworkSpec& spec)
      : encoder_(
            add_child("encoder", host.make_backbone(spec.encoder_purpose, spec.encoder_layers))),
        width_(encoder_->features()) {
    if (spec.head.widths.empty()) return;
    Random random = host.random(spec.head_purpose);
    LayerFactory& layers = spec.head_layers ? *spec.head_layers : host.layers();
    projector_ = add_child("projector", make_head(layers, width_, spec.head, random));
    projector_->to(host.facts().device, host.facts().dtype);
    if (spec.head.widths.back() > 0) width_ = spec.head.widths.back();
  }

  // [B, …sample shape] → [B, width()]
  at::Tensor forward(const at::Tensor& x) override { return project(encoder_->forward(x)); }
  // The head alone: [B, features] → [B, width()]
  at::Tensor project(const at::Tensor& features) {
    return projector_ ? projector_->forward(features) : features;
  }
  int64_t width() const { return width_; }
  const std::shared_ptr<Encoder>& encoder() const { return encoder_; }
  const std::shared_ptr<Sequential>& projector() const { return projector_; }  // may be null

 private:
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Sequential> projector_;
  int64_t width_;
};

}  // namespace gh::parts
