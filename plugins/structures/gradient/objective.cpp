#include "objective.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gradient {
namespace {

// Below this the exponential neither counts nor is left to become a denormal, which is slow.
constexpr double kLeastExponent = -60;

double log_add_exp(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

Potential::Potential(Form form, int64_t points, int64_t width, at::TensorOptions options)
    : form_(form),
      blocks_(points),
      kernel_(at::empty({points, points}, options)),
      sums_(at::empty({points}, at::kDouble)),
      direction_(at::empty({points, width}, options)) {}

Potential::Slope Potential::at(const at::Tensor& x, double tau) {
  const at::Tensor xt = x.t();
  std::vector<double> largest(blocks_.count);
  blocks_.each([&](int64_t block, int64_t first, int64_t n) {
    at::Tensor cosines = kernel_.narrow(0, first, n);
    at::mm_out(cosines, x.narrow(0, first, n), xt);
    cosines.diagonal(first).fill_(-std::numeric_limits<double>::infinity());
    largest[block] = cosines.max().item<double>();
  });
  const double m = *std::max_element(largest.begin(), largest.end());

  // From here on everything is relative to exp(m/τ).
  blocks_.each([&](int64_t, int64_t first, int64_t n) {
    at::Tensor kernel = kernel_.narrow(0, first, n);
    kernel.sub_(m).mul_(1 / tau).clamp_min_(kLeastExponent).exp_();
    sums_.narrow(0, first, n).copy_(kernel.sum(1));
  });

  Slope out{.value = m / tau, .direction = direction_, .log_scale = -std::log(tau)};
  const double k = static_cast<double>(blocks_.rows);
  const double own = (1 - m) / tau;  // log of the term i = j
  const double* sums = sums_.data_ptr<double>();
  at::Tensor weights;  // of rows, largest 1
  if (form_ == Form::all) {
    double sum = 0;
    for (int64_t i = 0; i < blocks_.rows; ++i) sum += sums[i];
    const double log_sum = log_add_exp(std::log(k) + own, std::log(sum));
    out.value += log_sum;
    out.log_scale += std::log(2) - log_sum;
  } else {
    weights = at::empty_like(sums_);
    double* w = weights.data_ptr<double>();
    double total = 0, least = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < blocks_.rows; ++i) {
      w[i] = log_add_exp(own, std::log(sums[i]));
      total += w[i];
      least = std::min(least, w[i]);
    }
    for (int64_t i = 0; i < blocks_.rows; ++i) w[i] = std::exp(least - w[i]);
    weights = weights.to(x.scalar_type());
    out.value += total / k;
    out.log_scale -= std::log(k) + least;
  }

  blocks_.each([&](int64_t, int64_t first, int64_t n) {
    const at::Tensor kernel = kernel_.narrow(0, first, n), rows = x.narrow(0, first, n);
    if (weights.defined()) kernel.mul_(weights.narrow(0, first, n).unsqueeze(1) + weights);
    at::Tensor pull = direction_.narrow(0, first, n);
    at::mm_out(pull, kernel, x);
    pull.sub_(rows * (rows * pull).sum(1, /*keepdim=*/true));
  });
  return out;
}

Objective objective(Form form, const at::Tensor& m, double tau) {
  const at::Tensor lengths = m.norm(2, {1}, /*keepdim=*/true);
  const Potential::Slope slope =
      Potential(form, m.size(0), m.size(1), m.options()).at(m / lengths, tau);
  return {slope.value, slope.direction * std::exp(slope.log_scale) / lengths};
}

}  // namespace gradient
