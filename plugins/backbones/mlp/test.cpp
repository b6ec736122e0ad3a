#include "support/plugin_fixture.hpp"

#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;

std::shared_ptr<Encoder> make(const std::string& toml, std::vector<int64_t> shape, uint64_t key) {
  auto mlp = test::load<Backbone>("mlp", toml);
  const auto layers = standard_layers();
  BackboneRequest request;
  request.sample_shape = shape;
  request.layers = layers.get();
  request.random = Random(key);
  return mlp->make(request);
}

TEST_CASE("mlp is linear, ReLU, linear with the widths asked for") {
  const auto encoder = make("hidden = [20]\nfeatures = 2", {2}, 1);
  const auto p = encoder->parameters();
  REQUIRE(p.size() == 4);
  CHECK(p[0].name == "layers.0.weight");
  CHECK(p[0].tensor.sizes() == at::IntArrayRef({20, 2}));
  CHECK(p[3].name == "layers.2.bias");
  CHECK(encoder->features() == 2);
  const at::Tensor x = at::randn({5, 2});
  const at::Tensor hidden = at::relu(x.matmul(p[0].tensor.t()) + p[1].tensor);
  CHECK(encoder->forward(x).allclose(hidden.matmul(p[2].tensor.t()) + p[3].tensor));
}

TEST_CASE("mlp flattens images and takes any number of hidden layers") {
  CHECK(make("hidden = []\nfeatures = 7", {3, 4, 4}, 1)->forward(at::randn({2, 3, 4, 4})).sizes() ==
        at::IntArrayRef({2, 7}));
  CHECK(make("hidden = [8, 9, 10]", {6}, 1)->parameters().size() == 8);
}

TEST_CASE("mlp's initial weights follow its random stream") {
  const auto weight = [](uint64_t key) { return make("", {2}, key)->parameters()[0].tensor; };
  CHECK(weight(1).equal(weight(1)));
  CHECK_FALSE(weight(1).equal(weight(2)));
}

}  // namespace
