#include "harmonize/certificate.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gh::host {

CosineBound cosine_bound(int64_t points, int64_t width) {
  const double k = static_cast<double>(points), d = static_cast<double>(width);
  if (k <= d + 1) return {-1 / (k - 1), true};                        // the sum has a length ≥ 0
  if (k <= 2 * d) return {0, true};                                   // Rankin 1955
  if (width == 1) return {1, true};                                   // ±1 are all there are
  if (width == 2) return {std::cos(2 * std::numbers::pi / k), true};  // the polygon
  // Levenshtein 1979, order 3: K points with cosines ≤ s, 0 ≤ s < 1/√d, satisfy
  //   K ≤ L(s) = d (1−s) (2 + (d+1) s) / (1 − d s²).
  // Proof: f(t) = (t−s)(t+α)² with α = (1+s)/(1+ds) is ≤ 0 up to s, its Gegenbauer coefficients
  // are ≥ 0, and so K ≤ f(1)/f₀ = L(s) (Delsarte, Goethals and Seidel 1977). K = L(s) is quadratic.
  const double a = d * (k - d - 1), b = d * (d - 1), c = k - 2 * d;
  return {2 * c / (b + std::sqrt(b * b + 4 * a * c)), false};
}

double Certificate::distance() const {
  return std::max(0.0, largest_cosine - bound.cosine);  // rounding can take it below
}

Certificate certify(const at::Tensor& points, double claimed) {
  require(points.dim() == 2 && points.size(0) >= 2, ErrorCode::shape,
          "a certificate needs points [K, width] with K ≥ 2, got ", points.sizes());
  const at::Tensor m = points.detach().to(at::kCPU, at::kDouble);
  Certificate out{.points = m.size(0), .width = m.size(1)};
  out.norm_error = (m.norm(2, {1}) - 1).abs().max().item<double>();
  out.zero_sum = m.sum(0).norm().item<double>();
  at::Tensor gram = m.matmul(m.t());
  gram.diagonal().fill_(-std::numeric_limits<double>::infinity());
  out.largest_cosine = gram.max().item<double>();
  gram.diagonal().fill_(std::numeric_limits<double>::infinity());
  out.smallest_cosine = gram.min().item<double>();
  out.bound = cosine_bound(out.points, out.width);
  const bool refuted = claimed > out.largest_cosine + 1e-6;  // by these very points
  if (claimed > out.bound.cosine && !refuted) out.bound = {claimed, true};
  return out;
}

std::string to_text(const Certificate& c) {
  return fmt::format(
      "structure: {} points in {} dimensions, cosines {:.4f} … {:.4f}, sum {:.1e}; the largest "
      "cosine is {:.1e} above {}",
      c.points, c.width, c.smallest_cosine, c.largest_cosine, c.zero_sum, c.distance(),
      c.bound.attained ? "the smallest possible"
                       : fmt::format("{:.4f}, a bound that may be out of reach", c.bound.cosine));
}

}  // namespace gh::host
