// Optimal transport of a batch onto the points, by alternating scaling (Cuturi 2013). With G =
// exp(logits/ε), start c = 1/N and repeat  r ← π ⊘ (Gᵀc),  c ← (1/N) ⊘ (G r);  targets are
// N·diag(c) G diag(r). Ends on the sample update: rows sum to one exactly, the prior is met
// approximately, as in the published code.
#include "gh/component.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Problem {
  int64_t n = 0, k = 0;
  std::vector<double> logits;  // [n, k] divided by ε
  std::vector<double> prior;   // [k], sums to 1
  int64_t iterations = 0;
};

// Double precision holds exp(±700); cosines over ε stay far below for every ε a recipe would use in
// the linear domain.
std::vector<double> solve_linear(Problem p) {
  std::vector<double>& g = p.logits;
  for (double& x : g) x = std::exp(x);
  const double share = 1.0 / static_cast<double>(p.n);
  std::vector<double> r(p.k), c(p.n, share), column(p.k);
  for (int64_t it = 0; it < p.iterations; ++it) {
    std::fill(column.begin(), column.end(), 0.0);
    for (int64_t i = 0; i < p.n; ++i)
      for (int64_t j = 0; j < p.k; ++j) column[j] += g[i * p.k + j] * c[i];
    for (int64_t j = 0; j < p.k; ++j) r[j] = p.prior[j] > 0 ? p.prior[j] / column[j] : 0.0;
    for (int64_t i = 0; i < p.n; ++i) {
      double row = 0;
      for (int64_t j = 0; j < p.k; ++j) row += g[i * p.k + j] * r[j];
      c[i] = share / row;
    }
  }
  for (int64_t i = 0; i < p.n; ++i)
    for (int64_t j = 0; j < p.k; ++j) g[i * p.k + j] *= static_cast<double>(p.n) * c[i] * r[j];
  return g;
}

class LogSum {  // running log Σ exp
 public:
  void add(double x) {
    if (x == kNone) return;
    if (x > max_) {
      sum_ = sum_ * std::exp(max_ - x) + 1;
      max_ = x;
    } else {
      sum_ += std::exp(x - max_);
    }
  }
  double value() const { return max_ == kNone ? kNone : max_ + std::log(sum_); }

 private:
  double max_ = kNone;
  double sum_ = 0;
};

// The same iterates with r and c kept as logarithms.
std::vector<double> solve_log(Problem p) {
  const std::vector<double>& x = p.logits;
  const double share = -std::log(static_cast<double>(p.n));
  std::vector<double> r(p.k), c(p.n, share);
  for (int64_t it = 0; it < p.iterations; ++it) {
    std::vector<LogSum> column(p.k);
    for (int64_t i = 0; i < p.n; ++i)
      for (int64_t j = 0; j < p.k; ++j) column[j].add(x[i * p.k + j] + c[i]);
    for (int64_t j = 0; j < p.k; ++j)
      r[j] = p.prior[j] > 0 ? std::log(p.prior[j]) - column[j].value() : kNone;
    for (int64_t i = 0; i < p.n; ++i) {
      LogSum row;
      for (int64_t j = 0; j < p.k; ++j) row.add(x[i * p.k + j] + r[j]);
      c[i] = share - row.value();
    }
  }
  std::vector<double> q(x.size());
  for (int64_t i = 0; i < p.n; ++i)
    for (int64_t j = 0; j < p.k; ++j)
      q[i * p.k + j] = std::exp(x[i * p.k + j] + c[i] + r[j] - share);
  return q;
}

// Largest deviation of the points' shares from the prior.
double residual_of(const std::vector<double>& q, const std::vector<double>& prior, int64_t n) {
  const int64_t k = static_cast<int64_t>(prior.size());
  double worst = 0;
  for (int64_t j = 0; j < k; ++j) {
    double share = 0;
    for (int64_t i = 0; i < n; ++i) share += q[i * k + j];
    worst = std::max(worst, std::abs(share / static_cast<double>(n) - prior[j]));
  }
  return worst;
}

class Sinkhorn final : public gh::Allocator {
 public:
  explicit Sinkhorn(const gh::Params& params)
      : iterations_(params.integer("iterations")),
        epsilon_(params.real("epsilon")),
        domain_(params.text("domain")) {}

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported,
                "sinkhorn gives targets without gradient");
    Problem problem = read(request);
    double peak = 0;
    for (const double x : problem.logits) peak = std::max(peak, std::abs(x));
    gh::require(std::isfinite(peak), gh::ErrorCode::numeric, "logits are not finite");
    const std::vector<double> prior = problem.prior;
    const bool linear = domain_ == "linear" || (domain_ == "auto" && peak <= kLinearPeak);
    const std::vector<double> q =
        linear ? solve_linear(std::move(problem)) : solve_log(std::move(problem));
    gh::require(std::all_of(q.begin(), q.end(), [](double x) { return std::isfinite(x); }),
                gh::ErrorCode::numeric,
                "the scaling left the range of double precision; set domain = \"log\"");

    const at::Tensor& logits = request.logits;
    report.scalar("iterations", static_cast<double>(iterations_));
    report.scalar("residual", residual_of(q, prior, logits.size(0)));
    at::Tensor targets = at::empty(logits.sizes(), at::kDouble);
    std::copy(q.begin(), q.end(), targets.data_ptr<double>());
    return targets.to(logits.options());
  }

 private:
  static constexpr double kLinearPeak = 300;

  Problem read(const gh::AssignRequest& request) const {
    const at::Tensor& logits = request.logits;
    gh::require(logits.dim() == 2 && logits.size(0) > 0 && logits.size(1) > 0, gh::ErrorCode::shape,
                "logits must be [N, K], got ", logits.sizes());
    Problem p{.n = logits.size(0),
              .k = logits.size(1),
              .logits = {},
              .prior = {},
              .iterations = iterations_};
    const at::Tensor x = logits.detach().to(at::kCPU, at::kDouble).contiguous();
    p.logits.assign(x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
    for (double& v : p.logits) v /= epsilon_;
    p.prior.assign(p.k, 1.0 / static_cast<double>(p.k));
    if (!request.prior.defined()) return p;

    const at::Tensor prior = request.prior.to(at::kCPU, at::kDouble).contiguous();
    gh::require(prior.dim() == 1 && prior.size(0) == p.k, gh::ErrorCode::shape,
                "the prior must be [", p.k, "], got ", prior.sizes());
    p.prior.assign(prior.data_ptr<double>(), prior.data_ptr<double>() + p.k);
    double total = 0;
    for (const double v : p.prior) {
      gh::require(v >= 0 && std::isfinite(v), gh::ErrorCode::numeric,
                  "prior entries must be finite and not negative, got ", v);
      total += v;
    }
    gh::require(total > 0, gh::ErrorCode::numeric, "the prior is zero everywhere");
    for (double& v : p.prior) v /= total;
    return p;
  }

  int64_t iterations_;
  double epsilon_;
  std::string_view domain_;
};

constexpr gh::Param kParams[] = {
    gh::integer("iterations", "300", "scaling rounds, always all of them").at_least(1),
    gh::real("epsilon", "0.05", "entropic regularisation; smaller gives harder targets").above(0),
    gh::choice("domain", "auto", "auto|linear|log",
               "where the scaling happens; auto takes log when exp(logits/epsilon) would overflow"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Sinkhorn>("sinkhorn", "optimal transport to the points under the tracked prior",
                           kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The surrogate label allocation of Geometric Harmonization")
