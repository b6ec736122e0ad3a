// Normalisation of the fast layers against LibTorch's operators, which it replaces on the CPU.
#include "norm_kernels.hpp"

#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/ops/layers.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace {

at::Tensor normal(std::vector<int64_t> shape, uint64_t key, at::ScalarType dtype = at::kDouble) {
  const at::Tensor x = at::empty(shape, dtype);
  gh::Random(key).fill_normal(x, 0, 1);
  return x;
}

at::Tensor laid_out(const at::Tensor& x, bool channels_last) {
  return x.dim() == 4 && channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast)
                                       : x.contiguous();
}

struct Case {
  std::vector<int64_t> shape;
  bool channels_last = false;
  bool training = true;
  bool relu = false;
  bool residual = false;
  bool affine = true;
  at::ScalarType dtype = at::kDouble;
};

using Results = std::map<std::string, at::Tensor>;

struct Inputs {
  at::Tensor x, residual, direction, weight, bias, mean, variance;

  explicit Inputs(const Case& c)
      : x(laid_out((normal(c.shape, 1) * 2 + 3).to(c.dtype), c.channels_last)),
        residual(laid_out(normal(c.shape, 2).to(c.dtype), c.channels_last)),
        direction(laid_out(normal(c.shape, 3).to(c.dtype), c.channels_last)),
        weight(normal({c.shape[1]}, 4).to(c.dtype)),
        bias(normal({c.shape[1]}, 5).to(c.dtype)),
        mean(normal({c.shape[1]}, 6).to(c.dtype)),
        variance((normal({c.shape[1]}, 7).abs() + 0.5).to(c.dtype)) {}
};

Results of_layer(const Case& c, const Inputs& in) {
  const auto norm = gh::ops::fast_layers()->normalization({.channels = c.shape[1],
                                                           .epsilon = 1e-3,
                                                           .momentum = 0.3,
                                                           .affine = c.affine,
                                                           .relu = c.relu});
  norm->to(at::kCPU, c.dtype);
  norm->train(c.training);
  {
    at::NoGradGuard no_grad;
    if (c.affine) {
      norm->parameters()[0].tensor.copy_(in.weight);
      norm->parameters()[1].tensor.copy_(in.bias);
    }
    norm->buffers()[0].tensor.copy_(in.mean);
    norm->buffers()[1].tensor.copy_(in.variance);
  }
  const at::Tensor x = in.x.detach().clone().requires_grad_(true),
                   residual = in.residual.detach().clone().requires_grad_(true);
  const at::Tensor y = c.residual ? norm->forward_add(x, residual) : norm->forward(x);
  (y * in.direction).sum().backward();
  Results out = {{"y", y.detach()}, {"dx", x.grad()}};
  if (c.residual) out["dresidual"] = residual.grad();
  if (c.affine) out["dweight"] = norm->parameters()[0].tensor.grad();
  if (c.affine) out["dbias"] = norm->parameters()[1].tensor.grad();
  out["running_mean"] = norm->buffers()[0].tensor;
  out["running_var"] = norm->buffers()[1].tensor;
  return out;
}

// In float64 throughout.
Results of_operators(const Case& c, const Inputs& in) {
  const auto leaf = [](const at::Tensor& t) {
    return t.to(at::kDouble).contiguous().clone().requires_grad_(true);
  };
  const at::Tensor x = leaf(in.x), residual = leaf(in.residual), weight = leaf(in.weight),
                   bias = leaf(in.bias);
  const at::Tensor mean = in.mean.to(at::kDouble).clone(),
                   variance = in.variance.to(at::kDouble).clone();
  at::Tensor y = at::batch_norm(x, c.affine ? weight : at::Tensor(), c.affine ? bias : at::Tensor(),
                                mean, variance, c.training, 0.3, 1e-3, false);
  if (c.residual) y = y + residual;
  if (c.relu) y = at::relu(y);
  (y * in.direction.to(at::kDouble)).sum().backward();
  Results out = {{"y", y.detach()}, {"dx", x.grad()}};
  if (c.residual) out["dresidual"] = residual.grad();
  if (c.affine) out["dweight"] = weight.grad();
  if (c.affine) out["dbias"] = bias.grad();
  out["running_mean"] = mean;
  out["running_var"] = variance;
  return out;
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  const double size = std::max(1.0, expected.abs().max().item<double>());
  return (value.to(at::kDouble) - expected).abs().max().item<double>() / size;
}

const std::vector<std::vector<int64_t>> kShapes = {
    {2, 1},       {64, 3},      {5, 8},        {300, 33},       {1000, 40},      {2, 3, 1, 1},
    {1, 5, 1, 2}, {3, 7, 5, 3}, {4, 64, 8, 8}, {2, 12, 70, 67}, {130, 24, 4, 4}, {1, 2, 150, 150}};

