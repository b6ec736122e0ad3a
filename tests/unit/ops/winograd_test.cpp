// Winograd's convolution with each set of kernels, whichever this processor would choose.
#include "winograd.hpp"

#include "unit/ops/fenced.hpp"
#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/random.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using gh::WinogradKind;

struct Kernels {
  std::string name;
  const gh::WinogradKernels* kernels;
};

const std::vector<std::pair<const char*, WinogradKind>> kKinds = {
    {"tile_2", WinogradKind::tile_2},
    {"tile_4", WinogradKind::tile_4},
    {"stride_2", WinogradKind::stride_2}};

std::vector<Kernels> all_kernels() {
  std::vector<Kernels> out;
  for (const auto& [set, family] : gh::test::all_kernels<gh::WinogradFamily>())
    for (const auto& [name, kind] : kKinds) out.push_back({set + " " + name, family->of(kind)});
  return out;
}

at::MemoryFormat format_of(const gh::WinogradShape& s) {
  return s.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

at::Tensor normal(at::IntArrayRef shape, uint64_t key, at::MemoryFormat format) {
  const at::Tensor x = at::empty(shape, at::kFloat);
  gh::Random(key).fill_normal(x, 0, 1);
  return x.contiguous(format);
}

struct Problem {
  gh::WinogradShape shape;
  at::Tensor x, weight, dy;

  explicit Problem(const gh::WinogradShape& s)
      : shape(s),
        x(normal({s.images, s.in, s.height, s.width}, 1, format_of(s))),
        weight(normal({s.out, s.in, 3, 3}, 2, at::MemoryFormat::ChannelsLast)),
        dy(normal({s.images, s.out, s.out_height(), s.out_width()}, 3, format_of(s))) {}
};

struct Passes {
  at::Tensor y, dx, dw;
  std::vector<std::pair<const char*, at::Tensor>> named() const {
    return {{"y", y}, {"dx", dx}, {"dw", dw}};
  }
};

Passes of_kernels(const gh::WinogradKernels& kernels, const Problem& p) {
  const gh::Winograd winograd(kernels, p.shape);
  // What an output held before must not matter.
  const auto room = [](const at::Tensor& like, at::MemoryFormat format) {
    return at::full(like.sizes(), std::numeric_limits<double>::quiet_NaN(), at::kFloat)
        .contiguous(format);
  };
  const at::MemoryFormat format = format_of(p.shape);
  const Passes out{room(p.dy, format), room(p.x, format),
                   room(p.weight, at::MemoryFormat::ChannelsLast)};
  const float *x = p.x.data_ptr<float>(), *weight = p.weight.data_ptr<float>(),
              *dy = p.dy.data_ptr<float>();
  winograd.convolve(x, weight, out.y.data_ptr<float>(), gh::Way::forward);
  winograd.convolve(dy, weight, out.dx.data_ptr<float>(), gh::Way::backward);
  winograd.weight_gradient(x, dy, out.dw.data_ptr<float>());
  return out;
}

Passes in_float64(const Problem& p) {
  const at::Tensor x = p.x.to(at::kDouble).contiguous(),
                   weight = p.weight.to(at::kDouble).contiguous(),
                   dy = p.dy.to(at::kDouble).contiguous();
  const int64_t padding = p.shape.padding, stride = p.shape.stride;
  const auto [dx, dw, db] =
      at::convolution_backward(dy, x, weight, {}, {stride, stride}, {padding, padding}, {1, 1},
                               false, {0, 0}, 1, {true, true, false});
  return {at::conv2d(x, weight, {}, stride, padding), dx, dw};
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  const at::Tensor e = expected.to(at::kDouble);
  const double error = (value.to(at::kDouble) - e).abs().max().item<double>();
  return std::isnan(error) ? error : error / std::max(1e-30, e.abs().max().item<double>());
}

// Each remainder of channels by lanes and panels, of sizes by tiles, of products by rows; several
// panels on either side; one and several shares of the gradient of weights.
std::vector<gh::WinogradShape> shapes(int64_t stride) {
  std::vector<gh::WinogradShape> out;
  gh::Random random(7);
  for (int i = 0; i < 60; ++i) {
    const int64_t padding = stride == 2 ? 1 : random.below(3);
    const auto side = [&] { return std::max<int64_t>(3 - 2 * padding, 1 + random.below(18)); };
    out.push_back({.images = 1 + random.below(4),
                   .in = 1 + random.below(40),
                   .out = 1 + random.below(40),
                   .height = side(),
                   .width = side(),
                   .stride = stride,
                   .padding = padding,
                   .channels_last = i % 2 == 0});
  }
  for (const bool channels_last : {false, true}) {
    out.push_back({1, 1, 1, 1, 1, stride, 1, channels_last});
    out.push_back({1, 300, 20, 5, 5, stride, 1, channels_last});  // more than the first cache holds
    out.push_back({1, 20, 300, 5, 5, stride, 1, channels_last});
    out.push_back({2, 160, 160, 6, 5, stride, 1, channels_last});  // weights that do not stay
    out.push_back({24, 17, 19, 30 * stride, 29 * stride, stride, 1, channels_last});
    out.push_back({1, 3, 5, 2, 300, stride, 1, channels_last});  // a strip longer than a block
  }
  return out;
}

std::string text(const gh::WinogradShape& s) {
  std::string out;
  for (const int64_t n : {s.images, s.in, s.out, s.height, s.width, s.stride, s.padding})
    out += std::to_string(n) + " ";
  return out + (s.channels_last ? "pixels" : "planes");
}

TEST_CASE("Winograd's convolution of every kernel set is that of float64, all three passes") {
  const Threads one(1);
  const auto sets = all_kernels();
  for (const int64_t stride : {1, 2})
    for (const gh::WinogradShape& s : shapes(stride)) {
      const Problem problem(s);
      const auto expected = in_float64(problem).named();
      for (const Kernels& k : sets) {
        if (k.kernels->stride != stride) continue;
        const auto found = of_kernels(*k.kernels, problem).named();
        const double tolerance = k.kernels->tile == 4 ? 1e-5 : 3e-6;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(k.name, expected[i].first, text(s));
          CHECK(relative_error(found[i].second, expected[i].second) < tolerance);
        }
      }
    }
}

