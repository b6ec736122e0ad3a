// The first step's loss in closed form, and a centre that comes back from the state.
#include "gh/testing.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>

#include <cstdio>

using namespace gh::testing;

int main(int, char** arguments) {
  Plugins plugins(arguments[1]);
  std::vector<at::Tensor> views;
  for (const uint64_t key : {1, 2, 3}) {
    views.push_back(at::empty({4, 6}, at::kDouble));
    gh::Random(key).fill_normal(views.back(), 0, 1);
  }
  const auto made = [&] { return plugins.make<gh::SslMethod>("dino", "hidden = 6\noutputs = 6"); };
  const auto trial = [&](uint64_t seed) {
    MethodTrial t(made(), views, seed);
    t.host.heads = std::make_shared<StandInLayers>(6, std::vector<at::Tensor>{});
    return t;
  };

  // Heads hand on what they get, twin and network are equal, the centre is 0.
  MethodTrial first = trial(0);
  const double found = first.build().step(views);
  double expected = 0;
  for (int v = 0; v < 3; ++v)
    for (int t = 0; t < 2; ++t)
      if (v != t)
        expected -= ((views[t] / 0.04).softmax(1) * at::log_softmax(views[v] / 0.1, 1))
                        .sum(1)
                        .mean()
                        .item<double>() /
                    4;
  NamedState state;
  first.method->visit_state(state);
  const at::Tensor mean = (views[0].mean(0) + views[1].mean(0)) / 2;
  const bool centred = state.tensors.at("centre").allclose(0.1 * mean);
  MethodTrial second = trial(1);
  second.build();
  const std::string difference = state_difference(first, second);
  std::printf("loss %.12g, expected %.12g; centre %s; state: %s\n", found, expected,
              centred ? "ok" : "off", difference.empty() ? "ok" : difference.c_str());
  return std::abs(found - expected) < 1e-9 && centred && difference.empty() ? 0 : 1;
}
