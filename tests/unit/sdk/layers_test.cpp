#include "gh/layers.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace {

at::Tensor normal(std::vector<int64_t> shape, uint64_t key, at::ScalarType dtype = at::kDouble) {
  const at::Tensor x = at::empty(shape, dtype);
  gh::Random(key).fill_normal(x, 0, 1);
  return x;
}

at::Tensor tensor_of(const gh::Module& module, const std::string& name) {
  for (const auto& list : {module.parameters(), module.buffers()})
    for (const gh::NamedTensor& t : list)
      if (t.name == name) return t.tensor;
  FAIL("no tensor " << name);
  return {};
}

// Compares the gradient of Σ direction·forward(x), with respect to x and every parameter, with
// central differences.
void check_gradients(gh::Layer& layer, const at::Tensor& x,
                     const std::function<at::Tensor()>& forward) {
  const at::Tensor direction = normal(forward().sizes().vec(), 99);
  const auto objective = [&] { return (forward() * direction).sum(); };
  std::vector<gh::NamedTensor> inputs = layer.parameters();
  inputs.push_back({"input", x});
  objective().backward();
  at::NoGradGuard no_grad;
  for (const gh::NamedTensor& input : inputs) {
    const at::Tensor flat = input.tensor.detach().view(-1);
    const at::Tensor gradient = input.tensor.grad().contiguous().view(-1);
    const int64_t stride = std::max<int64_t>(1, flat.numel() / 25);
    for (int64_t i = 0; i < flat.numel(); i += stride) {
      double* value = flat.data_ptr<double>() + i;
      const double kept = *value, h = 1e-5;
      *value = kept + h;
      const double up = objective().item<double>();
      *value = kept - h;
      const double down = objective().item<double>();
      *value = kept;
      INFO(input.name << " element " << i);
      REQUIRE(gradient[i].item<double>() ==
              Approx((up - down) / (2 * h)).epsilon(1e-6).margin(1e-7));
    }
  }
}

void check_gradients(gh::Layer& layer, const at::Tensor& x) {
  x.set_requires_grad(true);
  check_gradients(layer, x, [&] { return layer.forward(x); });
}

}  // namespace

TEST_CASE("default initial weights are uniform within the inverse root of the fan-in") {
  gh::Random random(1);
  const auto linear = gh::standard_layers()->linear({.in = 64, .out = 300}, random);
  const double bound = 1 / std::sqrt(64.0);
  for (const char* name : {"weight", "bias"}) {
    const at::Tensor t = tensor_of(*linear, name);
    CHECK(t.abs().max().item<double>() <= bound);
    CHECK(t.max().item<double>() > 0.95 * bound);
    CHECK(t.min().item<double>() < -0.95 * bound);
  }
  const at::Tensor w = tensor_of(*linear, "weight");
  CHECK(w.sizes() == at::IntArrayRef({300, 64}));
  CHECK(w.var().item<double>() == Approx(bound * bound / 3).epsilon(0.03));

  const auto grouped =
      gh::standard_layers()->convolution({.in = 32, .out = 64, .groups = 4, .bias = true}, random);
  const at::Tensor v = tensor_of(*grouped, "weight");
  CHECK(v.sizes() == at::IntArrayRef({64, 8, 3, 3}));
  CHECK(v.abs().max().item<double>() <= 1 / std::sqrt(8 * 9.0));
  CHECK(v.abs().max().item<double>() > 0.95 / std::sqrt(8 * 9.0));
}

TEST_CASE("Kaiming initial weights have variance two over the fan-out, bias zero") {
  gh::Random random(2);
  const auto conv = gh::standard_layers()->convolution(
      {.in = 32, .out = 128, .bias = true, .init = gh::Init::kaiming_fan_out}, random);
  const at::Tensor w = tensor_of(*conv, "weight");
  CHECK(w.var().item<double>() == Approx(2.0 / (128 * 9)).epsilon(0.03));
  CHECK(std::abs(w.mean().item<double>()) < 0.002);
  CHECK(w.abs().max().item<double>() > 3 * std::sqrt(2.0 / (128 * 9)));  // not uniform
  CHECK(tensor_of(*conv, "bias").abs().max().item<double>() == 0);
}

