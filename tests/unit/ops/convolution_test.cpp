// The operator, in every mode, against LibTorch's in float64 and in float32.
#include "gh/ops/convolution.hpp"

#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/random.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using gh::ops::algorithm_for;
using gh::ops::convolution;
using gh::ops::ConvolutionAlgorithm;
using gh::ops::ConvolutionArguments;
using gh::ops::ConvolutionMode;

constexpr at::MemoryFormat kPlanes = at::MemoryFormat::Contiguous,
                           kPixels = at::MemoryFormat::ChannelsLast;

bool have_kernels() { return !gh::ops::winograd_instructions().empty(); }

at::Tensor normal(at::IntArrayRef shape, uint64_t key, at::ScalarType dtype = at::kFloat) {
  const at::Tensor x = at::empty(shape, dtype);
  gh::Random(key).fill_normal(x, 0, 1);
  return x;
}

struct Shape {
  int64_t images, in, out, height, width, padding;
  int64_t stride = 1, kernel = 3;

  int64_t out_size(int64_t size) const { return (size + 2 * padding - kernel) / stride + 1; }
  // Whether the exact mode leaves it to LibTorch.
  bool never_exact() const { return stride == 2 || kernel == 1; }
  std::string text() const {
    std::string text;
    for (const int64_t n : {images, in, out, height, width, padding, stride, kernel})
      text += std::to_string(n) + " ";
    return text;
  }
};

struct Problem {
  at::Tensor x, weight, dy;
  int64_t padding, stride;

  explicit Problem(const Shape& s, uint64_t key = 0)
      : x(normal({s.images, s.in, s.height, s.width}, key + 1)),
        weight(normal({s.out, s.in, s.kernel, s.kernel}, key + 2)),
        dy(normal({s.images, s.out, s.out_size(s.height), s.out_size(s.width)}, key + 3)),
        padding(s.padding),
        stride(s.stride) {}
};

struct Passes {
  at::Tensor y, dx, dw;
  std::vector<std::pair<const char*, at::Tensor>> named() const {
    return {{"y", y}, {"dx", dx}, {"dw", dw}};
  }
};

Passes of_libtorch(const Problem& p, at::ScalarType dtype) {
  const at::Tensor x = p.x.to(dtype), weight = p.weight.to(dtype), dy = p.dy.to(dtype);
  const auto [dx, dw, db] =
      at::convolution_backward(dy, x, weight, {}, {p.stride, p.stride}, {p.padding, p.padding},
                               {1, 1}, false, {0, 0}, 1, {true, true, false});
  return {at::conv2d(x, weight, {}, p.stride, p.padding), dx, dw};
}

Passes of_operator(const Problem& p, ConvolutionMode mode, at::MemoryFormat format) {
  const at::Tensor x = p.x.contiguous(format).detach().requires_grad_(true),
                   weight = p.weight.detach().requires_grad_(true);
  const at::Tensor y = convolution(x, weight, {}, {.stride = p.stride, .padding = p.padding}, mode);
  const auto gradients =
      torch::autograd::grad({y}, {x, weight}, {p.dy.contiguous(format)}, {}, false);
  return {y.detach(), gradients[0], gradients[1]};
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  const at::Tensor e = expected.to(at::kDouble);
  return ((value.to(at::kDouble) - e).abs().max() / e.abs().max()).item<double>();
}

// Terms are about one: a sum of them that happens to be nearly zero is no measure.
double worst_error(const Passes& found, const Passes& expected) {
  const auto f = found.named(), e = expected.named();
  double worst = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const double size = std::max(1.0, e[i].second.abs().max().item<double>());
    worst = std::max(worst,
                     (f[i].second.to(at::kDouble) - e[i].second).abs().max().item<double>() / size);
  }
  return worst;
}

// Bits, not values: of zeros the sign, too.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() &&
         a.contiguous().view(at::kInt).equal(b.contiguous().view(at::kInt));
}

void check_same_bits(const Passes& found, const Passes& expected) {
  const auto f = found.named(), e = expected.named();
  for (std::size_t i = 0; i < e.size(); ++i) {
    CAPTURE(e[i].first);
    CHECK(same_bits(f[i].second, e[i].second));
  }
}

