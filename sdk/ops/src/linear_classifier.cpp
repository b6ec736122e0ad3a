#include "gh/ops/linear_classifier.hpp"

#include "linear_checks.hpp"
#include "linear_pass.hpp"
#include "patience.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

namespace gh {
inline namespace v1 {

void check_linear_rows(const at::Tensor& x) {
  require(x.defined() && x.dim() == 2 && x.size(0) > 0 && x.size(1) > 0, ErrorCode::shape,
          "x must be [rows, width] and not empty, got ",
          x.defined() ? x.sizes() : at::IntArrayRef{});
  require(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble, ErrorCode::shape,
          "x must be float32 or float64, got ", x.scalar_type());
}

void check_linear_targets(const at::Tensor& targets, const at::Tensor& x, int64_t classes) {
  require(targets.defined() && targets.dim() == 1 && targets.size(0) == x.size(0) &&
              targets.scalar_type() == at::kLong,
          ErrorCode::shape, "targets must be [", x.size(0), "] int64, one for each row of x");
  require(classes >= 1, ErrorCode::invalid_param, "expected at least 1 class, got ", classes);
  const int64_t least = targets.min().item<int64_t>(), most = targets.max().item<int64_t>();
  require(least >= 0 && most < classes, ErrorCode::invalid_param, "target ",
          least < 0 ? least : most, " is none of ", classes, " classes");
}

void check_linear_classifier(const ops::LinearClassifier& classifier, const at::Tensor& x) {
  const at::Tensor &w = classifier.weight, &b = classifier.bias;
  require(w.defined() && b.defined() && w.dim() == 2 && w.size(0) > 0 && w.size(1) == x.size(1) &&
              b.dim() == 1 && b.size(0) == w.size(0),
          ErrorCode::shape, "a classifier of x must have weight [classes, ", x.size(1),
          "] and bias [classes], got ", w.defined() ? w.sizes() : at::IntArrayRef{}, " and ",
          b.defined() ? b.sizes() : at::IntArrayRef{});
  require(w.scalar_type() == x.scalar_type() && b.scalar_type() == x.scalar_type(),
          ErrorCode::shape, "weight and bias must be ", x.scalar_type(), " like x, got ",
          w.scalar_type(), " and ", b.scalar_type());
}

void check_linear_order(const at::Tensor& order, int64_t rows) {
  require(order.defined() && order.dim() == 1 && order.numel() > 0 &&
              order.scalar_type() == at::kLong && order.is_cpu(),
          ErrorCode::shape, "rows to learn from must be [n] int64 on the CPU and not empty");
  const int64_t least = order.min().item<int64_t>(), most = order.max().item<int64_t>();
  require(least >= 0 && most < rows, ErrorCode::invalid_param, "row ", least < 0 ? least : most,
          " is none of the ", rows, " of x");
}

void fail_linear_row(int64_t row) {
  fail(ErrorCode::numeric, "the loss of row ", row,
       " is not finite: its features are not, or the weights have grown beyond all bounds");
}

namespace ops {
namespace {

constexpr int64_t kScoreRows = 1024;  // at a time
constexpr double kKeep1 = 0.9, kKeep2 = 0.999, kEpsilon = 1e-8;

template <class T>
at::Tensor scores_of(const at::Tensor& x, const LinearClassifier& classifier) {
  const LinearKernels<T>& kernels = best_kernels<LinearKernels<T>>();
  const LinearLayout layout(classifier.weight.size(0), x.size(1), kernels.lanes, kernels.vectors);
  const at::Tensor weight = pack_weight<T>(layout, classifier.weight);
  const at::Tensor bias = pack_bias<T>(layout, classifier.bias);
  const at::Tensor out = at::empty({x.size(0), layout.classes}, x.options());
  LinearPass<T> pass(x, layout, kScoreRows, kernels);
  const Patience patience;
  for (int64_t at = 0; at < x.size(0); at += kScoreRows) {
    patience.check();
    pass.scores({nullptr, at, std::min(kScoreRows, x.size(0) - at)}, weight.data_ptr<T>(),
                bias.data_ptr<T>(), out.data_ptr<T>() + at * layout.classes);
  }
  return out;
}

// Weights, in the layout of kernels, with what the optimiser remembers of them.
template <class T>
class Optimised {
 public:
  Optimised(const at::Tensor& packed, const LinearTraining& training,
            const LinearKernels<T>& kernels)
      : values_(packed), training_(training), kernels_(kernels) {
    mean_ = at::zeros_like(packed);
    if (training.optimizer == LinearOptimizer::adam) square_ = at::zeros_like(packed);
  }
  const T* values() const { return values_.data_ptr<T>(); }
  // Step `step` = 1, 2, … for values [first, first + n). Pieces of a step may overlap in time.
  void move(int64_t step, double rate, int64_t first, int64_t n, const T* gradient) {
    T* const w = values_.data_ptr<T>() + first;
    T* const mean = mean_.data_ptr<T>() + first;
    const T l2 = static_cast<T>(training_.l2);
    if (training_.optimizer == LinearOptimizer::sgd)
      return kernels_.sgd({l2, static_cast<T>(training_.momentum), static_cast<T>(rate)}, n,
                          gradient, w, mean);
    const double t = static_cast<double>(step);
    kernels_.adam({.l2 = l2,
                   .keep1 = static_cast<T>(kKeep1),
                   .keep2 = static_cast<T>(kKeep2),
                   .rate = static_cast<T>(rate / (1 - std::pow(kKeep1, t))),
                   .root = static_cast<T>(1 / std::sqrt(1 - std::pow(kKeep2, t))),
                   .epsilon = static_cast<T>(kEpsilon)},
                  n, gradient, w, mean, square_.data_ptr<T>() + first);
  }

 private:
  at::Tensor values_, mean_, square_;
  const LinearTraining& training_;
  const LinearKernels<T>& kernels_;
};

template <class T>
LinearClassifier train(const at::Tensor& x, const at::Tensor& targets,
                       const LinearClassifier& start, const LinearTraining& training,
                       c10::function_ref<at::Tensor(int64_t epoch)> order) {
  const LinearKernels<T>& kernels = best_kernels<LinearKernels<T>>();
  const LinearLayout layout(start.weight.size(0), x.size(1), kernels.lanes, kernels.vectors);
  Optimised<T> weight(pack_weight<T>(layout, start.weight), training, kernels);
  Optimised<T> bias(pack_bias<T>(layout, start.bias), training, kernels);
  LinearPass<T> pass(x, layout, training.batch, kernels);
  int64_t step = 0;
  const Patience patience;
  for (std::size_t epoch = 0; epoch < training.rates.size(); ++epoch) {
    const double rate = training.rates[epoch];
    const at::Tensor rows = order(static_cast<int64_t>(epoch)).contiguous();
    check_linear_order(rows, x.size(0));
    for (int64_t at = 0; at < rows.numel(); at += training.batch) {
      patience.check();
      const int64_t count = std::min(training.batch, rows.numel() - at);
      ++step;
      const auto move_weight = [&](int64_t first, int64_t n, const T* g) {
        weight.move(step, rate, first, n, g);
      };
      // Lanes without a class keep their −∞.
      const auto move_bias = [&](int64_t first, int64_t n, const T* g) {
        bias.move(step, rate, first, std::min(n, layout.classes - first), g);
      };
      const int64_t bad =
          pass.gradient({rows.data_ptr<int64_t>() + at, 0, count}, weight.values(), bias.values(),
                        targets.data_ptr<int64_t>(), T(1) / static_cast<T>(count), nullptr,
                        {move_weight, move_bias});
      if (bad >= 0) fail_linear_row(bad);
    }
  }
  LinearClassifier out = {unpack_weight<T>(layout, weight.values()),
                          at::empty({layout.classes}, x.options())};
  std::copy_n(bias.values(), layout.classes, out.bias.template data_ptr<T>());
  return out;
}

}  // namespace

LinearClassifier linear_start(int64_t classes, int64_t width, at::ScalarType dtype, Random random) {
  require(classes >= 1 && width >= 1, ErrorCode::invalid_param,
          "expected at least 1 class and 1 feature, got ", classes, " and ", width);
  LinearClassifier out = {at::empty({classes, width}, dtype), at::empty({classes}, dtype)};
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  random.fill_uniform(out.weight, -bound, bound);
  random.fill_uniform(out.bias, -bound, bound);
  return out;
}

at::Tensor linear_scores(const at::Tensor& x, const LinearClassifier& classifier) {
  check_linear_rows(x);
  check_linear_classifier(classifier, x);
  at::NoGradGuard no_grad;
  const at::Tensor rows = x.detach().cpu().contiguous();
  const LinearClassifier here = {classifier.weight.detach().cpu(), classifier.bias.detach().cpu()};
  const at::Tensor scores =
      x.scalar_type() == at::kFloat ? scores_of<float>(rows, here) : scores_of<double>(rows, here);
  return scores.to(x.device());
}

LinearClassifier train_linear(const at::Tensor& x, const at::Tensor& targets,
                              const LinearClassifier& start, const LinearTraining& training,
                              c10::function_ref<at::Tensor(int64_t epoch)> order) {
  check_linear_rows(x);
  check_linear_classifier(start, x);
  check_linear_targets(targets, x, start.weight.size(0));
  require(training.batch >= 1, ErrorCode::invalid_param, "expected batches of at least 1 row, got ",
          training.batch);
  at::NoGradGuard no_grad;
  const at::Tensor rows = x.detach().cpu().contiguous(), labels = targets.cpu().contiguous();
  const LinearClassifier from = {start.weight.detach().cpu(), start.bias.detach().cpu()};
  LinearClassifier out = x.scalar_type() == at::kFloat
                             ? train<float>(rows, labels, from, training, order)
                             : train<double>(rows, labels, from, training, order);
  return {out.weight.to(x.device()), out.bias.to(x.device())};
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
