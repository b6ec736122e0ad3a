// The layers of libghops: what the host gives to backbones.
#pragma once

#include "gh/layers.hpp"
#include "gh/ops/convolution.hpp"

#include <memory>

namespace gh {
inline namespace v1 {
namespace ops {

// Convolutions through ops::convolution(), and normalisations that take the residual sum and the
// ReLU after them into one pass. Parameters, names and initial values are those of `base`'s layers;
// what is not taken (other devices and types) goes through them.
GH_API std::shared_ptr<LayerFactory> fast_layers(
    ConvolutionMode mode = ConvolutionMode::automatic,
    std::shared_ptr<LayerFactory> base = standard_layers());

}  // namespace ops
}  // namespace v1
}  // namespace gh
