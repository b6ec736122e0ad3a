// What bench/convolution.py runs: single convolutions of libghops beside LibTorch's.
//
//   convolution_bench THREADS MODE ROUNDS
//
// Reads shapes from standard input, one a line: images, channels in and out, height, width,
// kernel, stride, layout (contiguous or channels-last). Answers each with a line of JSON: the
// algorithm, seconds of each round for the three passes, ours and LibTorch's in turns, and the
// largest errors of both against float64, relative to the largest value.
#include "machine/caching_allocator.hpp"

#include "gh/ops/convolution.hpp"
#include "gh/random.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <iostream>

namespace {

using gh::ops::ConvolutionMode;

struct Shape {
  int64_t images, in, out, height, width, kernel, stride;

  gh::ops::ConvolutionArguments arguments() const {
    return {.stride = stride, .padding = kernel / 2};
  }
  std::string layout;
};

at::Tensor normal(std::vector<int64_t> sizes, uint64_t key, double scale, at::MemoryFormat format) {
  const at::Tensor t = at::empty(sizes);
  gh::Random(key).fill_normal(t, 0, scale);
  return t.contiguous(format);
}

// A layer and everything its three passes need.
struct Layer {
  gh::ops::ConvolutionArguments arguments;
  ConvolutionMode mode;
  at::Tensor x, weight, dy;

  Layer(const Shape& s, ConvolutionMode m) : arguments(s.arguments()), mode(m) {
    const auto format =
        s.layout == "channels-last" ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    x = normal({s.images, s.in, s.height, s.width}, 1, 1, format);
    const double terms = static_cast<double>(s.in * s.kernel * s.kernel);
    weight = normal({s.out, s.in, s.kernel, s.kernel}, 2, std::sqrt(2 / terms), format);
    dy = normal(forward().sizes().vec(), 3, 1, format);
  }
  at::Tensor forward() const { return gh::ops::convolution(x, weight, {}, arguments, mode); }
  // The gradient of x, or of the weights.
  at::Tensor backward(bool data) const {
    const at::Tensor input = (data ? x : weight).detach().requires_grad_();
    const at::Tensor y =
        gh::ops::convolution(data ? input : x, data ? weight : input, {}, arguments, mode);
    return torch::autograd::grad({y}, {input}, {dy})[0];
  }
};

double seconds_of(const std::function<void()>& work) {
  const auto started = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  int count = 0;
  do {
    work();
    ++count;
    passed = std::chrono::steady_clock::now() - started;
  } while (passed.count() < 0.004);
  return passed.count() / count;
}

double error(const at::Tensor& value, const at::Tensor& exact) {
  return ((value.to(at::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
}

nlohmann::json measure(const Shape& shape, ConvolutionMode mode, int rounds) {
  const Layer ours(shape, mode), theirs(shape, ConvolutionMode::onednn);
  Layer exact = theirs;
  for (at::Tensor* t : {&exact.x, &exact.weight, &exact.dy}) *t = t->to(at::kDouble).contiguous();
  nlohmann::json out{
      {"algorithm", gh::ops::algorithm_for(ours.x, ours.weight, shape.arguments(), mode)}};
  const std::pair<const char*, std::function<at::Tensor(const Layer&)>> passes[] = {
      {"forward", [](const Layer& l) { return l.forward(); }},
      {"data", [](const Layer& l) { return l.backward(true); }},
      {"weights", [](const Layer& l) { return l.backward(false); }}};
  for (const auto& [name, pass] : passes) {
    const at::Tensor truth = pass(exact);
    out["errors"][name] = {error(pass(ours), truth), error(pass(theirs), truth)};
    for (int i = 0; i < rounds; ++i) {
      out["ours"][name].push_back(seconds_of([&] { pass(ours); }));
      out["theirs"][name].push_back(seconds_of([&] { pass(theirs); }));
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) {
      std::cerr << "see the top of bench/convolution_bench.cpp\n";
      return 64;
    }
    gh::host::install_caching_allocator();
    at::set_num_threads(std::stoi(argv[1]));
    const ConvolutionMode mode = gh::ops::convolution_mode(argv[2]);
    Shape s;
    while (std::cin >> s.images >> s.in >> s.out >> s.height >> s.width >> s.kernel >> s.stride >>
           s.layout)
      std::cout << measure(s, mode, std::stoi(argv[3])) << std::endl;
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}
