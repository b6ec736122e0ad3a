// 1×1 convolutions with each set of kernels, whichever this processor would choose.
#include "pointwise.hpp"

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
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

auto all_kernels() { return gh::test::all_kernels<gh::PointwiseKernels>(); }

constexpr at::MemoryFormat kPixels = at::MemoryFormat::ChannelsLast;

at::Tensor normal(at::IntArrayRef shape, uint64_t key) {
  const at::Tensor x = at::empty(shape, at::kFloat);
  gh::Random(key).fill_normal(x, 0, 1);
  return x.contiguous(kPixels);
}

struct Problem {
  gh::PointwiseShape shape;
  at::Tensor x, weight, dy;

  explicit Problem(const gh::PointwiseShape& s)
      : shape(s),
        x(normal({s.images, s.in, s.height, s.width}, 1)),
        weight(normal({s.out, s.in, 1, 1}, 2)),
        dy(normal({s.images, s.out, s.out_height(), s.out_width()}, 3)) {}
};

// The output, the gradient of the data, the gradient of the weights.
using Passes = std::vector<at::Tensor>;

void compute(const gh::PointwiseKernels& kernels, const gh::PointwiseShape& shape, const float* x,
             const float* weight, const float* dy, const std::vector<float*>& out) {
  const gh::Pointwise pointwise(kernels, shape);
  pointwise.output(x, weight, out[0]);
  pointwise.data_gradient(dy, weight, out[1]);
  pointwise.weight_gradient(x, dy, out[2]);
}

Passes of_kernels(const gh::PointwiseKernels& kernels, const Problem& p) {
  Passes out;
  std::vector<float*> places;
  for (const at::Tensor& like : {p.dy, p.x, p.weight}) {
    // What an output held before must not matter.
    const double nan = std::numeric_limits<double>::quiet_NaN();
    out.push_back(at::full(like.sizes(), nan, at::kFloat).contiguous(kPixels));
    places.push_back(out.back().data_ptr<float>());
  }
  compute(kernels, p.shape, p.x.data_ptr<float>(), p.weight.data_ptr<float>(),
          p.dy.data_ptr<float>(), places);
  return out;
}

Passes in_float64(const Problem& p) {
  const at::Tensor x = p.x.to(at::kDouble), weight = p.weight.to(at::kDouble),
                   dy = p.dy.to(at::kDouble);
  const int64_t stride = p.shape.stride;
  const auto [dx, dw, db] = at::convolution_backward(dy, x, weight, {}, {stride, stride}, {0, 0},
                                                     {1, 1}, false, {0, 0}, 1, {true, true, false});
  return {at::conv2d(x, weight, {}, stride), dx, dw};
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value.to(at::kDouble) - expected).abs().max() / expected.abs().max().clamp_min(1))
      .item<double>();
}

// Each remainder of channels by lanes and panels, of pixels by rows and by strides; sums longer
// than a panel in the first cache; one and several pieces and shares of the gradient of weights.
std::vector<gh::PointwiseShape> shapes() {
  std::vector<gh::PointwiseShape> out;
  gh::Random random(7);
  for (int i = 0; i < 100; ++i)
    out.push_back({.images = 1 + random.below(4),
                   .in = 1 + random.below(140),
                   .out = 1 + random.below(140),
                   .height = 1 + random.below(12),
                   .width = 1 + random.below(12),
                   .stride = 1 + random.below(3)});
  out.push_back({1, 1, 1, 1, 1, 1});
  out.push_back({1, 1, 1, 1, 1, 4});
  out.push_back({2, 300, 20, 5, 5, 1});
  out.push_back({1, 600, 530, 3, 4, 1});
  out.push_back({6, 17, 33, 40, 39, 1});
  out.push_back({6, 33, 17, 61, 60, 2});
  return out;
}

std::string text(const gh::PointwiseShape& s) {
  std::string out;
  for (const int64_t n : {s.images, s.in, s.out, s.height, s.width, s.stride})
    out += std::to_string(n) + " ";
  return out;
}

TEST_CASE("1×1 convolutions of every kernel set are those of float64, with the same bits") {
  const Threads one(1);
  const auto sets = all_kernels();
  for (const gh::PointwiseShape& s : shapes()) {
    const Problem problem(s);
    const Passes expected = in_float64(problem);
    std::vector<Passes> found;
    for (const auto& [name, kernels] : sets) {
      found.push_back(of_kernels(*kernels, problem));
      for (std::size_t pass = 0; pass < expected.size(); ++pass) {
        CAPTURE(name, pass, text(s));
        CHECK(relative_error(found.back()[pass], expected[pass]) < 2e-6);
        CHECK(found.back()[pass].equal(found[0][pass]));
      }
    }
  }
}

TEST_CASE("a 1×1 convolution reads and writes nothing beside its arrays") {
  const Threads one(1);
  for (const auto& [name, kernels] : all_kernels())
    for (const gh::PointwiseShape& s : shapes())
      for (const bool at_end : {false, true}) {
        if (s.pixels() > 2000) continue;
        const Problem p(s);
        const Passes expected = of_kernels(*kernels, p);
        const Fenced x(p.x, at_end), weight(p.weight, at_end), dy(p.dy, at_end);
        const Fenced y(p.dy, at_end), dx(p.x, at_end), dw(p.weight, at_end);
        compute(*kernels, s, x.data(), weight.data(), dy.data(), {y.data(), dx.data(), dw.data()});
        CAPTURE(name, text(s));
        CHECK(y.equals(expected[0]));
        CHECK(dx.equals(expected[1]));
        CHECK(dw.equals(expected[2]));
        CHECK(x.equals(p.x));
        CHECK(dy.equals(p.dy));
        CHECK(weight.equals(p.weight));
      }
}

TEST_CASE("NaN in a pixel reaches that pixel alone through a 1×1 convolution") {
  const Threads one(1);
  for (const auto& [name, kernels] : all_kernels()) {
    Problem p({1, 20, 70, 5, 7, 1});
    p.x[0][3][2][4] = std::numeric_limits<double>::quiet_NaN();
    const at::Tensor y = of_kernels(*kernels, p)[0].isnan();
    CAPTURE(name);
    CHECK(y.sum().item<int64_t>() == 70);
    CHECK(y.select(2, 2).select(2, 4).all().item<bool>());
  }
}

}  // namespace
