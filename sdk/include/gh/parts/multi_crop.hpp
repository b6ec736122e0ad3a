// Views of several sizes through one network: views of a size that follow each other go through the
// encoder together, what comes out goes through the head at once. Normalisation sees them so, too.
#pragma once

#include "gh/error.hpp"
#include "gh/parts/network.hpp"
#include "gh/tensor.hpp"

#include <ATen/ops/cat.h>

#include <span>
#include <vector>

namespace gh::parts {

inline void require_crops(const RunFacts& facts, Complaints& out) {
  if (facts.view_shapes.size() < 2 || facts.view_shapes[0] != facts.view_shapes[1])
    out.add(".views", "this method takes two views of one size and any number of further ones");
}

// One embedding [B, width] for each of the views [B, …], in their order.
inline std::vector<at::Tensor> embed_crops(Network& network, std::span<const at::Tensor> views) {
  std::vector<at::Tensor> features;
  for (std::size_t begin = 0, end = 0; begin < views.size(); begin = end) {
    while (end < views.size() && views[end].sizes() == views[begin].sizes()) ++end;
    const bool alone = end == begin + 1;
    const at::TensorList group(views.data() + begin, end - begin);
    features.push_back(network.encoder()->forward(alone ? views[begin] : at::cat(group)));
  }
  return network.project(at::cat(features)).split(views[0].size(0));
}

}  // namespace gh::parts
