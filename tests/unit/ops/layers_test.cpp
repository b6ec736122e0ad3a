// The fast layers against the standard ones.
#include "gh/ops/layers.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using gh::ops::ConvolutionMode;
using gh::ops::fast_layers;

const auto kModes = {ConvolutionMode::automatic, ConvolutionMode::fast, ConvolutionMode::exact,
                     ConvolutionMode::onednn};

at::Tensor normal(at::IntArrayRef shape, uint64_t key, at::ScalarType dtype = at::kFloat) {
  const at::Tensor x = at::empty(shape, dtype);
  gh::Random(key).fill_normal(x, 0, 1);
  return x;
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  const at::Tensor e = expected.to(at::kDouble);
  return ((value.to(at::kDouble) - e).abs().max() / e.abs().max()).item<double>();
}

void check_same_tensors(const gh::Module& ours, const gh::Module& theirs) {
  for (const auto list : {&gh::Module::parameters, &gh::Module::buffers}) {
    const auto a = (ours.*list)(), b = (theirs.*list)();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i].name);
      CHECK(a[i].name == b[i].name);
      CHECK(a[i].tensor.scalar_type() == b[i].tensor.scalar_type());
      CHECK(a[i].tensor.requires_grad() == b[i].tensor.requires_grad());
      CHECK(a[i].tensor.equal(b[i].tensor));
    }
  }
}

const std::vector<gh::ConvolutionSpec> kConvolutions = {
    {.in = 16, .out = 24},
    {.in = 16, .out = 24, .bias = true, .init = gh::Init::kaiming_fan_out},
    {.in = 3, .out = 16},
    {.in = 16, .out = 8, .kernel = 1, .padding = 0},
    {.in = 16, .out = 24, .stride = 2},
    {.in = 16, .out = 24, .padding = 2, .dilation = 2},
    {.in = 16, .out = 24, .groups = 4, .bias = true}};

TEST_CASE("fast layers start as the standard ones, from the same stream") {
  for (const ConvolutionMode mode : kModes) {
    gh::Random ours(5), theirs(5);
    const auto fast = fast_layers(mode), standard = gh::standard_layers();
    for (const gh::ConvolutionSpec& spec : kConvolutions)
      check_same_tensors(*fast->convolution(spec, ours), *standard->convolution(spec, theirs));
    check_same_tensors(*fast->linear({.in = 7, .out = 5}, ours),
                       *standard->linear({.in = 7, .out = 5}, theirs));
    check_same_tensors(*fast->normalization({.channels = 6}),
                       *standard->normalization({.channels = 6}));
    CHECK(ours.bits64() == theirs.bits64());  // as many numbers drawn
  }
}

TEST_CASE("a fast convolution computes what the standard one does, values and gradients") {
  for (const ConvolutionMode mode : kModes)
    for (const gh::ConvolutionSpec& spec : kConvolutions) {
      gh::Random ours(6), theirs(6);
      const auto fast = fast_layers(mode)->convolution(spec, ours),
                 standard = gh::standard_layers()->convolution(spec, theirs);
      const at::Tensor x = normal({2, spec.in, 9, 10}, 1).requires_grad_(true),
                       twin = x.detach().clone().requires_grad_(true);
      const at::Tensor y = fast->forward(x), expected = standard->forward(twin);
      CAPTURE(static_cast<int>(mode), spec.in, spec.kernel, spec.stride, spec.groups);
      REQUIRE(y.sizes() == expected.sizes());
      CHECK(relative_error(y, expected) < 5e-6);
      const at::Tensor direction = normal(y.sizes(), 2);
      (y * direction).sum().backward();
      (expected * direction).sum().backward();
      CHECK(relative_error(x.grad(), twin.grad()) < 5e-6);
      const auto a = fast->parameters(), b = standard->parameters();
      for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(a[i].name);
        REQUIRE(a[i].tensor.grad().defined());
        CHECK(relative_error(a[i].tensor.grad(), b[i].tensor.grad()) < 5e-6);
      }
    }
}

TEST_CASE("the mode of the factory is that of its convolutions") {
  const gh::ConvolutionSpec spec{.in = 16, .out = 24};
  const at::Tensor x = normal({2, 16, 9, 10}, 3);
  at::NoGradGuard no_grad;
  for (const ConvolutionMode mode : kModes) {
    gh::Random random(7);
    const auto layer = fast_layers(mode)->convolution(spec, random);
    const at::Tensor weight = layer->parameters()[0].tensor;
    CAPTURE(static_cast<int>(mode));
    CHECK(layer->forward(x).equal(gh::ops::convolution(x, weight, {}, {.padding = 1}, mode)));
  }
  gh::Random a(7), b(7);
  const at::Tensor quick = fast_layers(ConvolutionMode::fast)->convolution(spec, a)->forward(x),
                   exact = fast_layers(ConvolutionMode::exact)->convolution(spec, b)->forward(x);
  if (!gh::ops::winograd_instructions().empty()) CHECK(!quick.equal(exact));
}

