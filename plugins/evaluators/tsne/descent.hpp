// The map itself: a start, and gradient descent on KL.
#pragma once

#include "forces.hpp"

#include "gh/random.hpp"

#include <functional>

namespace tsne {

// Projections on the two directions of largest variance, the first with deviation 1e-4, as [2][N].
// Points that are all the same start at the origin.
std::vector<float> principal_start(const at::Tensor& x, gh::Random random);
// N(0, 1e-8), [2][N].
std::vector<float> random_start(int64_t points, gh::Random random);

struct DescentPlan {
  int64_t iterations = 1000;
  double exaggeration = 12;  // of p, in the first quarter, at most 250 iterations
  // Called every 50 iterations and after the last.
  std::function<void(int64_t done, double kl)> watch = {};
};

// Momentum 0.5 while p is exaggerated, then 0.8; gains for each coordinate (Jacobs 1988); a rate of
// max(N/(4·exaggeration), 50). Moves `y` and returns its KL. Throws Error numeric when the map is
// not finite.
double descend(Forces& forces, const DescentPlan& plan, std::vector<float>& y);

}  // namespace tsne
