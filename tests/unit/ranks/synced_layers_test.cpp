#include "ranks/synced_layers.hpp"

#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

using namespace gh;
using namespace gh::host;
using namespace gh::host::test;

namespace {

at::Tensor tensor_of(const std::vector<NamedTensor>& tensors, const std::string& name) {
  for (const NamedTensor& named : tensors)
    if (named.name == name) return named.tensor;
  FAIL("no " << name);
  return {};
}

struct Case {
  NormalizationSpec spec;
  std::vector<int64_t> sample;  // shape after the batch and the channels
  bool residual = false;
  bool channels_last = false;
};

// The same layer in one process over the whole batch.
void compare(Ranks& ranks, const Case& shape, double bound, at::ScalarType dtype) {
  const auto synced = synced_layers(ranks, standard_layers())->normalization(shape.spec);
  const auto plain = standard_layers()->normalization(shape.spec);
  for (Normalization* layer : {synced.get(), plain.get()}) {
    layer->to(at::kCPU, dtype);
    at::NoGradGuard no_grad;
    if (shape.spec.affine) {
      tensor_of(layer->parameters(), "weight").copy_(normal(1, {shape.spec.channels}));
      tensor_of(layer->parameters(), "bias").copy_(normal(2, {shape.spec.channels}));
    }
    layer->train();
  }
  std::vector<int64_t> sizes{6 * ranks.world(), shape.spec.channels};
  sizes.insert(sizes.end(), shape.sample.begin(), shape.sample.end());
  for (uint64_t step = 0; step < 3; ++step) {
    // Ranks differ in mean and spread.
    at::Tensor all = normal(10 + step, sizes);
    all = (all.cumsum(0) * 3 + 5).to(dtype);
    if (shape.channels_last) all = all.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor rest = normal(20 + step, sizes).to(dtype);
    const at::Tensor weights = normal(30 + step, sizes).to(dtype);
    const auto run = [&](Normalization& layer, at::Tensor x, at::Tensor residual,
                         const at::Tensor& weight) {
      for (const NamedTensor& named : layer.parameters()) {
        at::Tensor parameter = named.tensor;
        parameter.mutable_grad().reset();
      }
      x = x.detach().clone().requires_grad_(true);
      residual = residual.detach().clone().requires_grad_(true);
      const at::Tensor y =
          shape.residual ? layer.forward_add(x, residual) : layer.forward(x) + 0 * residual;
      (y * weight).sum().backward();
      return std::vector<at::Tensor>{y, x.grad(), residual.grad()};
    };
    const auto whole = run(*plain, all, rest, weights);
    const auto own =
        run(*synced, own_rows(ranks, all), own_rows(ranks, rest), own_rows(ranks, weights));
    for (size_t i = 0; i < 3; ++i) {
      INFO("step " << step << ", tensor " << i);
      CHECK(distance(own[i] + 1, own_rows(ranks, whole[i]) + 1) < bound);
    }
    if (shape.channels_last) CHECK(own[0].is_contiguous(at::MemoryFormat::ChannelsLast));
    for (const NamedTensor& named : plain->parameters()) {
      INFO(named.name);
      at::Tensor sum = tensor_of(synced->parameters(), named.name).grad().clone();
      ranks.sum_in_place(sum);
      CHECK(distance(sum, named.tensor.grad()) < bound);
    }
  }
  for (const NamedTensor& named : plain->buffers()) {
    INFO(named.name);
    CHECK(distance(tensor_of(synced->buffers(), named.name), named.tensor) < bound);
  }
  // Evaluation needs nobody else.
  synced->train(false);
  plain->train(false);
  const at::Tensor x = normal(40, sizes).to(dtype);
  if (ranks.first()) CHECK(distance(synced->forward(x), plain->forward(x)) < bound);
}

}  // namespace

TEST_CASE("normalisation over ranks is that of the whole batch") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  NormalizationSpec spec;
  spec.channels = 5;
  compare(*ranks, {spec, {}}, 1e-12, at::kDouble);
  compare(*ranks, {spec, {4, 3}}, 1e-12, at::kDouble);
  compare(*ranks, {spec, {4, 3}, false, true}, 1e-12, at::kDouble);
  spec.relu = true;
  spec.momentum = 0.3;
  spec.epsilon = 1e-3;
  compare(*ranks, {spec, {4, 3}}, 1e-12, at::kDouble);
  compare(*ranks, {spec, {4, 3}, true}, 1e-12, at::kDouble);
  compare(*ranks, {spec, {}, true}, 1e-12, at::kDouble);
  spec.affine = false;
  compare(*ranks, {spec, {4, 3}, true}, 1e-12, at::kDouble);
  compare(*ranks, {spec, {4, 3}, true}, 2e-5, at::kFloat);
}

TEST_CASE("layers over ranks have the names and first values of standard layers") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  const auto base = standard_layers();
  const auto factory = synced_layers(*ranks, base);
  for (const bool zero : {false, true}) {
    NormalizationSpec spec;
    spec.channels = 3;
    spec.zero_init = zero;
    const auto synced = factory->normalization(spec), plain = base->normalization(spec);
    REQUIRE(synced->parameters().size() == plain->parameters().size());
    REQUIRE(synced->buffers().size() == plain->buffers().size());
    synced->copy_from(*plain);  // names and shapes
    for (size_t i = 0; i < plain->parameters().size(); ++i)
      CHECK(at::equal(synced->parameters()[i].tensor, plain->parameters()[i].tensor));
    for (size_t i = 0; i < plain->buffers().size(); ++i) {
      CHECK(synced->buffers()[i].name == plain->buffers()[i].name);
      CHECK(at::equal(synced->buffers()[i].tensor, plain->buffers()[i].tensor));
    }
  }
  Random one(5), other(5);
  CHECK(at::equal(factory->linear({.in = 3, .out = 2}, one)->parameters()[0].tensor,
                  base->linear({.in = 3, .out = 2}, other)->parameters()[0].tensor));
  // A frozen network in training mode, as momentum encoders are.
  NormalizationSpec spec;
  spec.channels = 3;
  const auto norm = factory->normalization(spec);
  at::NoGradGuard no_grad;
  CHECK_FALSE(norm->forward(normal(1, {4, 3}).to(at::kFloat)).requires_grad());
  CHECK(synced_layers(*Ranks::alone(), base) == base);
}
