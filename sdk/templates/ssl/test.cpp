// @NAME@: the gradient of its loss agrees with central differences.
#include "gh/testing.hpp"

#include <ATen/ops/empty.h>

#include <cstdio>

using namespace gh::testing;

int main(int, char** arguments) {
  Plugins plugins(arguments[1]);  // the built library
  at::Tensor a = at::empty({4, 3}, at::kDouble), b = at::empty({4, 3}, at::kDouble);
  gh::Random(1).fill_normal(a, 0, 1);
  gh::Random(2).fill_normal(b, 0, 1);
  a = leaf(a, at::kDouble);
  b = leaf(b, at::kDouble);
  // Without projector, under encoders that hand on what they get: views are embeddings.
  MethodTrial trial(plugins.make<gh::SslMethod>("@NAME@", "projector = \"none\""), {a, b});
  trial.build();
  const auto loss = [&] { return trial.step({a, b}); };
  const double first = loss(), off = slope_error({a, b}, loss);
  std::printf("loss %g, gradient off by %.2g\n", first, off);
  return off < 1e-5 ? 0 : 1;
}