std::vector<Shape> random_shapes(int count) {
  const std::vector<int64_t> channels = {1, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 50};
  gh::Random random(11);
  const auto any_channels = [&] {
    return channels[static_cast<std::size_t>(random.below(static_cast<int64_t>(channels.size())))];
  };
  std::vector<Shape> out;
  while (static_cast<int>(out.size()) < count) {
    const int64_t kernel = out.size() % 3 == 2 ? 1 : 3, stride = 1 + random.below(2);
    const int64_t padding = kernel == 1 ? 0 : stride == 2 ? 1 : random.below(3);
    const auto side = [&] { return std::max<int64_t>(kernel - 2 * padding, 1 + random.below(9)); };
    out.push_back({1 + random.below(4), any_channels(), any_channels(), side(), side(), padding,
                   stride, kernel});
  }
  return out;
}

TEST_CASE("convolution is as exact as its mode says, values and gradients, in either format") {
  const Threads one(1);
  uint64_t key = 100;
  const auto check = [&](const Shape& shape, double fast_floor, double exact_floor) {
    const Problem problem(shape, key += 10);
    const Passes expected = of_libtorch(problem, at::kDouble);
    const double libtorch = worst_error(of_libtorch(problem, at::kFloat), expected);
    for (const at::MemoryFormat format : {kPlanes, kPixels})
      for (const ConvolutionMode mode : {ConvolutionMode::fast, ConvolutionMode::exact}) {
        if (shape.never_exact() && mode == ConvolutionMode::exact) continue;
        CAPTURE(shape.text(), format, static_cast<int>(mode), libtorch);
        const Passes found = of_operator(problem, mode, format);
        if (mode == ConvolutionMode::fast)
          CHECK(worst_error(found, expected) <= 4 * libtorch + fast_floor);
        else
          CHECK(worst_error(found, expected) <= libtorch + exact_floor);
        // With one channel or one pixel a tensor has both formats.
        if (problem.x.is_contiguous(kPixels)) continue;
        CHECK(found.y.is_contiguous(format));
        CHECK(found.dx.is_contiguous(format));
      }
  };
  // Floors, as LibTorch happens to round next to nothing where sums are short: measured were 7e-7
  // above four times its error in fast mode and 3e-7 above its error in exact mode, twice of that
  // for what another processor's LibTorch rounds. Long sums need none but for the latter.
  for (const Shape& shape : random_shapes(300)) check(shape, 1.5e-6, 5e-7);
  for (const Shape& shape :
       {Shape{64, 16, 16, 16, 16, 1}, Shape{8, 64, 64, 14, 14, 1}, Shape{4, 96, 96, 7, 7, 1},
        Shape{16, 32, 64, 16, 16, 1, 2}, Shape{4, 96, 100, 15, 13, 1, 2},
        Shape{16, 64, 96, 14, 14, 0, 1, 1}, Shape{4, 300, 100, 15, 13, 0, 2, 1}})
    check(shape, 5e-7, 2e-7);
}

TEST_CASE("gradients of a convolution agree with finite differences") {
  const Threads one(1);
  // The loss is a square of something linear in either argument: central differences have no error
  // but that of rounding, however large the step.
  for (int flags = 0; flags < 16; ++flags) {
    const ConvolutionMode mode = flags & 1 ? ConvolutionMode::fast : ConvolutionMode::exact;
    const at::MemoryFormat format = flags & 2 ? kPlanes : kPixels;
    const int64_t stride = flags & 4 ? 2 : 1, kernel = flags & 8 ? 1 : 3, padding = kernel / 2;
    const Problem p({3, 18, 20, 9, 7, padding, stride, kernel});
    const auto loss = [&](const at::Tensor& x, const at::Tensor& weight) {
      const at::Tensor y = convolution(x.contiguous(format), weight, {},
                                       {.stride = stride, .padding = padding}, mode);
      return (y.to(at::kDouble).square() * p.dy.to(at::kDouble)).sum() / 2;
    };
    const at::Tensor x = p.x.clone().requires_grad_(true),
                     weight = p.weight.clone().requires_grad_(true);
    loss(x, weight).backward();
    at::NoGradGuard no_grad;
    for (uint64_t i = 0; i < 5; ++i) {
      const at::Tensor u = normal(x.sizes(), 20 + i), v = normal(weight.sizes(), 30 + i);
      const double by_x = ((loss(x + u, weight) - loss(x - u, weight)) / 2).item<double>();
      const double by_w = ((loss(x, weight + v) - loss(x, weight - v)) / 2).item<double>();
      const double scale = x.grad().norm().item<double>() * u.norm().item<double>() * 1e-3;
      CHECK((x.grad() * u).sum().item<double>() == Approx(by_x).epsilon(1e-3).margin(scale));
      CHECK((weight.grad() * v).sum().item<double>() == Approx(by_w).epsilon(1e-3).margin(scale));
    }
  }
}