TEST_CASE("initial weights are a function of the stream, which each layer advances") {
  gh::Random a(3), b(3);
  const auto layers = gh::standard_layers();
  const auto a1 = layers->linear({.in = 4, .out = 4}, a),
             a2 = layers->linear({.in = 4, .out = 4}, a);
  const auto b1 = layers->linear({.in = 4, .out = 4}, b),
             b2 = layers->linear({.in = 4, .out = 4}, b);
  CHECK(tensor_of(*a1, "weight").equal(tensor_of(*b1, "weight")));
  CHECK(tensor_of(*a2, "weight").equal(tensor_of(*b2, "weight")));
  CHECK(!tensor_of(*a1, "weight").equal(tensor_of(*a2, "weight")));
}

TEST_CASE("a layer without size is refused") {
  gh::Random random(4);
  CHECK_THROWS_AS(gh::standard_layers()->linear({.in = 0, .out = 3}, random), gh::Error);
  CHECK_THROWS_AS(gh::standard_layers()->convolution({.in = 3, .out = 0}, random), gh::Error);
}

TEST_CASE("linear and convolution compute what their definition says") {
  gh::Random random(5);
  const auto linear = gh::standard_layers()->linear({.in = 3, .out = 2}, random);
  linear->to(at::kCPU, at::kDouble);
  const at::Tensor x = normal({4, 3}, 6);
  CHECK(linear->forward(x).allclose(x.matmul(tensor_of(*linear, "weight").t()) +
                                    tensor_of(*linear, "bias")));

  const auto conv = gh::standard_layers()->convolution(
      {.in = 2, .out = 3, .kernel = 3, .stride = 2, .padding = 1, .dilation = 1, .bias = true},
      random);
  conv->to(at::kCPU, at::kDouble);
  at::NoGradGuard no_grad;
  const at::Tensor image = normal({1, 2, 5, 5}, 7);
  const at::Tensor y = conv->forward(image);
  REQUIRE(y.sizes() == at::IntArrayRef({1, 3, 3, 3}));
  const at::Tensor weight = tensor_of(*conv, "weight"), bias = tensor_of(*conv, "bias");
  const auto w = weight.accessor<double, 4>(), in = image.accessor<double, 4>(),
             out = y.accessor<double, 4>();
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t c = 0; c < 3; ++c) {
        double sum = bias[o].item<double>();
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t u = 0; u < 3; ++u)
            for (int64_t v = 0; v < 3; ++v) {
              const int64_t row = 2 * r + u - 1, column = 2 * c + v - 1;
              if (row >= 0 && row < 5 && column >= 0 && column < 5)
                sum += w[o][i][u][v] * in[0][i][row][column];
            }
        REQUIRE(out[0][o][r][c] == Approx(sum));
      }
}

TEST_CASE("gradients agree with finite differences") {
  gh::Random random(8);
  const auto layers = gh::standard_layers();
  const auto in_double = [](const auto& layer) {
    layer->to(at::kCPU, at::kDouble);
    return layer;
  };
  SECTION("linear") {
    check_gradients(*in_double(layers->linear({.in = 5, .out = 4}, random)), normal({3, 5}, 9));
  }
  SECTION("convolution, strided and grouped") {
    check_gradients(*in_double(layers->convolution(
                        {.in = 4, .out = 6, .stride = 2, .groups = 2, .bias = true}, random)),
                    normal({2, 4, 6, 6}, 10));
  }
  SECTION("normalisation of vectors") {
    check_gradients(*in_double(layers->normalization({.channels = 4})), normal({6, 4}, 11));
  }
  SECTION("normalisation with residual and ReLU") {
    const auto norm = in_double(layers->normalization({.channels = 3, .relu = true}));
    const at::Tensor x = normal({2, 3, 4, 4}, 12), residual = normal({2, 3, 4, 4}, 13);
    x.set_requires_grad(true);
    check_gradients(*norm, x, [&] { return norm->forward_add(x, residual); });
  }
}