TEST_CASE("fused normalisation equals the operators it replaces, values and gradients") {
  const Threads one(1);
  for (const auto& shape : kShapes)
    for (int flags = 0; flags < 64; ++flags) {
      const Case c{.shape = shape,
                   .channels_last = (flags & 1) != 0,
                   .training = (flags & 2) != 0,
                   .relu = (flags & 4) != 0,
                   .residual = (flags & 8) != 0,
                   .affine = (flags & 16) != 0,
                   .dtype = flags & 32 ? at::kFloat : at::kDouble};
      if (c.channels_last && shape.size() == 2) continue;
      const Inputs in(c);
      const Results expected = of_operators(c, in), found = of_layer(c, in);
      REQUIRE(found.size() == expected.size());
      for (const auto& [name, tensor] : expected) {
        CAPTURE(shape, flags, name);
        REQUIRE(found.at(name).sizes() == tensor.sizes());
        REQUIRE(found.at(name).scalar_type() == c.dtype);
        // A value within rounding of zero may fall on either side of the ReLU in float32.
        const bool edge =
            c.relu && c.dtype == at::kFloat && name[0] == 'd' && in.x.numel() > 10'000;
        REQUIRE(relative_error(found.at(name), tensor) < (c.dtype == at::kDouble ? 1e-10
                                                          : edge                 ? 1e-4
                                                                                 : 1e-5));
      }
    }
}

TEST_CASE("fused normalisation keeps the memory format, and takes any stride") {
  Case c{.shape = {4, 16, 6, 5}, .channels_last = true, .relu = true, .residual = true};
  Inputs in(c);
  const Results expected = of_operators(c, in);
  Results found = of_layer(c, in);
  CHECK(found["y"].is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(found["dx"].is_contiguous(at::MemoryFormat::ChannelsLast));
  // Each of the inputs in another format than the rest, and one in none.
  in.residual = in.residual.contiguous();
  CHECK(relative_error(of_layer(c, in)["y"], expected.at("y")) < 1e-12);
  in.direction = in.direction.contiguous();
  CHECK(relative_error(of_layer(c, in)["dx"], expected.at("dx")) < 1e-12);
  in.x = in.x.transpose(2, 3).contiguous().transpose(2, 3);
  REQUIRE(!in.x.is_contiguous());
  REQUIRE(!in.x.is_contiguous(at::MemoryFormat::ChannelsLast));
  found = of_layer(c, in);
  for (const auto& [name, tensor] : expected) {
    CAPTURE(name);
    CHECK(relative_error(found.at(name), tensor) < 1e-12);
  }
}

TEST_CASE("fused normalisation takes gradients without memory of their own") {
  const auto norm = gh::ops::fast_layers()->normalization({.channels = 3, .relu = true});
  norm->to(at::kCPU, at::kDouble);
  const at::Tensor x = normal({4, 3, 2, 2}, 8).requires_grad_(true);
  norm->forward(x).mean({2, 3}).sum().backward();  // an expanded tensor
  const at::Tensor y = x.detach().clone().requires_grad_(true);
  at::relu(at::batch_norm(y, {}, {}, {}, {}, true, 0.1, 1e-5, false)).mean({2, 3}).sum().backward();
  CHECK(x.grad().allclose(y.grad(), 1e-10, 1e-12));
}

TEST_CASE("fused normalisation gives the same bits on any number of threads") {
  for (const bool channels_last : {false, true}) {
    const Case c{.shape = {33, 40, 17, 19},
                 .channels_last = channels_last,
                 .relu = true,
                 .residual = true,
                 .dtype = at::kFloat};
    const Inputs in(c);
    const auto on_threads = [&](int count) {
      const Threads threads(count);
      return of_layer(c, in);
    };
    const Results one = on_threads(1);
    for (const int threads : {2, 3, 7}) {
      const Results several = on_threads(threads);
      for (const auto& [name, tensor] : one) {
        CAPTURE(threads, name, channels_last);
        CHECK(several.at(name).equal(tensor));
      }
    }
  }
}

TEST_CASE("fused normalisation in float32 is accurate where the mean dwarfs the deviation") {
  for (const bool channels_last : {false, true}) {
    const at::Tensor x =
        laid_out((normal({64, 8, 32, 32}, 9) + 1000).to(at::kFloat), channels_last);
    const at::Tensor rows = x.to(at::kDouble).transpose(0, 1).contiguous().flatten(1);
    const auto norm = gh::ops::fast_layers()->normalization({.channels = 8, .momentum = 1.0});
    at::NoGradGuard no_grad;
    norm->forward(x);
    CHECK(relative_error(norm->buffers()[1].tensor, rows.var({1}, true)) < 1e-6);
    const at::Tensor mean = rows.mean({1});
    CHECK(((norm->buffers()[0].tensor.to(at::kDouble) - mean) / mean).abs().max().item<double>() <
          1e-7);
  }
}

TEST_CASE("fused normalisation of a constant channel is its bias, and has no gradient but that") {
  const auto norm = gh::ops::fast_layers()->normalization({.channels = 2});
  norm->to(at::kCPU, at::kDouble);
  const at::Tensor x = at::full({3, 2, 4, 4}, 7.0, at::kDouble).requires_grad_(true);
  const at::Tensor y = norm->forward(x);
  CHECK(y.abs().max().item<double>() < 1e-12);
  (y * normal({3, 2, 4, 4}, 10)).sum().backward();
  CHECK(std::isfinite(x.grad().abs().max().item<double>()));
  CHECK(norm->parameters()[0].tensor.grad().abs().max().item<double>() < 1e-12);
}

TEST_CASE("fused normalisation passes NaN on instead of hiding it") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool channels_last : {false, true}) {
    const at::Tensor x = laid_out(normal({2, 8, 4, 4}, 11), channels_last);
    x[1][3][2][2] = nan;
    const auto norm = gh::ops::fast_layers()->normalization({.channels = 8, .relu = true});
    norm->to(at::kCPU, at::kDouble);
    at::NoGradGuard no_grad;
    const at::Tensor y = norm->forward(x);
    CHECK(y.select(1, 3).isnan().all().item<bool>());
    CHECK(!y.narrow(1, 4, 4).isnan().any().item<bool>());
  }
}