// Both ways of cutting work: weights that stay in a core's cache and, transformed to more than 3 MB
// for either tile, those that do not; gradients of weights in one sum and in several.
const std::vector<Shape> kWaysOfWork = {
    {3, 17, 40, 13, 11, 1},        {2, 160, 160, 7, 6, 1},         {1, 230, 230, 5, 5, 1},
    {40, 20, 33, 26, 25, 1},       {2, 100, 100, 12, 12, 0},       {1, 1, 1, 3, 40, 2},
    {1, 260, 20, 4, 4, 1},         {1, 20, 260, 4, 4, 1},          {3, 17, 40, 13, 11, 1, 2},
    {2, 160, 160, 7, 6, 1, 2},     {40, 20, 33, 50, 51, 1, 2},     {2, 260, 20, 6, 9, 1, 2},
    {40, 20, 33, 26, 25, 0, 1, 1}, {2, 300, 280, 13, 11, 0, 1, 1}, {3, 600, 17, 13, 11, 0, 2, 1},
    {1, 17, 600, 3, 1, 0, 1, 1}};

TEST_CASE("neither threads nor the memory format change a bit of a convolution") {
  for (const Shape& shape : kWaysOfWork)
    for (const ConvolutionMode mode : {ConvolutionMode::fast, ConvolutionMode::exact}) {
      if (!have_kernels()) return;
      if (shape.never_exact() && mode == ConvolutionMode::exact) continue;
      const Problem problem(shape);
      const auto on_threads = [&](int threads, at::MemoryFormat format) {
        const Threads several(threads);
        return of_operator(problem, mode, format);
      };
      const Passes expected = on_threads(1, kPlanes);
      for (const int threads : {1, 2, 3, 5})
        for (const at::MemoryFormat format : {kPlanes, kPixels}) {
          CAPTURE(shape.text(), static_cast<int>(mode), threads, format);
          check_same_bits(on_threads(threads, format), expected);
        }
    }
}

TEST_CASE("convolutions on several threads at once do not disturb each other") {
  std::vector<std::pair<Problem, Passes>> work;
  for (std::size_t i = 0; i < 4; ++i) {
    const Problem problem(kWaysOfWork[i], 1000 * i);
    work.emplace_back(problem, of_operator(problem, ConvolutionMode::fast, kPixels));
  }
  std::vector<std::vector<Passes>> found(work.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < work.size(); ++i)
    threads.emplace_back([&, i] {
      for (std::size_t j = 0; j < work.size(); ++j)
        found[i].push_back(of_operator(work[(i + j) % work.size()].first, ConvolutionMode::fast,
                                       j % 2 == 0 ? kPixels : kPlanes));
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < work.size(); ++i)
    for (std::size_t j = 0; j < work.size(); ++j) {
      CAPTURE(i, j);
      const Passes& expected = work[(i + j) % work.size()].second;
      if (have_kernels())
        check_same_bits(found[i][j], expected);
      else
        CHECK(worst_error(found[i][j], expected) < 1e-5);
    }
}

// ---- autograd ----

using Operator = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& weight,
                                          const at::Tensor& bias)>;

Operator libtorch(int64_t stride = 1) {
  return [=](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::conv2d(x, weight, bias, stride, weight.size(2) / 2);
  };
}

Operator ours(ConvolutionMode mode, int64_t stride = 1) {
  return [=](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return convolution(x, weight, bias, {.stride = stride, .padding = weight.size(2) / 2}, mode);
  };
}

// Each of our algorithms.
struct Choice {
  ConvolutionMode mode;
  int64_t stride, kernel;
};
const std::vector<Choice> kChoices = {{ConvolutionMode::fast, 1, 3},
                                      {ConvolutionMode::exact, 1, 3},
                                      {ConvolutionMode::fast, 2, 3},
                                      {ConvolutionMode::fast, 1, 1},
                                      {ConvolutionMode::fast, 2, 1}};