TEST_CASE("normalisation in training uses the batch and tracks it") {
  const auto norm = gh::standard_layers()->normalization({.channels = 3, .momentum = 0.2});
  norm->to(at::kCPU, at::kDouble);
  at::NoGradGuard no_grad;
  tensor_of(*norm, "weight").fill_(1.5);
  tensor_of(*norm, "bias").fill_(-0.5);
  at::Tensor mean = at::zeros({3}, at::kDouble), variance = at::ones({3}, at::kDouble);
  for (uint64_t step = 0; step < 3; ++step) {
    const at::Tensor x = normal({5, 3, 2, 2}, 20 + step) * 3 + 1;
    const at::Tensor rows = x.transpose(0, 1).flatten(1);  // [C, n]
    const at::Tensor m = rows.mean({1}), v = rows.var({1}, /*unbiased=*/false);
    const at::Tensor expected =
        (x - m.view({1, 3, 1, 1})) / (v.view({1, 3, 1, 1}) + 1e-5).sqrt() * 1.5 - 0.5;
    CHECK(norm->forward(x).allclose(expected));
    mean = 0.8 * mean + 0.2 * m;
    variance = 0.8 * variance + 0.2 * rows.var({1}, /*unbiased=*/true);
  }
  CHECK(tensor_of(*norm, "running_mean").allclose(mean));
  CHECK(tensor_of(*norm, "running_var").allclose(variance));
  CHECK(tensor_of(*norm, "num_batches_tracked").item<int64_t>() == 3);

  norm->train(false);
  const at::Tensor x = normal({1, 3, 1, 1}, 30);
  const at::Tensor expected =
      (x - mean.view({1, 3, 1, 1})) / (variance.view({1, 3, 1, 1}) + 1e-5).sqrt() * 1.5 - 0.5;
  CHECK(norm->forward(x).allclose(expected));
  CHECK(tensor_of(*norm, "running_mean").allclose(mean));
  CHECK(tensor_of(*norm, "num_batches_tracked").item<int64_t>() == 3);
}

TEST_CASE("normalisation fuses residual and ReLU as if they followed") {
  const at::Tensor x = normal({6, 4}, 40, at::kFloat), residual = normal({6, 4}, 41, at::kFloat);
  const auto layers = gh::standard_layers();
  const at::Tensor plain = layers->normalization({.channels = 4})->forward(x);
  CHECK(layers->normalization({.channels = 4, .relu = true})->forward(x).equal(plain.clamp_min(0)));
  CHECK(layers->normalization({.channels = 4})->forward_add(x, residual).equal(plain + residual));
  CHECK(layers->normalization({.channels = 4, .relu = true})
            ->forward_add(x, residual)
            .equal((plain + residual).clamp_min(0)));
}

TEST_CASE("normalisation has the parameters it was asked for") {
  const auto layers = gh::standard_layers();
  CHECK(layers->normalization({.channels = 4, .affine = false})->parameters().empty());
  CHECK(layers->normalization({.channels = 4, .affine = false})->buffers().size() == 3);
  const auto zero = layers->normalization({.channels = 4, .zero_init = true});
  CHECK(tensor_of(*zero, "weight").abs().sum().item<double>() == 0);
  CHECK(zero->forward(normal({5, 4}, 50, at::kFloat)).abs().max().item<double>() == 0);
}

TEST_CASE("one value per channel cannot be normalised in training") {
  const auto norm = gh::standard_layers()->normalization({.channels = 4});
  CHECK_THROWS_AS(norm->forward(at::ones({1, 4})), gh::Error);
  CHECK(tensor_of(*norm, "running_var").equal(at::ones({4})));
  CHECK_NOTHROW(norm->forward(normal({1, 4, 2, 1}, 51, at::kFloat)));
  norm->train(false);
  CHECK_NOTHROW(norm->forward(at::ones({1, 4})));
}