TEST_CASE("AVX2 and AVX-512 kernels give the same but for rounding") {
  const Threads one(1);
  const auto sets = gh::test::all_kernels<gh::WinogradFamily>();
  if (sets.size() < 2) {
    WARN("this processor has not both of AVX2 and AVX-512");
    return;
  }
  for (const auto& [name, kind] : kKinds) {
    const gh::WinogradKernels *wide = sets[0].kernels->of(kind),
                              *narrow = sets[1].kernels->of(kind);
    for (const gh::WinogradShape& s : shapes(narrow->stride)) {
      const Problem problem(s);
      const auto a = of_kernels(*narrow, problem).named(), b = of_kernels(*wide, problem).named();
      for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(name, a[i].first, text(s));
        CHECK(relative_error(a[i].second, b[i].second) < 3e-6);
      }
    }
  }
}

TEST_CASE("NaN and infinity in one image reach that image alone") {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const Kernels& k : all_kernels())
    for (const bool channels_last : {false, true})
      for (const double bad : {nan, infinity}) {
        CAPTURE(k.name, channels_last, bad);
        const gh::WinogradShape shape{5, 20, 18, 7, 6, k.kernels->stride, 1, channels_last};
        const Passes clean = of_kernels(*k.kernels, Problem(shape));
        const Problem problem(shape);
        // The first value of an image and the last one, next to those of others.
        for (const at::Tensor& t : {problem.x[2], problem.dy[2]}) {
          t[0][0][0] = bad;
          t[-1][-1][-1] = bad;
        }
        const Passes found = of_kernels(*k.kernels, problem);
        for (int64_t image = 0; image < 5; ++image) {
          CHECK(found.y[image].equal(clean.y[image]) == (image != 2));
          CHECK(found.dx[image].equal(clean.dx[image]) == (image != 2));
        }
        // Where it is a term of the sum, it shows.
        CHECK(!found.y[2].select(2, -1).select(1, -1).isfinite().any().item<bool>());
        CHECK(!found.dx[2].select(2, 0).select(1, 0).isfinite().any().item<bool>());
        CHECK(!found.dw.isfinite().all().item<bool>());
        // Nor does it stay behind in memory that the next call gets.
        const Passes after = of_kernels(*k.kernels, Problem(shape));
        CHECK(after.y.equal(clean.y));
        CHECK(after.dx.equal(clean.dx));
        CHECK(after.dw.equal(clean.dw));
      }
}

TEST_CASE("nothing is read or written beside the arrays") {
  const Threads one(1);
  for (const Kernels& k : all_kernels())
    for (const gh::WinogradShape& s : shapes(k.kernels->stride))
      for (const bool at_end : {false, true}) {
        if (s.images > 4) continue;
        const Problem p(s);
        const Passes expected = of_kernels(*k.kernels, p);
        const Fenced x(p.x, at_end), weight(p.weight, at_end), dy(p.dy, at_end);
        const Fenced y(p.dy, at_end), dx(p.x, at_end), dw(p.weight, at_end);
        const gh::Winograd winograd(*k.kernels, s);
        winograd.convolve(x.data(), weight.data(), y.data(), gh::Way::forward);
        winograd.convolve(dy.data(), weight.data(), dx.data(), gh::Way::backward);
        winograd.weight_gradient(x.data(), dy.data(), dw.data());
        CAPTURE(k.name, text(s));
        CHECK(y.equals(expected.y));
        CHECK(dx.equals(expected.dx));
        CHECK(dw.equals(expected.dw));
        CHECK(x.equals(p.x));
        CHECK(dy.equals(p.dy));
        CHECK(weight.equals(p.weight));
      }
}

}  // namespace