// Of the squared length of the first derivatives of Σ dy·y², one after the other and together.
std::vector<at::Tensor> second_derivatives(const Operator& op, const at::Tensor& x,
                                           const at::Tensor& weight, const at::Tensor& bias,
                                           const std::function<at::Tensor(at::Tensor)>& view) {
  const std::vector<at::Tensor> leaves = {x.detach().clone().requires_grad_(true),
                                          weight.detach().clone().requires_grad_(true),
                                          bias.detach().clone().requires_grad_(true)};
  std::vector<at::Tensor> out;
  for (const int which : {0, 1, 2, 3}) {
    const at::Tensor y = op(view(leaves[0]), leaves[1], leaves[2]);
    const at::Tensor loss = (y.square() * normal(y.sizes(), 44)).sum();
    const auto first = torch::autograd::grad({loss}, leaves, {}, {}, /*create_graph=*/true);
    const at::Tensor length =
        which == 3 ? first[0].square().sum() + first[1].square().sum() + first[2].square().sum()
                   : first[static_cast<std::size_t>(which)].square().sum();
    for (const at::Tensor& g : torch::autograd::grad({length}, leaves, {}, {}, false, true))
      out.push_back(g);
  }
  return out;
}

TEST_CASE("a convolution can be differentiated twice, whatever the strides of its input") {
  const Threads one(1);
  const std::vector<std::pair<const char*, std::function<at::Tensor(at::Tensor)>>> views = {
      {"planes", [](const at::Tensor& x) { return x; }},
      {"pixels", [](const at::Tensor& x) { return x.contiguous(kPixels); }},
      {"a slice", [](const at::Tensor& x) { return x.slice(3, 0, 8, 2); }},
      {"transposed", [](const at::Tensor& x) { return x.transpose(2, 3); }},
      {"expanded", [](const at::Tensor& x) {
         return x.slice(0, 0, 1).expand({3, -1, -1, -1});
       }}};
  const at::Tensor x = normal({3, 17, 6, 9}, 41), bias = normal({18}, 43);
  for (const auto& [name, view] : views)
    for (const auto& [mode, stride, kernel] : kChoices) {
      const at::Tensor weight = normal({18, 17, kernel, kernel}, 42) / 10;
      const auto expected = second_derivatives(libtorch(stride), x, weight, bias, view),
                 found = second_derivatives(ours(mode, stride), x, weight, bias, view);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(name, static_cast<int>(mode), stride, i / 3, i % 3);
        REQUIRE(found[i].defined() == expected[i].defined());
        if (expected[i].defined()) CHECK(relative_error(found[i], expected[i]) < 2e-5);
      }
    }
}

TEST_CASE("only what requires a gradient gets one") {
  const Threads one(1);
  for (int needs = 1; needs < 8; ++needs)
    for (const auto& [mode, stride, kernel] : kChoices) {
      const at::Tensor dy = normal({2, 18, 6 / stride, (7 - 1) / stride + 1}, 50);
      const auto gradients = [&, kernel = kernel](const Operator& op) {
        const std::vector<at::Tensor> in = {normal({2, 17, 6, 7}, 51),
                                            normal({18, 17, kernel, kernel}, 52), normal({18}, 53)};
        for (std::size_t i = 0; i < 3; ++i) in[i].requires_grad_((needs >> i & 1) != 0);
        op(in[0], in[1], in[2]).backward(dy);
        return std::vector<at::Tensor>{in[0].grad(), in[1].grad(), in[2].grad()};
      };
      const auto expected = gradients(libtorch(stride)), found = gradients(ours(mode, stride));
      for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(needs, i, static_cast<int>(mode), stride);
        REQUIRE(found[i].defined() == ((needs >> i & 1) != 0));
        if (found[i].defined()) CHECK(relative_error(found[i], expected[i]) < 5e-6);
      }
    }
}

