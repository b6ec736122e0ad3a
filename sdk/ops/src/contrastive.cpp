#include "gh/ops/contrastive.hpp"

#include "contrastive_pass.hpp"
#include "operators.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

// ---- what was asked for ----

ContrastiveOptions read(const ContrastiveOptions& given) {
  ContrastiveOptions o;
  std::memcpy(&o, &given, std::min<size_t>(given.struct_size, sizeof o));
  require(o.temperature > 0 && std::isfinite(o.temperature), ErrorCode::invalid_param,
          "temperature must be above 0 and finite, got ", o.temperature);
  require(o.exponent >= 0 && std::isfinite(o.exponent), ErrorCode::invalid_param,
          "exponent must be finite and not negative, got ", o.exponent);
  return o;
}

void check_rows(const at::Tensor& x, const at::Tensor& like, const char* name) {
  require(x.defined() && x.dim() == 2 && x.layout() == at::kStrided, ErrorCode::shape, name,
          " must be a dense matrix, got ", x.defined() ? x.sizes() : at::IntArrayRef());
  require(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble, ErrorCode::shape, name,
          " must be float32 or float64, got ", x.scalar_type());
  require(x.size(1) == like.size(1) && x.scalar_type() == like.scalar_type() &&
              x.device() == like.device(),
          ErrorCode::shape, name, " must be like the rows, ", like.sizes(), " ", like.scalar_type(),
          " on ", like.device(), "; got ", x.sizes(), " ", x.scalar_type(), " on ", x.device());
}

std::vector<int64_t> column_numbers(const at::Tensor& t, int64_t rows, int64_t columns,
                                    const char* name) {
  if (!t.defined()) return {};
  require(t.dim() == 1 && t.size(0) == rows && t.scalar_type() == at::kLong, ErrorCode::shape, name,
          " must be [", rows, "] int64, got ", t.sizes(), " ", t.scalar_type());
  const at::Tensor here = t.cpu().contiguous();
  std::vector<int64_t> out(here.const_data_ptr<int64_t>(), here.const_data_ptr<int64_t>() + rows);
  for (const int64_t c : out)
    require(c >= 0 && c < columns, ErrorCode::shape, name, " must name columns 0 … ", columns - 1,
            ", got ", c);
  return out;
}

std::vector<double> inverses(const at::Tensor& temperatures, int64_t rows, double temperature) {
  std::vector<double> out(rows, 1 / temperature);
  if (!temperatures.defined()) return out;
  require(temperatures.dim() == 1 && temperatures.size(0) == rows &&
              at::isFloatingType(temperatures.scalar_type()),
          ErrorCode::shape, "temperatures must be [", rows, "] and floating, got ",
          temperatures.sizes(), " ", temperatures.scalar_type());
  const at::Tensor here = temperatures.detach().to(at::kCPU, at::kDouble).contiguous();
  for (int64_t i = 0; i < rows; ++i) {
    const double t = here.const_data_ptr<double>()[i];
    require(t > 0 && std::isfinite(t), ErrorCode::invalid_param,
            "temperatures must be above 0 and finite, got ", t, " for row ", i);
    out[i] = 1 / t;
  }
  return out;
}

void check_mutual(const ContrastiveScores& s) {
  require(!s.positive.empty() && s.skipped.empty(), ErrorCode::shape,
          "rows that are their own columns have a positive among them, and skip only themselves");
  for (size_t i = 0; i < s.positive.size(); ++i) {
    const auto other = static_cast<size_t>(s.positive[i]);
    require(other != i && s.positive[other] == static_cast<int64_t>(i), ErrorCode::shape,
            "rows that are their own columns are mutual positives, and row ", i, " and ", other,
            " are not");
  }
}

ContrastiveScores checked(const ContrastiveProblem& p, double temperature) {
  require(p.rows.defined() && p.rows.dim() == 2, ErrorCode::shape, "rows must be [n, d], got ",
          p.rows.defined() ? p.rows.sizes() : at::IntArrayRef());
  check_rows(p.rows, p.rows, "rows");
  if (p.columns.defined()) check_rows(p.columns, p.rows, "columns");
  require(p.positive.defined() != p.positives.defined(), ErrorCode::shape,
          "expected positives either among the columns or beside them");
  const int64_t rows = p.rows.size(0), columns = (p.columns.defined() ? p.columns : p.rows).size(0);
  ContrastiveScores out;
  out.rows = p.rows.detach().contiguous();
  if (p.columns.defined()) out.columns = p.columns.detach().contiguous();
  if (p.positives.defined()) {
    check_rows(p.positives, p.rows, "positives");
    require(p.positives.size(0) == rows, ErrorCode::shape, "positives must be ", p.rows.sizes(),
            ", got ", p.positives.sizes());
    out.positives = p.positives.detach().contiguous();
  }
  out.positive = column_numbers(p.positive, rows, columns, "positive");
  out.skipped = column_numbers(p.skipped, rows, columns, "skipped");
  out.inverse = inverses(p.temperatures, rows, temperature);
  if (out.among_rows()) {
    check_mutual(out);
    for (int64_t i = 0; i < rows; ++i) out.skipped.push_back(i);
  }
  return out;
}