TEST_CASE("fast layers in another type go through LibTorch, and back") {
  gh::Random ours(8), theirs(8);
  const gh::ConvolutionSpec spec{.in = 16, .out = 20, .bias = true};
  const auto fast = fast_layers(ConvolutionMode::fast), standard = gh::standard_layers();
  const auto conv = fast->convolution(spec, ours), conv2 = standard->convolution(spec, theirs);
  const auto norm = fast->normalization({.channels = 20, .relu = true}),
             norm2 = standard->normalization({.channels = 20, .relu = true});
  const at::Tensor x = normal({3, 16, 8, 8}, 4, at::kDouble);
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kFloat}) {
    for (gh::Module* module :
         std::initializer_list<gh::Module*>{conv.get(), conv2.get(), norm.get(), norm2.get()})
      module->to(at::kCPU, type);
    CAPTURE(type);
    check_same_tensors(*conv, *conv2);
    const at::Tensor y = norm->forward(conv->forward(x.to(type))),
                     expected = norm2->forward(conv2->forward(x.to(type)));
    CHECK(y.scalar_type() == type);
    CHECK(relative_error(y.detach(), expected.detach()) < (type == at::kDouble  ? 1e-12
                                                           : type == at::kFloat ? 5e-6
                                                                                : 1e-2));
    y.sum().backward();
    CHECK(conv->parameters()[0].tensor.grad().scalar_type() == type);
    for (const auto& p : conv->parameters()) p.tensor.mutable_grad() = at::Tensor();
    for (const auto& p : norm->parameters()) p.tensor.mutable_grad() = at::Tensor();
  }
}

TEST_CASE("a module that needs no gradient gets none, its input does") {
  for (const ConvolutionMode mode : kModes) {
    gh::Random random(9);
    const auto factory = fast_layers(mode);
    const auto conv = factory->convolution({.in = 16, .out = 16, .bias = true}, random);
    const auto norm = factory->normalization({.channels = 16});
    conv->requires_grad(false);
    norm->requires_grad(false);
    const at::Tensor x = normal({2, 16, 6, 6}, 10);
    CHECK(!norm->forward(conv->forward(x)).requires_grad());
    x.requires_grad_(true);
    norm->forward(conv->forward(x)).square().sum().backward();
    CHECK(x.grad().defined());
    for (const gh::Module* m : std::initializer_list<const gh::Module*>{conv.get(), norm.get()})
      for (const auto& p : m->parameters()) CHECK(!p.tensor.grad().defined());
    conv->requires_grad(true);
    conv->forward(x.detach()).square().sum().backward();
    for (const auto& p : conv->parameters()) CHECK(p.tensor.grad().defined());
  }
}

TEST_CASE("fast normalisation follows train() also where the standard one stands in") {
  const auto norm = fast_layers()->normalization({.channels = 4});
  norm->to(at::kCPU, at::kBFloat16);  // which the fused one does not take
  const auto counted = [&] { return norm->buffers()[2].tensor.item<int64_t>(); };
  const at::Tensor x = normal({6, 4}, 11, at::kBFloat16);
  norm->forward(x);
  CHECK(counted() == 1);
  norm->train(false);
  norm->forward(x);
  CHECK(counted() == 1);
  norm->train(true);
  norm->forward(x);
  CHECK(counted() == 2);
}

TEST_CASE("fast layers take the state of standard ones, and refuse what those refuse") {
  gh::Random ours(12), theirs(13);
  const gh::ConvolutionSpec spec{.in = 16, .out = 16, .bias = true};
  const auto fast = fast_layers(ConvolutionMode::fast)->convolution(spec, ours),
             standard = gh::standard_layers()->convolution(spec, theirs);
  fast->copy_from(*standard);
  const at::Tensor x = normal({2, 16, 5, 5}, 14);
  CHECK(relative_error(fast->forward(x), standard->forward(x)) < 5e-6);
  CHECK_THROWS_AS(fast->forward(normal({2, 15, 5, 5}, 15)), gh::Error);
  CHECK_THROWS_AS(fast_layers()->convolution({.in = 3, .out = 0}, ours), gh::Error);
}

}  // namespace