TEST_CASE("a convolution takes any stride, and gives x's memory format") {
  const Threads one(1);
  const at::Tensor wide = normal({6, 40, 9, 14}, 60), taps = normal({40, 18, 3, 3}, 61);
  const std::vector<std::pair<const char*, at::Tensor>> inputs = {
      {"channels", wide.slice(1, 3, 21)},
      {"columns", wide.slice(1, 0, 18).slice(3, 1, 14, 2)},
      {"images", wide.slice(1, 0, 18).slice(0, 1, 6, 2)},
      {"transposed", wide.slice(1, 0, 18).transpose(2, 3)},
      {"expanded", wide.slice(0, 0, 1).slice(1, 0, 18).contiguous().expand({4, 18, 9, 14})},
      {"one value", normal({1, 1, 1, 1}, 62).expand({2, 18, 5, 6})},
      {"pixels' channels", wide.contiguous(kPixels).slice(1, 2, 20)}};
  const std::vector<std::pair<const char*, at::Tensor>> weights = {
      {"plain", taps},
      {"pixels", taps.contiguous(kPixels)},
      {"transposed", taps.transpose(2, 3)},
      {"a slice", taps.slice(0, 1, 40, 3)},
      {"expanded", normal({1, 18, 3, 3}, 63).expand({7, 18, 3, 3})}};
  for (const auto& [of_x, x_] : inputs)
    for (const auto& [of_weight, weight_] : weights)
      for (const auto& [mode, stride, kernel] : kChoices) {
        CAPTURE(of_x, of_weight, static_cast<int>(mode), stride);
        const at::Tensor
            x = x_.detach().requires_grad_(true),
            weight = weight_.slice(2, 0, kernel).slice(3, 0, kernel).detach().requires_grad_(true);
        const at::Tensor y = ours(mode, stride)(x, weight, {}),
                         expected = libtorch(stride)(x, weight, {});
        REQUIRE(y.sizes() == expected.sizes());
        CHECK(relative_error(y.detach(), expected.detach()) < 5e-6);
        // A gradient without memory of its own, as the mean makes it.
        const auto a = torch::autograd::grad({y.mean()}, {x, weight}),
                   b = torch::autograd::grad({expected.mean()}, {x, weight});
        CHECK(relative_error(a[0], b[0]) < 5e-6);
        CHECK(relative_error(a[1], b[1]) < 5e-6);
      }
  const at::Tensor pixels = wide.slice(1, 0, 18).contiguous(kPixels);
  for (const auto& [mode, stride, kernel] : kChoices) {
    const at::Tensor weight = taps.slice(2, 0, kernel).slice(3, 0, kernel);
    CHECK(ours(mode, stride)(pixels, weight, {}).is_contiguous(kPixels));
    CHECK(ours(mode, stride)(pixels.contiguous(), weight, normal({40}, 64)).is_contiguous());
  }
}

TEST_CASE("without gradients a convolution records nothing, and gives the same") {
  const at::Tensor x = normal({2, 17, 6, 7}, 70);
  for (const auto& [mode, stride, kernel] : kChoices) {
    const at::Tensor weight = normal({18, 17, kernel, kernel}, 71).requires_grad_(true);
    const at::Tensor y = ours(mode, stride)(x, weight, {});
    CHECK(y.requires_grad());
    {
      at::NoGradGuard no_grad;
      const at::Tensor plain = ours(mode, stride)(x, weight, {});
      CHECK(!plain.requires_grad());
      CHECK(plain.equal(y));
    }
    {
      c10::InferenceMode inference;
      CHECK(ours(mode, stride)(x, weight, {}).equal(y));
    }
  }
}

TEST_CASE("autograd notices that a weight was overwritten after the convolution") {
  if (!have_kernels()) return;
  const at::Tensor x = normal({2, 17, 6, 7}, 72).requires_grad_(true),
                   weight = normal({18, 17, 3, 3}, 73).requires_grad_(true);
  const at::Tensor y = ours(ConvolutionMode::fast)(x, weight, {});
  {
    at::NoGradGuard no_grad;
    weight.add_(1);
  }
  CHECK_THROWS_WITH(y.sum().backward(), Catch::Contains("modified by an inplace operation"));
}

// ---- choice of the algorithm ----

