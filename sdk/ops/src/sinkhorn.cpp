#include "gh/ops/sinkhorn.hpp"

#include "operators.hpp"
#include "patience.hpp"
#include "sinkhorn_solver.hpp"

#include "gh/error.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

// ---- what was asked for ----

constexpr double kNoShare = 1e-100;
// How far logits/ε may span in the linear domain. Factors span as much, and so does their product
// with the matrix: twice that must fit the type. Cosines over 0.05 span 40.
constexpr double kFloatSpan = 42, kDoubleSpan = 300;

// Whether float32 holds r = π·s, and in the log domain what sinkhorn_solver.cpp needs.
bool takes_float(double smallest_share, SinkhornDomain domain) {
  return smallest_share >= (domain == SinkhornDomain::log ? 1e-6 : 1e-25);
}

// A caller built with an older header gives a shorter struct.
SinkhornOptions read(const SinkhornOptions& given) {
  SinkhornOptions o;
  std::memcpy(&o, &given, std::min<size_t>(given.struct_size, sizeof o));
  require(o.epsilon > 0 && std::isfinite(o.epsilon), ErrorCode::invalid_param,
          "epsilon must be above 0 and finite, got ", o.epsilon);
  require(o.iterations >= 1, ErrorCode::invalid_param, "iterations must be at least 1, got ",
          o.iterations);
  require(o.tolerance >= 0 && std::isfinite(o.tolerance), ErrorCode::invalid_param,
          "tolerance must be finite and not negative, got ", o.tolerance);
  require(o.relaxation >= 1 && o.relaxation < 2, ErrorCode::invalid_param,
          "relaxation must be at least 1 and below 2, got ", o.relaxation);
  require(o.domain >= SinkhornDomain::automatic && o.domain <= SinkhornDomain::log,
          ErrorCode::invalid_param, "there is no domain ", static_cast<int>(o.domain));
  return o;
}

