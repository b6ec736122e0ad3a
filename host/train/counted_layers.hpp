// Hands layers of another factory through and counts convolutions: how the host finds out that a
// method makes them itself.
#pragma once

#include "gh/layers.hpp"

#include <cstdint>
#include <memory>

namespace gh::host {

class CountedLayers final : public LayerFactory {
 public:
  // `inner` outlives the factory, not its layers.
  explicit CountedLayers(LayerFactory& inner) : inner_(inner) {}

  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return inner_.linear(spec, random);
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    ++convolutions_;
    return inner_.convolution(spec, random);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return inner_.normalization(spec);
  }
  void* query(const char* interface_id) override { return inner_.query(interface_id); }

  int64_t convolutions() const { return convolutions_; }

 private:
  LayerFactory& inner_;
  int64_t convolutions_ = 0;
};

}  // namespace gh::host