TEST_CASE("the algorithm follows from mode, shape and type") {
  if (!have_kernels()) {
    WARN("no kernels on this processor");
    CHECK(algorithm_for(at::zeros({1, 32, 8, 8}), at::zeros({32, 32, 3, 3}), {},
                        ConvolutionMode::fast) == ConvolutionAlgorithm::libtorch);
    return;
  }
  const auto in_modes = [](const at::Tensor& x, const at::Tensor& weight,
                           const ConvolutionArguments& arguments) {
    std::vector<int> out;
    for (const ConvolutionMode mode : {ConvolutionMode::automatic, ConvolutionMode::fast,
                                       ConvolutionMode::exact, ConvolutionMode::onednn})
      out.push_back(static_cast<int>(algorithm_for(x, weight, arguments, mode)));
    return out;
  };
  const int none = static_cast<int>(ConvolutionAlgorithm::libtorch),
            two = static_cast<int>(ConvolutionAlgorithm::winograd_2),
            four = static_cast<int>(ConvolutionAlgorithm::winograd_4),
            stride_2 = static_cast<int>(ConvolutionAlgorithm::winograd_stride_2),
            one = static_cast<int>(ConvolutionAlgorithm::pointwise);
  using Modes = std::vector<int>;  // automatic, fast, exact, onednn
  const Modes winograd = {four, four, two, none}, forced = {none, four, two, none},
              strided = {stride_2, stride_2, none, none}, libtorch(4, none);
  const at::Tensor x = at::zeros({4, 32, 12, 12}), weight = at::zeros({32, 32, 3, 3});
  for (const int64_t padding : {0, 1, 2})
    CHECK(in_modes(x, weight, {.padding = padding}) == winograd);
  CHECK(in_modes(x.contiguous(kPixels), weight, {.padding = 1}) == winograd);
  CHECK(in_modes(x.slice(3, 0, 12, 2), weight, {.padding = 1}) == winograd);
  CHECK(in_modes(x.slice(1, 0, 3), weight.slice(1, 0, 3), {.padding = 1}) == forced);
  CHECK(in_modes(x, weight.slice(0, 0, 3), {.padding = 1}) == forced);
  CHECK(in_modes(x, weight, {.padding = 3}) == libtorch);
  CHECK(in_modes(x, at::zeros({32, 32, 1, 1}), {}) == Modes{none, one, none, none});
  CHECK(in_modes(x, at::zeros({32, 32, 1, 1}), {.stride = 2}) == Modes{none, one, none, none});
  CHECK(in_modes(x, at::zeros({32, 32, 1, 1}), {.padding = 1}) == libtorch);
  // Large weights for few pixels.
  const at::Tensor few = at::zeros({8, 1024, 7, 7}), large = at::zeros({512, 1024, 1, 1});
  CHECK(in_modes(few.contiguous(kPixels), large, {}) == Modes{one, one, none, none});
  CHECK(in_modes(few, large, {}) == Modes{none, one, none, none});
  const at::Tensor fewer = few.slice(0, 0, 4).contiguous(kPixels),
                   many = at::zeros({8, 1024, 14, 14}).contiguous(kPixels);
  CHECK(in_modes(fewer, large, {}) == Modes{none, one, none, none});
  // Elsewhere with AVX-512 only, and not large weights for many pixels.
  const int wide = gh::ops::winograd_instructions() == "avx512" ? one : none;
  CHECK(in_modes(many, large, {}) == Modes{wide, one, none, none});
  const at::Tensor more = at::zeros({8, 512, 28, 28}).contiguous(kPixels);
  CHECK(in_modes(more, at::zeros({128, 512, 1, 1}), {}) == Modes{wide, one, none, none});
  CHECK(in_modes(more, at::zeros({256, 512, 1, 1}), {}) == Modes{none, one, none, none});
  CHECK(in_modes(more, at::zeros({1024, 512, 1, 1}), {.stride = 2}) == Modes{one, one, none, none});
  CHECK(in_modes(many, large, {.stride = 2}) == Modes{one, one, none, none});
  CHECK(in_modes(few.slice(1, 0, 1000).contiguous(kPixels), at::zeros({600, 1000, 1, 1}), {}) ==
        Modes{none, one, none, none});
  CHECK(in_modes(x, at::zeros({32, 32, 5, 5}), {.padding = 2}) == libtorch);
  CHECK(in_modes(x, at::zeros({32, 32, 3, 1}), {.padding = 1}) == libtorch);
  CHECK(in_modes(x, at::zeros({32, 32, 1, 3}), {.padding = 1}) == libtorch);
  CHECK(in_modes(at::zeros({8, 32, 16, 16}), weight, {.stride = 2, .padding = 1}) == strided);
  CHECK(in_modes(at::zeros({8, 32, 14, 14}), weight, {.stride = 2, .padding = 1}) == strided);
  CHECK(in_modes(x.slice(1, 0, 3), weight.slice(1, 0, 3), {.stride = 2, .padding = 1}) ==
        Modes{none, stride_2, none, none});
  // Tiles that are mostly filling, or few.
  CHECK(in_modes(at::zeros({8, 32, 2, 2}), weight, {.padding = 1}) == forced);
  CHECK(in_modes(at::zeros({1, 32, 7, 7}), weight, {.padding = 1}) == forced);
  CHECK(in_modes(x, weight, {.stride = 2, .padding = 1}) == Modes{none, stride_2, none, none});
  CHECK(in_modes(x, weight, {.stride = 2}) == libtorch);
  CHECK(in_modes(x, weight, {.stride = 2, .padding = 2}) == libtorch);
  CHECK(in_modes(x, weight, {.stride = 3, .padding = 1}) == libtorch);
  CHECK(in_modes(x, weight, {.padding = 2, .dilation = 2}) == libtorch);
  CHECK(in_modes(x, at::zeros({32, 16, 3, 3}), {.padding = 1, .groups = 2}) == libtorch);
  CHECK(in_modes(x.to(at::kDouble), weight.to(at::kDouble), {.padding = 1}) == libtorch);
  CHECK(in_modes(x.to(at::kBFloat16), weight.to(at::kBFloat16), {.padding = 1}) == libtorch);
  CHECK(in_modes(x.slice(0, 0, 0), weight, {.padding = 1}) == libtorch);  // no image
}