TEST_CASE("fused normalisation can be differentiated twice") {
  for (const bool training : {true, false}) {
    const auto norm = gh::ops::fast_layers()->normalization({.channels = 3, .relu = true});
    norm->to(at::kCPU, at::kDouble);
    norm->train(training);
    const at::Tensor residual = normal({4, 3, 2, 2}, 12), direction = normal({4, 3, 2, 2}, 13);
    const auto penalty = [&](const at::Tensor& x, bool layer) {
      at::Tensor y;
      if (layer)
        y = norm->forward_add(x, residual);
      else
        y = at::relu(at::batch_norm(x, norm->parameters()[0].tensor, norm->parameters()[1].tensor,
                                    at::zeros({3}, at::kDouble), at::full({3}, 1.0, at::kDouble),
                                    training, 0.1, 1e-5, false) +
                     residual);
      const auto loss = (y * y * direction).sum();
      const auto gradient = torch::autograd::grad({loss}, {x}, {}, {}, /*create_graph=*/true);
      return torch::autograd::grad({gradient[0].pow(2).sum()}, {x})[0];
    };
    const at::Tensor x = normal({4, 3, 2, 2}, 14).requires_grad_(true);
    if (!training) {
      at::NoGradGuard no_grad;
      norm->buffers()[0].tensor.zero_();
      norm->buffers()[1].tensor.fill_(1);
    }
    CHECK(penalty(x, true).allclose(penalty(x, false), 1e-9, 1e-9));
  }
}

TEST_CASE("fused normalisation in evaluation leaves the running statistics alone") {
  Case c{.shape = {6, 5, 3, 3}, .training = false, .relu = true};
  const Inputs in(c);
  const Results found = of_layer(c, in);
  CHECK(found.at("running_mean").equal(in.mean));
  CHECK(found.at("running_var").equal(in.variance));
}

TEST_CASE("one value per channel is refused in training, for images too") {
  const auto norm = gh::ops::fast_layers()->normalization({.channels = 4});
  CHECK_THROWS_AS(norm->forward(at::zeros({1, 4})), gh::Error);
  CHECK_THROWS_AS(norm->forward(at::zeros({1, 4, 1, 1})), gh::Error);
  CHECK_THROWS(norm->forward(at::zeros({6, 5})));  // another number of channels
}

