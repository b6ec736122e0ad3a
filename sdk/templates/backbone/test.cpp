// @NAME@: pictures become as many features as the parameters say, and gradients reach them.
#include "gh/testing.hpp"

#include <cstdio>

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);  // the built library
  const auto backbone = plugins.make<gh::Backbone>("@NAME@", "features = 5");
  const std::vector<int64_t> shape = {3, 8, 8};
  const auto layers = gh::standard_layers();
  gh::BackboneRequest request;
  request.sample_shape = shape;
  request.layers = layers.get();
  const auto encoder = backbone->make(request);
  at::Tensor x = gh::testing::TinyPictures(6, 8).batch();
  x.set_requires_grad(true);
  const at::Tensor y = encoder->forward(x);
  y.square().sum().backward();
  const bool shaped = y.size(0) == 6 && y.size(1) == 5 && encoder->features() == 5;
  const bool reached = x.grad().abs().sum().item<double>() > 0;
  std::printf("shaped %d, reached %d\n", shaped, reached);
  return shaped && reached ? 0 : 1;
}
