// Layers whose batch normalisation sees the samples of all ranks.
#pragma once

#include "ranks/ranks.hpp"

#include "gh/layers.hpp"

#include <memory>

namespace gh::host {

// In training, normalisation takes mean and variance over all ranks' samples, one message forward
// and one back; names, initial values and running statistics (unbiased variance over the global
// count) as in standard_layers(). Everything else is from `base`, and all of it with one rank.
// `ranks` outlives the factory, its layers and their graphs. Only those have to match whose forward
// is in training mode: every rank runs them in the same order.
std::shared_ptr<LayerFactory> synced_layers(Ranks& ranks, std::shared_ptr<LayerFactory> base);

}  // namespace gh::host