TEST_CASE("what our algorithms do not take, LibTorch computes, in every mode") {
  struct Other {
    at::Tensor x, weight;
    ConvolutionArguments arguments;
  };
  const at::Tensor x = normal({2, 16, 9, 8}, 80), weight = normal({16, 16, 3, 3}, 81);
  const std::vector<Other> others = {{x, normal({8, 16, 1, 1}, 82), {.padding = 1}},
                                     {x, normal({8, 16, 5, 5}, 83), {.padding = 2}},
                                     {x, weight, {.padding = 3}},
                                     {x, weight, {.stride = 3, .padding = 1}},
                                     {x, weight, {.stride = 2}},
                                     {x, weight, {.padding = 1, .dilation = 2}},
                                     {x, normal({16, 4, 3, 3}, 84), {.padding = 1, .groups = 4}},
                                     {x, normal({16, 1, 3, 3}, 85), {.padding = 1, .groups = 16}},
                                     {x.to(at::kDouble), weight.to(at::kDouble), {.padding = 1}},
                                     {x.slice(0, 0, 0), weight, {.padding = 1}}};
  for (const ConvolutionMode mode : {ConvolutionMode::automatic, ConvolutionMode::fast,
                                     ConvolutionMode::exact, ConvolutionMode::onednn})
    for (const Other& o : others) {
      const auto& [stride, padding, dilation, groups] = o.arguments;
      const at::Tensor bias = normal({o.weight.size(0)}, 86, o.x.scalar_type());
      CAPTURE(static_cast<int>(mode), o.x.sizes(), o.weight.sizes(), stride, padding);
      CHECK(convolution(o.x, o.weight, bias, o.arguments, mode)
                .equal(at::conv2d(o.x, o.weight, bias, stride, padding, dilation, groups)));
    }
}

// Autocast of the CPU to bfloat16 as long as it lives.
class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

TEST_CASE("what crashes oneDNN is never given to it: strided 1×1 kernels on few channels") {
  if (!have_kernels()) return;
  for (const ConvolutionMode mode : {ConvolutionMode::automatic, ConvolutionMode::fast,
                                     ConvolutionMode::exact, ConvolutionMode::onednn})
    for (const int64_t channels : {4, 8, 12}) {
      const at::Tensor x = normal({7, channels, 32, 32}, 1).contiguous(kPixels);
      const at::Tensor weight =
          normal({2 * channels, channels, 1, 1}, 2).contiguous(kPixels).requires_grad_();
      REQUIRE(algorithm_for(x, weight, {.stride = 2}, mode) == ConvolutionAlgorithm::pointwise);
      const at::Tensor y = convolution(x, weight, {}, {.stride = 2}, mode);
      const at::Tensor gradient = normal(y.sizes(), 3);
      const at::Tensor got = torch::autograd::grad({y}, {weight}, {gradient})[0];
      const at::Tensor pixels = x.slice(2, 0, 32, 2).slice(3, 0, 32, 2).to(at::kDouble);
      const at::Tensor want = gradient.to(at::kDouble)
                                  .permute({1, 0, 2, 3})
                                  .flatten(1)
                                  .mm(pixels.permute({1, 0, 2, 3}).flatten(1).t());
      CHECK((got.flatten(1) - want).abs().max().item<double>() <
            1e-5 * want.abs().max().item<double>());
    }
}

TEST_CASE("under autocast a convolution is LibTorch's, in bfloat16") {
  const at::Tensor x = normal({2, 16, 9, 8}, 90), weight = normal({16, 16, 3, 3}, 91);
  for (const ConvolutionMode mode : {ConvolutionMode::automatic, ConvolutionMode::fast}) {
    const Autocast on;
    CHECK(algorithm_for(x, weight, {.padding = 1}, mode) == ConvolutionAlgorithm::libtorch);
    const at::Tensor y = ours(mode)(x, weight, {});
    CHECK(y.scalar_type() == at::kBFloat16);
    CHECK(y.equal(at::conv2d(x, weight, {}, 1, 1)));
    // Types that differ are none of an error here.
    CHECK(ours(mode)(x.to(at::kBFloat16), weight, {}).equal(y));
  }
  CHECK(ours(ConvolutionMode::fast)(x, weight, {}).scalar_type() == at::kFloat);
}

