// The layers of libghops: what the host gives to backbones.
#pragma once

#include "gh/layers.hpp"
#include "gh/ops/convolution.hpp"

#include <memory>

namespace gh {
inline namespace v1 {
namespace ops {

// Convolutions through ops::convolution(), and normalisations that take the residual sum and the
// ReLU after them into one pass. Parameters, names and initial values are those of
// standard_layers(), which also do what these do not take (other devices and types).
GH_API std::shared_ptr<LayerFactory> fast_layers(ConvolutionMode mode = ConvolutionMode::automatic);

}  // namespace ops
}  // namespace v1
}  // namespace gh
