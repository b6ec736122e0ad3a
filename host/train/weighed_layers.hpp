// Layers of another factory, weighed before they are made: networks that cannot fit into memory
// are refused while they are small.
#pragma once

#include "gh/layers.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace gh::host {

// Refuses the first layer with which the weights made so far would no longer fit.
class WeighedLayers final : public LayerFactory {
 public:
  WeighedLayers(std::shared_ptr<LayerFactory> layers, int64_t available);

  // Throw gh::Error (out_of_memory).
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override;
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override;
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override;
  void* query(const char* interface_id) override { return layers_->query(interface_id); }

  // What was refused, in a sentence; "" before that.
  const std::string& refusal() const { return refusal_; }

 private:
  void weigh(double weights);

  std::shared_ptr<LayerFactory> layers_;
  double available_;
  double bytes_ = 0;  // of the weights made, in float32
  std::string refusal_;
};

}  // namespace gh::host