// ---- where devices and types part ----

bool computed_on_cuda([[maybe_unused]] const ContrastiveScores& s) {
#ifdef GH_OPS_CUDA
  return s.rows.is_cuda() && s.rows.scalar_type() == at::kFloat;
#else
  return false;
#endif
}

// On the CPU, unless it is computed on CUDA.
ContrastiveScores moved(ContrastiveScores s) {
  if (s.rows.is_cpu() || computed_on_cuda(s)) return s;
  for (at::Tensor* t : {&s.rows, &s.columns, &s.positives})
    if (t->defined()) *t = t->cpu();
  return s;
}

struct Logits {
  std::vector<double> negatives, positive;  // log Σ exp(s_ij), s_i⁺
  at::Tensor kept;                          // for the gradient, or undefined
};

template <class T>
Logits logits_of(const ContrastiveScores& s, bool keep) {
  Logits out;
  out.negatives =
      negative_log_sums(s, best_kernels<ContrastiveKernels<T>>(), keep ? &out.kept : nullptr);
  out.positive = positive_scores<T>(s);
  return out;
}
Logits logits(const ContrastiveScores& s, [[maybe_unused]] bool keep) {
#ifdef GH_OPS_CUDA
  if (computed_on_cuda(s)) {
    Logits out;
    contrastive_logits_on_cuda(s, out.negatives, out.positive);
    return out;
  }
#endif
  return s.rows.scalar_type() == at::kFloat ? logits_of<float>(s, keep)
                                            : logits_of<double>(s, keep);
}

enum class Of { rows, columns };

template <class T>
at::Tensor gradient_of(const ContrastiveScores& s, const ContrastiveWeights& w,
                       const at::Tensor& kept, Of of) {
  const auto& kernels = best_kernels<ContrastiveKernels<T>>();
  return of == Of::rows ? rows_gradient<T>(s, w, kernels, kept)
                        : columns_gradient<T>(s, w, kernels);
}
at::Tensor gradient(const ContrastiveScores& s, const ContrastiveWeights& w, const at::Tensor& kept,
                    Of of) {
#ifdef GH_OPS_CUDA
  if (computed_on_cuda(s)) return contrastive_gradient_on_cuda(s, w, of == Of::columns);
#endif
  return s.rows.scalar_type() == at::kFloat ? gradient_of<float>(s, w, kept, of)
                                            : gradient_of<double>(s, w, kept, of);
}

// ---- the loss of a row, in o = log Σ exp(s_ij) − s⁺ = log((1 − p)/p) ----

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
// (1 − p)ᵉ; log(1 − p) = −softplus(−o).
double factor(double odds, double exponent) {
  return exponent == 0 ? 1 : std::exp(-exponent * softplus(-odds));
}
double loss_of(double odds, double exponent) { return factor(odds, exponent) * softplus(odds); }
// (1 − p)ᵉ·(1 − p − e·p·log p)
double slope_of(double odds, double exponent) {
  const double rest = 1 / (1 + std::exp(-odds)), p = 1 / (1 + std::exp(odds));
  if (p == 0) return factor(odds, exponent);  // and p·log p → 0
  return factor(odds, exponent) * (rest + exponent * p * softplus(odds));
}

// ---- autograd ----

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor numbers(const std::vector<double>& values) {
  const at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<double>());
  return out;
}
std::vector<double> numbers(const at::Tensor& t) {
  const at::Tensor here = t.to(at::kCPU, at::kDouble).contiguous();
  return {here.const_data_ptr<double>(), here.const_data_ptr<double>() + here.numel()};
}

// Autograd wants tensors that are defined; one that a problem lacks is a vector.
at::Tensor input(const at::Tensor& t, const at::Tensor& like) {
  return t.defined() ? t : at::empty({0}, like.options());
}
at::Tensor given(const at::Tensor& input) {
  return input.dim() == 2 ? input.detach().contiguous() : at::Tensor();
}

