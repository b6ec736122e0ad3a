#include "harmonize/certificate.hpp"

#include "gh/error.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;

at::Tensor cross_polytope(int64_t width) {
  const at::Tensor basis = at::eye(width, at::kDouble);
  return at::cat({basis, -basis});
}

TEST_CASE("the certificate states cosines, norms and sum") {
  const Certificate c = certify(cross_polytope(2));
  CHECK(c.points == 4);
  CHECK(c.width == 2);
  CHECK(c.largest_cosine == 0);
  CHECK(c.smallest_cosine == -1);
  CHECK(c.zero_sum == 0);
  CHECK(c.norm_error == 0);
  CHECK(c.distance() == 0);
  CHECK(certify(2 * cross_polytope(2)).norm_error == 1);
  CHECK(certify(cross_polytope(2).narrow(0, 0, 3)).zero_sum == Approx(1));
}

TEST_CASE("the certificate equals brute force on random points, in single precision, too") {
  at::Tensor points = at::randn({40, 5}, at::kDouble);
  points = points / points.norm(2, {1}, true);
  double largest = -1, smallest = 1;
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < i; ++j) {
      const double cosine = (points[i] * points[j]).sum().item<double>();
      largest = std::max(largest, cosine);
      smallest = std::min(smallest, cosine);
    }
  const Certificate c = certify(points);
  CHECK(c.largest_cosine == Approx(largest).epsilon(1e-12));
  CHECK(c.smallest_cosine == Approx(smallest).epsilon(1e-12));
  CHECK(c.distance() == Approx(largest - cosine_bound(40, 5).cosine));
  CHECK(certify(points.to(at::kFloat)).largest_cosine == Approx(largest).epsilon(1e-5));
}

TEST_CASE("the bound is what simplex, cross polytope and polygon reach") {
  CHECK(cosine_bound(2, 1).cosine == -1);
  CHECK(cosine_bound(3, 1).cosine == 1);
  CHECK(cosine_bound(129, 128).cosine == Approx(-1.0 / 128));
  CHECK(cosine_bound(130, 128).cosine == 0);
  CHECK(cosine_bound(256, 128).cosine == 0);
  CHECK(cosine_bound(257, 128).cosine > 0);
  CHECK(cosine_bound(7, 2).cosine == Approx(std::cos(2 * std::numbers::pi / 7)));
  for (const int64_t points : {100, 129, 130, 256}) CHECK(cosine_bound(points, 128).attained);
  CHECK_FALSE(cosine_bound(257, 128).attained);
}

TEST_CASE("the bound is reached by sharp codes of strength three") {
  // Clebsch: the corners of the 5-cube with an even number of minus signs.
  std::vector<double> corners;
  for (unsigned signs = 0; signs < 32; ++signs)
    if (std::popcount(signs) % 2 == 0)
      for (unsigned i = 0; i < 5; ++i)
        corners.push_back((signs >> i & 1 ? -1 : 1) / std::sqrt(5.0));
  const Certificate clebsch = certify(at::tensor(corners, at::kDouble).reshape({16, 5}));
  CHECK(clebsch.largest_cosine == Approx(0.2));
  CHECK(clebsch.distance() < 1e-12);
  // Others, by their published sizes and cosines: Schläfli, Higman–Sims, McLaughlin and two more.
  CHECK(cosine_bound(27, 6).cosine == Approx(1.0 / 4));
  CHECK(cosine_bound(100, 22).cosine == Approx(1.0 / 11));
  CHECK(cosine_bound(275, 22).cosine == Approx(1.0 / 6));
  CHECK(cosine_bound(112, 21).cosine == Approx(1.0 / 9));
  CHECK(cosine_bound(162, 21).cosine == Approx(1.0 / 7));
}

TEST_CASE("the bound does not exceed optimal codes of higher strength") {
  CHECK(cosine_bound(12, 3).cosine <= 1 / std::sqrt(5.0));  // icosahedron
  CHECK(cosine_bound(12, 3).cosine > 0.35);
  CHECK(cosine_bound(120, 4).cosine <= std::numbers::phi / 2);  // 600-cell
  CHECK(cosine_bound(56, 7).cosine <= 1.0 / 3);
  CHECK(cosine_bound(240, 8).cosine <= 0.5);      // E8
  CHECK(cosine_bound(196560, 24).cosine <= 0.5);  // Leech
  CHECK(cosine_bound(552, 23).cosine <= 0.2);
}

TEST_CASE("the bound solves Levenshtein's equation and grows with the points") {
  for (const double d : {3., 16., 128., 512.}) {
    double last = 0;
    for (const double k : {2 * d + 1, 3 * d, 8 * d, d * d + 1000}) {
      const double s = cosine_bound(static_cast<int64_t>(k), static_cast<int64_t>(d)).cosine;
      CHECK(d * (1 - s) * (2 + (d + 1) * s) / (1 - d * s * s) == Approx(k).epsilon(1e-9));
      CHECK(s > last);
      last = s;
    }
  }
}

TEST_CASE("a structure's own bound counts where it is sharper and its points do not refute it") {
  const at::Tensor points = at::cat({cross_polytope(3), at::tensor({.6, .8, 0.}).reshape({1, 3})})
                                .to(at::kDouble);  // largest cosine 0.8
  const double known = cosine_bound(7, 3).cosine;
  CHECK(certify(points, 0.2).bound.cosine == (known > 0.2 ? known : 0.2));
  CHECK(certify(points, 0.5).bound.cosine == 0.5);
  CHECK(certify(points, 0.5).bound.attained);
  CHECK(certify(points, 0.9).bound.cosine == known);
  CHECK(certify(points, -1).bound.cosine == known);
}

TEST_CASE("the text names points, cosines, sum and the distance from the bound") {
  CHECK(to_text(certify(cross_polytope(2))) ==
        "structure: 4 points in 2 dimensions, cosines -1.0000 … 0.0000, sum 0.0e+00; the largest "
        "cosine is 0.0e+00 above the smallest possible");
  Certificate c{.points = 16, .width = 5, .largest_cosine = 0.25};
  c.bound = cosine_bound(16, 5);
  CHECK_THAT(to_text(c), Catch::EndsWith("5.0e-02 above 0.2000, a bound that may be out of reach"));
}

TEST_CASE("a single point has no certificate") {
  CHECK_THROWS_AS(certify(at::eye(1, at::kDouble)), Error);
}

}  // namespace