void check(const SinkhornProblem& p) {
  const at::Tensor &x = p.logits, &prior = p.prior;
  require(x.defined() && x.dim() == 2 && x.numel() > 0, ErrorCode::shape,
          "logits must be [N, K] and not empty, got ", x.defined() ? x.sizes() : at::IntArrayRef());
  require(x.layout() == at::kStrided &&
              (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          ErrorCode::shape, "logits must be dense float32 or float64, got ", x.scalar_type());
  if (!prior.defined()) return;
  require(prior.dim() == 1 && prior.size(0) == x.size(1), ErrorCode::shape, "the prior must be [",
          x.size(1), "], got ", prior.sizes());
  require(at::isFloatingType(prior.scalar_type()), ErrorCode::shape,
          "the prior must be floating, got ", prior.scalar_type());
}

// [K], sums to 1; uniform where none was given.
std::vector<double> shares(const SinkhornProblem& p) {
  const auto k = static_cast<size_t>(p.logits.size(1));
  if (!p.prior.defined()) return std::vector<double>(k, 1.0 / static_cast<double>(k));
  const at::Tensor prior = p.prior.detach().to(at::kCPU, at::kDouble).contiguous();
  std::vector<double> out(prior.const_data_ptr<double>(), prior.const_data_ptr<double>() + k);
  for (const double v : out)
    require(v >= 0 && std::isfinite(v), ErrorCode::numeric,
            "prior entries must be finite and not negative, got ", v);
  const double total = std::accumulate(out.begin(), out.end(), 0.0);
  require(total > 0 && std::isfinite(total), ErrorCode::numeric,
          total > 0 ? "the prior's sum is not finite" : "the prior is zero everywhere");
  for (double& v : out) v /= total;
  return out;
}

struct Span {
  double low, high;
  double operator/(double epsilon) const { return (high - low) / epsilon; }
};

template <class T>
Span span_of(const at::Tensor& x) {
  T low = 0, high = 0;
  require(
      best_kernels<SinkhornKernels<T>>().extremes(x.const_data_ptr<T>(), x.numel(), &low, &high),
      ErrorCode::numeric, "logits are not finite");
  return {static_cast<double>(low), static_cast<double>(high)};
}
Span span_of(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat ? span_of<float>(x) : span_of<double>(x);
}

// A checked problem on the CPU, ready for the kernels.
struct Prepared {
  SinkhornInput input;
  at::Tensor kept;  // [k] int64, points that have a share; undefined: all
};

Prepared prepare(const SinkhornProblem& problem, const SinkhornOptions& options) {
  const std::vector<double> prior = shares(problem);
  at::Tensor x = problem.logits.detach().to(at::kCPU).contiguous();
  Span span = span_of(x);
  Prepared out;
  std::vector<int64_t> kept;
  for (size_t j = 0; j < prior.size(); ++j)
    if (prior[j] >= kNoShare) {
      kept.push_back(static_cast<int64_t>(j));
      out.input.prior.push_back(prior[j]);
    }
  if (kept.size() < prior.size()) {
    out.kept = at::tensor(kept);
    x = x.index_select(1, out.kept);
    span = span_of(x);
  }
  const double wide = span / options.epsilon;
  require(std::isfinite(wide), ErrorCode::numeric, "logits/epsilon are not finite");
  const bool single = x.scalar_type() == at::kFloat;
  SinkhornDomain domain = options.domain;
  if (domain == SinkhornDomain::automatic)
    domain =
        wide <= (single ? kFloatSpan : kDoubleSpan) ? SinkhornDomain::linear : SinkhornDomain::log;
  require(domain == SinkhornDomain::log || wide <= kDoubleSpan, ErrorCode::numeric,
          "logits/epsilon span ", wide, ", and the linear domain holds ", kDoubleSpan,
          "; take the log domain");
  const double smallest = *std::min_element(out.input.prior.begin(), out.input.prior.end());
  if (single &&
      (!takes_float(smallest, domain) || (domain == SinkhornDomain::linear && wide > kFloatSpan)))
    x = x.to(at::kDouble);
  out.input.logits = x;
  out.input.middle = (span.low + span.high) / 2;
  out.input.points = static_cast<int64_t>(prior.size());
  out.input.domain = domain;
  return out;
}

SinkhornResult solve(const SinkhornProblem& problem, const Prepared& prepared,
                     const SinkhornOptions& options, SinkhornHistory* history) {
  const SinkhornInput& input = prepared.input;
  SinkhornResult out =
      input.logits.scalar_type() == at::kFloat
          ? solve_sinkhorn(best_kernels<SinkhornKernels<float>>(), input, options, history)
          : solve_sinkhorn(best_kernels<SinkhornKernels<double>>(), input, options, history);
  if (prepared.kept.defined()) {
    at::Tensor all = at::zeros(problem.logits.sizes(), input.logits.options());
    all.index_copy_(1, prepared.kept, out.targets);
    out.targets = all;
  }
  out.targets = out.targets.to(problem.logits.scalar_type());
  return out;
}

// Where devices part: problems are checked and lie on one device. CUDA kernels are for float32; the
// CPU computes for all else.
std::vector<SinkhornResult> solve_on_device(std::span<const SinkhornProblem> problems,
                                            const SinkhornOptions& options) {
#ifdef GH_OPS_CUDA
  const bool on_cuda = std::all_of(problems.begin(), problems.end(), [](const SinkhornProblem& p) {
    return p.logits.is_cuda() && p.logits.scalar_type() == at::kFloat;
  });
  if (on_cuda && !problems.empty()) {
    std::vector<std::vector<double>> priors;
    for (const SinkhornProblem& p : problems) priors.push_back(shares(p));
    return sinkhorn_on_cuda(problems, priors, options);
  }
#endif
  std::vector<SinkhornResult> out(problems.size());
  parallel_indices(static_cast<int64_t>(problems.size()), [&](int64_t i) {
    const at::NoGradGuard no_gradient;
    const SinkhornProblem& problem = problems[static_cast<size_t>(i)];
    out[static_cast<size_t>(i)] = solve(problem, prepare(problem, options), options, nullptr);
  });
  for (size_t i = 0; i < out.size(); ++i)
    out[i].targets = out[i].targets.to(problems[i].logits.device());
  return out;
}

// ---- the gradient ----

// With y = logits/ε, h = log r and f = log c, iteration t is
//   h_t = (1−w)·h_{t−1} + w·ĥ,  ĥ_j = log π_j − log Σ_i exp(y_ij + f_{t−1,i})
//   f_t = (1−w)·f_{t−1} + w·f̂,  f̂_i = −log N − log Σ_j exp(y_ij + h_t,j)
// and targets are the softmax of y + h_T over points. Derivatives of the sums are softmaxes, too:
// exp(y + f + ĥ)/π over samples, N·exp(y + f̂ + h) over points. Both are E = exp(y + f* + h*) of
// some iteration, scaled by rows and columns; so each step backwards is one product of E and a
// vector, and what all steps add to the gradient of y is E times a product of two thin matrices.
class Backwards {
 public:
  Backwards(at::Tensor y, at::Tensor samples, at::Tensor points, at::Tensor prior,
            double relaxation)
      : y_(std::move(y)),
        f_(std::move(samples)),
        h_(std::move(points)),
        prior_(std::move(prior)),
        w_(relaxation),
        n_(static_cast<double>(y_.size(0))),
        last_(f_.size(0) - 1) {}

  // Gradient of y from that of the targets.
  at::Tensor run(const at::Tensor& targets_gradient) {
    start_from(f_[last_], h_[last_]);
    const at::Tensor q = n_ * e_;
    gradient_ = q * (targets_gradient - (targets_gradient * q).sum(1, /*keepdim=*/true));
    at::Tensor dh = gradient_.sum(0), df = at::zeros_like(f_[0]);
    const Patience patience;
    for (int64_t t = last_; t >= 0; --t) {
      patience.check();
      const double w = t == 0 ? 1 : w_;
      if (t < last_) {
        const at::Tensor target = plain(f_, t);
        reach(target, h_[t]);
        const at::Tensor row = at::exp(target - base_f_) * (n_ * w * df);
        const at::Tensor column = at::exp(h_[t] - base_h_);
        dh = dh - at::mv(e_.t(), row) * column;
        df = (1 - w) * df;
        add(row, column);
      }
      const at::Tensor before = t == 0 ? at::full_like(f_[0], -std::log(n_)) : f_[t - 1];
      const at::Tensor target = plain(h_, t);
      reach(before, target);
      const at::Tensor row = at::exp(before - base_f_);
      const at::Tensor column = at::exp(target - base_h_) / prior_ * (w * dh);
      df = df - at::mv(e_, column) * row;
      dh = (1 - w) * dh;
      add(row, column);
    }
    flush();
    return gradient_;
  }

 private:
  // f̂ or ĥ of iteration t.
  at::Tensor plain(const at::Tensor& history, int64_t t) const {
    if (t == 0 || w_ == 1) return history[t];
    return (history[t] - (1 - w_) * history[t - 1]) / w_;
  }
  void start_from(const at::Tensor& f, const at::Tensor& h) {
    base_f_ = f;
    base_h_ = h;
    e_ = at::exp(y_ + f.unsqueeze(1) + h.unsqueeze(0));
  }
  // A new E where factors would leave the range of double, or what they scale was cut off.
  void reach(const at::Tensor& f, const at::Tensor& h) {
    constexpr double kFar = 300;
    if ((f - base_f_).abs().max().item<double>() < kFar &&
        (h - base_h_).abs().max().item<double>() < kFar)
      return;
    flush();
    start_from(f, h);
  }
  void add(const at::Tensor& row, const at::Tensor& column) {
    rows_.push_back(row);
    columns_.push_back(column);
  }
  void flush() {
    if (rows_.empty()) return;
    gradient_ -= e_ * at::stack(rows_, 1).mm(at::stack(columns_, 0));
    rows_.clear();
    columns_.clear();
  }

  at::Tensor y_, f_, h_, prior_;
  double w_, n_;
  int64_t last_;
  at::Tensor base_f_, base_h_, e_, gradient_;
  std::vector<at::Tensor> rows_, columns_;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SinkhornFunction final : torch::autograd::Function<SinkhornFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const SinkhornProblem& problem, const SinkhornOptions& options,
                            SinkhornResult* report) {
    const Prepared prepared = prepare(problem, options);
    SinkhornHistory history;
    const SinkhornResult result = solve(problem, prepared, options, &history);
    const auto keep = [&](std::vector<double>& v, int64_t rows) {
      const auto columns = static_cast<int64_t>(v.size()) / rows;
      return at::from_blob(v.data(), {rows, columns}, at::kDouble).clone();
    };
    std::vector<double> shares = prepared.input.prior;
    context->save_for_backward({logits, keep(history.samples, result.iterations),
                                keep(history.points, result.iterations), keep(shares, 1)[0],
                                prepared.kept});
    context->saved_data["epsilon"] = options.epsilon;
    context->saved_data["relaxation"] = options.relaxation;
    *report = result;
    return result.targets.to(logits.device());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require(!at::GradMode::is_enabled(), ErrorCode::unsupported,
            "targets of sinkhorn_with_gradient() can be differentiated once only");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &logits = saved[0], &kept = saved[4];
    const auto chosen = [&](const at::Tensor& all) {
      const at::Tensor t = all.to(at::kCPU, at::kDouble);
      return kept.defined() ? t.index_select(1, kept) : t;
    };
    const double epsilon = context->saved_data["epsilon"].toDouble();
    Backwards pass(chosen(logits) / epsilon, saved[1], saved[2], saved[3],
                   context->saved_data["relaxation"].toDouble());
    at::Tensor gradient = pass.run(chosen(gradients[0])) / epsilon;
    if (kept.defined()) {
      at::Tensor all = at::zeros(logits.sizes(), at::kDouble);
      all.index_copy_(1, kept, gradient);
      gradient = all;
    }
    return {gradient.to(logits.options()), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

SinkhornDomain sinkhorn_domain(std::string_view name) {
  if (name == "auto") return SinkhornDomain::automatic;
  if (name == "linear") return SinkhornDomain::linear;
  require(name == "log", ErrorCode::invalid_param,
          "a domain is \"auto\", \"linear\" or \"log\", got \"", name, "\"");
  return SinkhornDomain::log;
}

std::vector<SinkhornResult> sinkhorn(std::span<const SinkhornProblem> problems,
                                     const SinkhornOptions& options) {
  const SinkhornOptions known = read(options);
  for (const SinkhornProblem& p : problems) {
    check(p);
    require(p.logits.device() == problems[0].logits.device(), ErrorCode::shape,
            "problems must lie on one device, got ", problems[0].logits.device(), " and ",
            p.logits.device());
  }
  return solve_on_device(problems, known);
}

SinkhornResult sinkhorn_with_gradient(const SinkhornProblem& problem,
                                      const SinkhornOptions& options) {
  const SinkhornOptions known = read(options);
  check(problem);
  SinkhornResult out;
  out.targets = SinkhornFunction::apply(problem.logits, problem, known, &out);
  return out;
}

std::string_view sinkhorn_instructions() {
  return name_of(chosen_kernels<SinkhornKernels<float>>().set);
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