struct ContrastiveFunction final : torch::autograd::Function<ContrastiveFunction> {
  // The tensors that gradients flow to; `scores` has the same, detached.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows,
                            const at::Tensor& columns, const at::Tensor& positives,
                            const ContrastiveScores& scores, double exponent, bool keep) {
    const Logits found = logits(moved(scores), keep);
    std::vector<double> odds(found.positive.size()), losses(odds.size()), slopes(odds.size());
    for (size_t i = 0; i < odds.size(); ++i) {
      odds[i] = found.negatives[i] - found.positive[i];
      losses[i] = loss_of(odds[i], exponent);
      slopes[i] = slope_of(odds[i], exponent);
    }
    context->save_for_backward({rows, columns, positives, numbers(found.negatives), numbers(slopes),
                                numbers(scores.inverse), found.kept});
    context->saved_data["positive"] = scores.positive;
    context->saved_data["skipped"] = scores.skipped;
    return numbers(losses).to(rows.options());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    require(!at::GradMode::is_enabled(), ErrorCode::unsupported,
            "contrastive losses can be differentiated once only");
    const variable_list saved = context->get_saved_variables();
    ContrastiveScores s;
    s.rows = given(saved[0]);
    s.columns = given(saved[1]);
    s.positives = given(saved[2]);
    s.positive = context->saved_data["positive"].toIntVector();
    s.skipped = context->saved_data["skipped"].toIntVector();
    s.inverse = numbers(saved[5]);
    s = moved(std::move(s));

    ContrastiveWeights w{numbers(gradients[0]), numbers(saved[3])};
    const double* const slopes = saved[4].const_data_ptr<double>();
    for (size_t i = 0; i < w.weight.size(); ++i) {
      w.weight[i] *= slopes[i] * s.inverse[i];
      if (std::isinf(w.log_sum[i]) && w.log_sum[i] < 0) w.log_sum[i] = 0;  // without negatives
    }
    const auto back = [&](const at::Tensor& gradient) { return gradient.to(saved[0].device()); };
    variable_list out(6);
    if (context->needs_input_grad(0)) out[0] = back(gradient(s, w, saved[6], Of::rows));
    if (context->needs_input_grad(1)) out[1] = back(gradient(s, w, saved[6], Of::columns));
    if (context->needs_input_grad(2))
      out[2] = saved[0].detach() * -numbers(w.weight).unsqueeze(1).to(saved[0].options());
    return out;
  }
};

at::Tensor mean_of_anchors(const at::Tensor& losses) {
  return losses.view({2, losses.size(0) / 2}).mean(0);
}

void check_views(const at::Tensor& a, const at::Tensor& b) {
  require(a.defined() && b.defined() && a.dim() == 2 && a.sizes() == b.sizes(), ErrorCode::shape,
          "two views must be matrices of one shape, got ",
          a.defined() ? a.sizes() : at::IntArrayRef(), " and ",
          b.defined() ? b.sizes() : at::IntArrayRef());
}

at::Tensor count_from(int64_t first, int64_t count) {
  return at::arange(first, first + count, at::kLong);
}

}  // namespace

at::Tensor contrastive_losses(const ContrastiveProblem& problem,
                              const ContrastiveOptions& options) {
  const ContrastiveOptions known = read(options);
  const ContrastiveScores scores = checked(problem, known.temperature);
  const bool keep = at::GradMode::is_enabled() && problem.rows.requires_grad();
  return ContrastiveFunction::apply(problem.rows, input(problem.columns, problem.rows),
                                    input(problem.positives, problem.rows), scores, known.exponent,
                                    keep);
}

at::Tensor nt_xent(const at::Tensor& a, const at::Tensor& b, const ContrastiveOptions& options) {
  check_views(a, b);
  const int64_t count = a.size(0);
  const at::Tensor first = count_from(0, count);
  ContrastiveProblem problem;
  problem.rows = at::cat({a, b});
  problem.positive = at::cat({first + count, first});
  return mean_of_anchors(contrastive_losses(problem, options));
}

at::Tensor nt_xent(const at::Tensor& a, const at::Tensor& b, const at::Tensor& all_a,
                   const at::Tensor& all_b, int64_t first, const ContrastiveOptions& options) {
  check_views(a, b);
  check_views(all_a, all_b);
  const int64_t total = all_a.size(0);
  const at::Tensor mine = count_from(first, a.size(0));
  ContrastiveProblem problem;
  problem.rows = at::cat({a, b});
  problem.columns = at::cat({all_a, all_b});
  problem.positive = at::cat({mine + total, mine});
  problem.skipped = at::cat({mine, mine + total});
  return mean_of_anchors(contrastive_losses(problem, options));
}

at::Tensor info_nce(const at::Tensor& queries, const at::Tensor& keys, int64_t first,
                    const ContrastiveOptions& options) {
  require(queries.defined() && queries.dim() == 2, ErrorCode::shape, "queries must be [B, d]");
  ContrastiveProblem problem;
  problem.rows = queries;
  problem.columns = keys;
  problem.positive = count_from(first, queries.size(0));
  require(keys.defined(), ErrorCode::shape, "keys must be [T, d]");
  return contrastive_losses(problem, options);
}

at::Tensor info_nce_with_queue(const at::Tensor& queries, const at::Tensor& keys,
                               const at::Tensor& queue, const ContrastiveOptions& options) {
  require(queue.defined(), ErrorCode::shape, "a queue must be [m, d]");
  ContrastiveProblem problem;
  problem.rows = queries;
  problem.columns = queue;
  problem.positives = keys;
  return contrastive_losses(problem, options);
}

std::string_view contrastive_instructions() {
  return name_of(chosen_kernels<ContrastiveKernels<float>>().set);
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
