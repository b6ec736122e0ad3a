#include "sinkhorn_solver.hpp"

#include "patience.hpp"

#include "gh/error.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

// Factors of the log domain are absorbed when they leave [1/limit, limit]. An iteration moves a
// factor by at most N or 1/π: column sums are at least π/N of the mass after the samples' update,
// row sums at least min(π)/N after the points'. So neither the factors nor their products with the
// matrix leave the type's range, and what exp() cut off stays negligible, as long as shares are not
// too small for the type: see takes_float() in sinkhorn.cpp.
template <class T>
constexpr double kFactorLimit = sizeof(T) == 4 ? 0x1p30 : 0x1p100;

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// What is scaled is exp(logits/ε + α_i + β_j): c·exp(α) and r·exp(β) are those of the header.
// r = π·s, so that s is about 1 however small a share is.
template <class T>
class Solver {
 public:
  Solver(const SinkhornKernels<T>& kernels, const SinkhornInput& input,
         const SinkhornOptions& options)
      : kernels_(kernels),
        input_(input),
        options_(options),
        n_(input.logits.size(0)),
        k_(input.logits.size(1)),
        stride_(round_up(k_, kernels.width)),
        rows_(round_up(n_, kSinkhornRows)),
        x_(input.logits.const_data_ptr<T>()),
        share_(static_cast<T>(1.0 / static_cast<double>(n_))),
        alpha_(static_cast<size_t>(n_), 0.0),
        beta_(static_cast<size_t>(k_), 0.0) {
    // Every array begins where a line of the cache does, when the tensor does.
    const int64_t wide = round_up(stride_, 16);
    room_ = at::empty({rows_ * stride_ + 16 + rows_ + 5 * wide + 16}, input.logits.options());
    T* p = room_.data_ptr<T>();
    const auto take = [&](int64_t n) { return std::exchange(p, p + round_up(n, 16)); };
    matrix_ = take(rows_ * stride_);
    c_ = take(rows_);
    prior_ = take(wide);
    s_ = take(wide);
    r_ = take(wide);
    sums_ = take(wide);
    spare_ = take(wide);
    std::fill(matrix_ + n_ * stride_, matrix_ + rows_ * stride_, T(1));
    std::fill(prior_, prior_ + stride_, T(0));
    std::transform(input.prior.begin(), input.prior.end(), prior_,
                   [](double v) { return static_cast<T>(v); });
  }

  SinkhornResult solve(SinkhornHistory* history) {
    start();
    SinkhornResult out;
    out.domain = input_.domain;
    const Patience patience;
    for (bool last = false; !last;) {
      patience.check();
      const bool first = out.iterations == 0;
      const double w = first ? 1 : options_.relaxation;
      out.change = kernels_.points({stride_, prior_, sums_, s_, r_, w});
      if (first) out.change = change_from_start();
      if (options_.trace) out.trace.push_back(out.change);
      ++out.iterations;
      last = out.iterations == options_.iterations || out.change < options_.tolerance;
      if (first && input_.domain == SinkhornDomain::log) absorb_points();
      kernels_.samples(pass(first || last ? 1 : w));
      if (history) remember(*history);
      if (!last && input_.domain == SinkhornDomain::log) keep_in_range();
    }
    finish(out);
    return out;
  }

 private:
  double scale() const { return 1 / options_.epsilon; }

  SinkhornSamples<T> pass(double w) const {
    return {matrix_, n_, stride_, share_, r_, c_, sums_, spare_, w};
  }

  void build() {
    for (int64_t i = 0; i < n_; ++i)
      kernels_.exponentials(x_ + i * k_, k_, scale(), alpha_[i], beta_.data(),
                            matrix_ + i * stride_, stride_);
  }

  // The matrix and its column sums with c = 1/N. Linear: logits are centred, which r undoes. Log:
  // the largest entry of every column is 1.
  void start() {
    if (input_.domain == SinkhornDomain::linear) {
      std::fill(beta_.begin(), beta_.end(), -input_.middle * scale());
    } else {
      std::vector<T> high(x_, x_ + k_);
      for (int64_t i = 1; i < n_; ++i)
        for (int64_t j = 0; j < k_; ++j) high[j] = std::max(high[j], x_[i * k_ + j]);
      for (int64_t j = 0; j < k_; ++j) beta_[j] = -scale() * static_cast<double>(high[j]);
    }
    build();
    reset_factors();
    kernels_.sums(pass(1));
  }

