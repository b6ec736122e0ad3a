#include "train/weighed_layers.hpp"

#include "machine/memory.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {

WeighedLayers::WeighedLayers(std::shared_ptr<LayerFactory> layers, int64_t available)
    : layers_(std::move(layers)), available_(static_cast<double>(available)) {}

void WeighedLayers::weigh(double weights) {
  // A layer's weights are drawn in float64 before they are kept.
  const double most = bytes_ + 12 * weights;
  bytes_ += 4 * weights;
  if (most <= available_) return;
  refusal_ = fmt::format(
      "the networks need at least {} to draw their weights, and {} of memory are available; make "
      "them smaller",
      in_gigabytes(most), in_gigabytes(available_));
  fail(ErrorCode::out_of_memory, refusal_);
}

std::shared_ptr<Layer> WeighedLayers::linear(const LinearSpec& spec, Random& random) {
  weigh(static_cast<double>(spec.in) * static_cast<double>(spec.out));
  return layers_->linear(spec, random);
}

std::shared_ptr<Layer> WeighedLayers::convolution(const ConvolutionSpec& spec, Random& random) {
  const double groups = static_cast<double>(std::max<int64_t>(1, spec.groups));
  weigh(static_cast<double>(spec.in) / groups * static_cast<double>(spec.out) *
        static_cast<double>(spec.kernel * spec.kernel));
  return layers_->convolution(spec, random);
}

std::shared_ptr<Normalization> WeighedLayers::normalization(const NormalizationSpec& spec) {
  weigh(4.0 * static_cast<double>(spec.channels));
  return layers_->normalization(spec);
}

}  // namespace gh::host