// ---- refusals ----

void check_refused(gh::ErrorCode code, const std::string& words,
                   const std::function<void()>& call) {
  CAPTURE(words);
  try {
    call();
    FAIL_CHECK("not refused");
  } catch (const gh::Error& error) {
    CHECK(error.code() == code);
    CHECK_THAT(error.what(), Catch::Contains(words));
  } catch (const std::exception& error) {
    FAIL_CHECK("another error: " << error.what());
  }
}

TEST_CASE("a wrong argument is refused by its name, in every mode") {
  const at::Tensor x = normal({2, 16, 6, 7}, 95), weight = normal({18, 16, 3, 3}, 96),
                   bias = normal({18}, 97);
  const auto shape = gh::ErrorCode::shape, value = gh::ErrorCode::invalid_param;
  for (const ConvolutionMode mode : {ConvolutionMode::automatic, ConvolutionMode::fast,
                                     ConvolutionMode::exact, ConvolutionMode::onednn}) {
    CAPTURE(static_cast<int>(mode));
    const auto refuse = [&](gh::ErrorCode code, const std::string& words, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const ConvolutionArguments& arguments) {
      check_refused(code, words, [&] { convolution(x, weight, bias, arguments, mode); });
      if (!bias.defined())
        check_refused(code, words, [&] { algorithm_for(x, weight, arguments, mode); });
    };
    refuse(shape, "x must be [N,C,H,W], got", {}, weight, {}, {});
    refuse(shape, "x must be [N,C,H,W], got [16, 6, 7]", x[0], weight, {}, {});
    refuse(shape, "x has 15 channels", x.slice(1, 0, 15), weight, {}, {});
    refuse(shape, "x [2, 16, 2, 7] with padding 0 is smaller than weight", x.slice(2, 0, 2), weight,
           {}, {});
    refuse(shape, "x [2, 16, 6, 2] with padding 0 is smaller than weight", x.slice(3, 0, 2), weight,
           {}, {});
    refuse(shape, "with dilation 4", x, weight, {}, {.padding = 0, .dilation = 4});
    refuse(shape, "weight must be [K,C/groups,h,w]", x, {}, {}, {});
    refuse(shape, "weight must be [K,C/groups,h,w] and not empty, got [16, 3, 3]", x, weight[0], {},
           {});
    refuse(shape, "weight must be [K,C/groups,h,w] and not empty", x, weight.slice(0, 0, 0), {},
           {});
    refuse(shape, "weight must be Float as x, got Double", x, weight.to(at::kDouble), {}, {});
    refuse(shape, "bias must be [18], got [17]", x, weight, bias.slice(0, 0, 17), {});
    refuse(shape, "bias must be [18], got [1, 18]", x, weight, bias.view({1, 18}), {});
    refuse(shape, "bias must be", x, weight, bias.to(at::kDouble), {.padding = 1});
    refuse(value, "stride must be at least 1, got 0", x, weight, {}, {.stride = 0});
    refuse(value, "padding must not be negative, got -1", x, weight, {}, {.padding = -1});
    refuse(value, "dilation must be at least 1, got 0", x, weight, {}, {.dilation = 0});
    refuse(value, "groups must divide the 18 outputs of weight, got 0", x, weight, {},
           {.groups = 0});
    refuse(value, "groups must divide the 18 outputs of weight, got 4", x, weight, {},
           {.groups = 4});
    refuse(shape, "weight [18, 16, 3, 3] in 2 groups takes 32", x, weight, {}, {.groups = 2});
  }
}

TEST_CASE("modes have names") {
  using gh::ops::convolution_mode;
  CHECK(convolution_mode("auto") == ConvolutionMode::automatic);
  CHECK(convolution_mode("fast") == ConvolutionMode::fast);
  CHECK(convolution_mode("exact") == ConvolutionMode::exact);
  CHECK(convolution_mode("onednn") == ConvolutionMode::onednn);
  for (const char* name : {"quick", "", "Fast", "automatic"})
    check_refused(gh::ErrorCode::invalid_param, "got \"" + std::string(name) + "\"",
                  [&] { convolution_mode(name); });
}

}  // namespace
