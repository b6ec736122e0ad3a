// The loss against the paper's formulas, and its gradient against finite differences.
#include "gh/testing.hpp"

#include <ATen/ops/empty.h>

#include <cstdio>

using namespace gh::testing;

int main(int, char** arguments) {
  Plugins plugins(arguments[1]);
  at::Tensor a = at::empty({5, 3}, at::kDouble), b = at::empty({5, 3}, at::kDouble);
  gh::Random(1).fill_normal(a, 0, 1);
  gh::Random(2).fill_normal(b, 0, 1);
  a = leaf(a, at::kDouble);
  b = leaf(b, at::kDouble);

  // No projector, and encoders that hand on: views are embeddings.
  MethodTrial trial(plugins.make<gh::SslMethod>("plain_vicreg", "projector = \"none\""), {a, b});
  trial.build();
  const auto loss = [&] { return trial.step({a, b}); };
  const double found = loss();

  double expected = 25 * (a - b).square().mean().item<double>();
  for (const at::Tensor& z : {a.detach(), b.detach()})
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        const at::Tensor x = z.select(1, i) - z.select(1, i).mean();
        const at::Tensor y = z.select(1, j) - z.select(1, j).mean();
        const double c = (x * y).sum().item<double>() / 4;
        expected += i == j ? 12.5 / 3 * std::max(0.0, 1 - std::sqrt(c + 1e-4)) : c * c / 3;
      }
  const double slope = slope_error({a, b}, loss);
  std::printf("loss %.12g, expected %.12g; gradient off by %.2g\n", found, expected, slope);
  return std::abs(found - expected) < 1e-9 && slope < 1e-5 ? 0 : 1;
}
