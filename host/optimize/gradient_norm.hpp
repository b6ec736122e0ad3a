// Length of the whole gradient, and clipping by it.
#pragma once

#include "optimize/optimizer.hpp"

#include <span>

namespace gh::host {

// √Σg² over all parameters that have a gradient, accumulated in double; 0 without any. Not finite
// where a gradient is not.
double gradient_norm(std::span<const OptimizedParameter> parameters);

// Multiplies every gradient in place.
void scale_gradients(std::span<const OptimizedParameter> parameters, double factor);

// The factor that brings a gradient of this norm down to `largest`, as
// torch.nn.utils.clip_grad_norm_ computes it; 1 when it is short enough.
double clip_factor(double norm, double largest);

}  // namespace gh::host
