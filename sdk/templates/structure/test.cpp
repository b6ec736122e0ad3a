// @NAME@: four points in the plane are a square, whose largest cosine is 0.
#include "gh/testing.hpp"

#include <cmath>
#include <cstdio>

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);  // the built library
  const auto structure = plugins.make<gh::Structure>("@NAME@", "points = 4");
  const at::Tensor p = structure->points(2, gh::Random(1));
  const double beside = p[0].dot(p[1]).item<double>(), across = p[0].dot(p[2]).item<double>();
  std::printf("cosines %g and %g, best %g\n", beside, across, structure->best_cosine(2));
  const bool square = std::abs(beside) < 1e-12 && std::abs(across + 1) < 1e-12;
  return square && std::abs(structure->best_cosine(2)) < 1e-12 ? 0 : 1;
}