TEST_CASE("fast and standard normalisation have the same tensors, and agree in float32") {
  for (int flags = 0; flags < 16; ++flags) {
    const gh::NormalizationSpec spec{.channels = 12,
                                     .momentum = 0.2,
                                     .affine = (flags & 1) != 0,
                                     .relu = (flags & 2) != 0,
                                     .zero_init = (flags & 4) != 0};
    const auto fast = gh::ops::fast_layers()->normalization(spec),
               standard = gh::standard_layers()->normalization(spec);
    const auto check_tensors = [&](double tolerance) {
      for (const auto list : {&gh::Module::parameters, &gh::Module::buffers}) {
        const auto ours = ((*fast).*list)(), theirs = ((*standard).*list)();
        REQUIRE(ours.size() == theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
          CAPTURE(flags, ours[i].name);
          CHECK(ours[i].name == theirs[i].name);
          REQUIRE(ours[i].tensor.sizes() == theirs[i].tensor.sizes());
          CHECK(ours[i].tensor.scalar_type() == theirs[i].tensor.scalar_type());
          CHECK(ours[i].tensor.requires_grad() == theirs[i].tensor.requires_grad());
          CHECK(relative_error(ours[i].tensor, theirs[i].tensor.to(at::kDouble)) <= tolerance);
        }
      }
    };
    check_tensors(0);
    fast->train((flags & 8) != 0);
    standard->train((flags & 8) != 0);
    for (uint64_t step = 0; step < 2; ++step) {
      const at::Tensor x = normal({6, 12, 5, 3}, 20 + step, at::kFloat) * 2 + 1,
                       residual = normal({6, 12, 5, 3}, 30 + step, at::kFloat);
      CAPTURE(flags, step);
      CHECK(relative_error(fast->forward(x), standard->forward(x).to(at::kDouble)) < 2e-6);
      CHECK(relative_error(fast->forward_add(x, residual),
                           standard->forward_add(x, residual).to(at::kDouble)) < 2e-6);
    }
    check_tensors(1e-6);
  }
}

// Both sets of kernels compute their definition, whichever this processor would choose.
template <class T>
void check_kernels(const gh::NormKernels<T>& k) {
  for (const int64_t channels : {1, 7, 8, 31, 32, 45, 129})
    for (const int64_t rows : {1, 2, 9, 37}) {
      CAPTURE(channels, rows, sizeof(T));
      const auto values = [&](uint64_t key, int64_t n) {
        const at::Tensor t = normal({n}, key).to(c10::CppTypeToScalarType<T>::value);
        return std::vector<T>(t.data_ptr<T>(), t.data_ptr<T>() + n);
      };
      const int64_t n = rows * channels;
      const auto x = values(1, n), r = values(2, n), dy = values(3, n), mean = values(4, channels),
                 scale = values(5, channels), bias = values(6, channels);
      std::vector<T> y(n), masked(n), dx(n);
      std::vector<double> sum(channels), product(channels), m(channels), s(channels);
      k.forward_rows({x.data(), r.data(), y.data(), mean.data(), scale.data(), bias.data(), true},
                     rows, channels);
      std::vector<T> room(channels);
      k.moments_rows(x.data(), rows, channels, room.data(), m.data(), s.data());
      const gh::NormGradient<T> g{dy.data(),    x.data(),    y.data(), mean.data(),
                                  scale.data(), bias.data(), false};
      k.reduce_rows(g, rows, channels, masked.data(), sum.data(), product.data());
      k.backward_rows(g, rows, channels, scale.data(), bias.data(), mean.data(), dx.data());
      const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
      for (int64_t c = 0; c < channels; ++c) {
        double total = 0, squares = 0, dsum = 0, dproduct = 0;
        for (int64_t i = c; i < n; i += channels) total += x[i];
        for (int64_t i = c; i < n; i += channels) {
          const double before = (double(x[i]) - mean[c]) * scale[c] + bias[c] + r[i];
          CHECK(y[i] == Approx(std::max(before, 0.0)).margin(10 * tolerance));
          const double gi = y[i] > 0 ? dy[i] : 0, d = double(x[i]) - mean[c];
          CHECK(masked[i] == static_cast<T>(gi));
          CHECK(dx[i] == Approx(scale[c] * gi + bias[c] * d + mean[c]).margin(10 * tolerance));
          dsum += gi;
          dproduct += gi * d;
          squares += std::pow(x[i] - total / rows, 2);
        }
        CHECK(m[c] == Approx(total / rows).margin(tolerance));
        CHECK(s[c] == Approx(squares).margin(10 * tolerance));
        CHECK(sum[c] == Approx(dsum).margin(10 * tolerance));
        CHECK(product[c] == Approx(dproduct).margin(10 * tolerance));
      }
    }
}

TEST_CASE("kernels of normalisation, portable and AVX2, compute their definition") {
  for (const auto& [name, kernels] : gh::test::all_kernels<gh::NormKernels<float>>()) {
    CAPTURE(name);
    check_kernels(*kernels);
  }
  for (const auto& [name, kernels] : gh::test::all_kernels<gh::NormKernels<double>>()) {
    CAPTURE(name);
    check_kernels(*kernels);
  }
}

}  // namespace