  void reset_factors() {
    std::fill(c_, c_ + n_, share_);
    std::fill(c_ + n_, c_ + rows_, T(0));
    reset_points();
  }
  void reset_points() {
    std::fill(s_, s_ + stride_, T(1));
    std::copy(prior_, prior_ + stride_, r_);
  }

  // Σ |K·r − 1|, bounded where r leaves the range of a double.
  double change_from_start() const {
    std::vector<double> log_r = beta_;
    kernels_.add_logarithms(r_, k_, 1, log_r.data());
    double sum = 0;
    for (const double v : log_r)
      sum += std::abs(std::exp(v) * static_cast<double>(input_.points) - 1);
    return std::min(sum, std::numeric_limits<double>::max());
  }

  // After the first update of the points a row may lie far below the largest entries of its
  // columns: from here on the largest entry of every row is 1.
  void absorb_points() {
    kernels_.add_logarithms(s_, k_, 1, beta_.data());
    reset_points();
    for (int64_t i = 0; i < n_; ++i)
      alpha_[i] = -kernels_.largest(x_ + i * k_, k_, scale(), beta_.data());
    build();
  }

  void keep_in_range() {
    const auto within = [&](const T* values, int64_t n, double unit) {
      T low = 0, high = 0;
      return kernels_.extremes(values, n, &low, &high) &&
             static_cast<double>(low) * unit > 1 / kFactorLimit<T> &&
             static_cast<double>(high) * unit < kFactorLimit<T>;
    };
    const double n = static_cast<double>(n_);
    if (within(c_, n_, n) && within(s_, k_, 1)) return;
    kernels_.add_logarithms(c_, n_, n, alpha_.data());
    kernels_.add_logarithms(s_, k_, 1, beta_.data());
    for (int64_t j = 0; j < k_; ++j) sums_[j] *= s_[j];
    std::fill(sums_ + k_, sums_ + stride_, T(1));
    reset_factors();
    build();
  }

  void remember(SinkhornHistory& history) const {
    const size_t i = history.samples.size(), j = history.points.size();
    history.samples.insert(history.samples.end(), alpha_.begin(), alpha_.end());
    history.points.insert(history.points.end(), beta_.begin(), beta_.end());
    kernels_.add_logarithms(c_, n_, 1, history.samples.data() + i);
    kernels_.add_logarithms(r_, k_, 1, history.points.data() + j);
  }

  void finish(SinkhornResult& out) const {
    T low = 0, high = 0;
    require(kernels_.extremes(c_, n_, &low, &high) && kernels_.extremes(r_, k_, &low, &high),
            ErrorCode::numeric, "Sinkhorn's iteration left the range of numbers",
            options_.relaxation > 1 ? "; a smaller relaxation may help" : "");
    out.targets = at::empty({n_, k_}, input_.logits.options());
    T* const to = out.targets.template data_ptr<T>();
    for (int64_t i = 0; i < n_; ++i)
      kernels_.targets(matrix_ + i * stride_, r_, static_cast<T>(n_) * c_[i], k_, to + i * k_);
    for (int64_t j = 0; j < k_; ++j)
      out.residual = std::max(
          out.residual,
          std::abs(static_cast<double>(r_[j]) * static_cast<double>(sums_[j]) - input_.prior[j]));
  }

  const SinkhornKernels<T>& kernels_;
  const SinkhornInput& input_;
  const SinkhornOptions& options_;
  int64_t n_, k_, stride_, rows_;
  const T* x_;
  T share_;
  std::vector<double> alpha_, beta_;
  at::Tensor room_;
  T *matrix_, *c_, *prior_, *s_, *r_, *sums_, *spare_;
};

}  // namespace

template <class T>
SinkhornResult solve_sinkhorn(const SinkhornKernels<T>& kernels, const SinkhornInput& input,
                              const SinkhornOptions& options, SinkhornHistory* history) {
  return Solver<T>(kernels, input, options).solve(history);
}
template SinkhornResult solve_sinkhorn(const SinkhornKernels<float>&, const SinkhornInput&,
                                       const SinkhornOptions&, SinkhornHistory*);
template SinkhornResult solve_sinkhorn(const SinkhornKernels<double>&, const SinkhornInput&,
                                       const SinkhornOptions&, SinkhornHistory*);

}  // namespace ops
}  // namespace v1
}  // namespace gh
