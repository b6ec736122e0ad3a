#include "linear_checks.hpp"
#include "linear_factor.hpp"
#include "linear_pass.hpp"
#include "patience.hpp"

#include "gh/error.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <deque>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

constexpr int64_t kChunk = 2048;         // rows between two additions to a sum over all
constexpr int64_t kSquaresChunk = 8192;  // the same, of squares
constexpr std::size_t kMemory = 10;      // steps that L-BFGS remembers
constexpr int64_t kPiece = 1 << 14;      // of a sum over parameters
constexpr double kEnough = 1e-4;         // of the promised decrease (Armijo)
constexpr double kSmallest = 1e-6;       // curvature, of the mean one
constexpr int kHalvings = 30;

// The parameters as the search sees them: [C·D] weights in Coordinates, then [C] scores of
// the mean feature. Sums run piece by piece in float64, whatever the threads.
using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  const auto n = static_cast<int64_t>(a.size()), pieces = (n + kPiece - 1) / kPiece;
  std::vector<double> sums(pieces, 0);
  parallel_indices(pieces, [&](int64_t p) {
    double four[4] = {};
    const int64_t end = std::min(n, (p + 1) * kPiece);
    int64_t i = p * kPiece;
    for (; i + 4 <= end; i += 4)
      for (int64_t j = 0; j < 4; ++j) four[j] += a[i + j] * b[i + j];
    for (; i < end; ++i) four[0] += a[i] * b[i];
    sums[p] = (four[0] + four[1]) + (four[2] + four[3]);
  });
  double total = 0;
  for (const double value : sums) total += value;
  return total;
}

template <class F>
void each(std::size_t size, F work) {
  const auto n = static_cast<int64_t>(size);
  parallel_indices((n + kPiece - 1) / kPiece, [&](int64_t p) {
    for (int64_t i = p * kPiece; i < std::min(n, (p + 1) * kPiece); ++i) work(i);
  });
}

void add(Vector& to, double factor, const Vector& v) {
  each(to.size(), [&](int64_t i) { to[i] += factor * v[i]; });
}

struct Step {
  Vector moved, changed;  // of the point and of the gradient
  double curvature;       // moved · changed
};

// Newton's direction as L-BFGS knows it: the two-loop recursion around a diagonal.
Vector direction(const Vector& gradient, const std::deque<Step>& memory, const Vector& diagonal) {
  Vector d = gradient;
  std::vector<double> parts;
  for (auto step = memory.rbegin(); step != memory.rend(); ++step) {
    parts.push_back(dot(step->moved, d) / step->curvature);
    add(d, -parts.back(), step->changed);
  }
  double scale = 1;
  if (!memory.empty()) {
    Vector shaped = memory.back().changed;
    each(shaped.size(), [&](int64_t i) { shaped[i] *= diagonal[i]; });
    scale = memory.back().curvature / dot(memory.back().changed, shaped);
  }
  each(d.size(), [&](int64_t i) { d[i] *= scale * diagonal[i]; });
  for (const Step& step : memory) {
    const double part = parts.back();
    parts.pop_back();
    add(d, part - dot(step.changed, d) / step.curvature, step.moved);
  }
  return d;
}

template <class T>
at::Tensor second_moments(const at::Tensor& x) {
  const LinearKernels<T>& kernels = best_kernels<LinearKernels<T>>();
  const LinearLayout layout(x.size(1), x.size(1), kernels.lanes, kernels.vectors);
  LinearPass<T> pass(x, layout, kSquaresChunk, kernels);
  const at::Tensor sums = at::zeros({layout.size()}, x.options());
  T* const total = sums.data_ptr<T>();
  for (int64_t at = 0; at < x.size(0); at += kSquaresChunk) {
    const auto take = [&](int64_t first, int64_t n, const T* g) {
      for (int64_t i = 0; i < n; ++i) total[first + i] += g[i];
    };
    const auto leave = [](int64_t, int64_t, const T*) {};
    pass.squares({nullptr, at, std::min(kSquaresChunk, x.size(0) - at)}, {take, leave});
  }
  return unpack_weight<T>(layout, total) / x.size(0);
}

// The mean of each column, in float64.
template <class T>
at::Tensor column_means(const at::Tensor& x) {
  const int64_t rows = x.size(0), width = x.size(1);
  const at::Tensor out = at::zeros({width}, at::kDouble);
  constexpr int64_t kColumns = 64;
  parallel_indices((width + kColumns - 1) / kColumns, [&](int64_t p) {
    double* const sums = out.data_ptr<double>();
    for (int64_t r = 0; r < rows; ++r) {
      const T* const row = x.data_ptr<T>() + r * width;
      for (int64_t d = p * kColumns; d < std::min(width, (p + 1) * kColumns); ++d)
        sums[d] += static_cast<double>(row[d]);
    }
  });
  return out / rows;
}

}  // namespace

struct LogisticRegression::Impl {
  at::Tensor x, targets;  // on the CPU, contiguous
  at::Device device = at::kCPU;
  int64_t classes = 0;
  at::Tensor mean;        // [D] float64
  at::Tensor covariance;  // [D, D] float64
  double curvature = 0;

  template <class T>
  void prepare();
  template <class T>
  LogisticFit fit(const LogisticOptions& options) const;
};

template <class T>
void LogisticRegression::Impl::prepare() {
  mean = column_means<T>(x);
  covariance = second_moments<T>(x).to(at::kDouble) - mean.unsqueeze(1) * mean.unsqueeze(0);
  require(covariance.isfinite().all().item<bool>(), ErrorCode::numeric,
          "x has features that are not finite, or too large for their squares");
  // One number at a time: a sum of LibTorch's may depend on its threads.
  for (int64_t d = 0; d < x.size(1); ++d)
    curvature += std::max(covariance[d][d].item<double>(), 0.0) / static_cast<double>(x.size(1));
  const double share = 1 / static_cast<double>(classes);
  curvature *= share * (1 - share);
}

namespace {

// Coordinates in which the objective is about as steep in all directions: weight = u · inverse,
// where the Hessian of an average class, π(1 − π) · covariance + l2, is lower · lowerᵀ.
struct Coordinates {
  Coordinates(const LogisticRegression::Impl& data, const at::Tensor& rows, double l2);
  at::Tensor lower_turned, inverse, inverse_turned;  // [D, D] like x
  Vector diagonal;                                   // one over the curvature along each parameter
};

Coordinates::Coordinates(const LogisticRegression::Impl& data, const at::Tensor& rows, double l2) {
  const at::Tensor targets = rows.defined() ? data.targets.index_select(0, rows) : data.targets;
  const at::Tensor counts = at::bincount(targets, {}, data.classes).contiguous();
  const auto n = static_cast<double>(targets.numel());
  std::vector<double> parts;  // π_c (1 − π_c); a class without samples counts as if it had a half
  double part = 0;
  for (int64_t c = 0; c < data.classes; ++c) {
    const double share = static_cast<double>(counts.data_ptr<int64_t>()[c]) / n;
    parts.push_back(std::max(share * (1 - share), 0.5 / n));
    part += parts.back() / static_cast<double>(data.classes);
  }
  const double own = l2 + kSmallest * data.curvature + 1e-30;
  const at::Tensor hessian = data.covariance * part;
  hessian.diagonal().add_(own);
  const LinearFactor factor = factorise(hessian, own);
  lower_turned = factor.lower.t().to(data.x.scalar_type()).contiguous();
  inverse = factor.inverse.to(data.x.scalar_type());
  inverse_turned = inverse.t().contiguous();
  const int64_t width = inverse.size(0);
  diagonal.resize(data.classes * (width + 1));
  const double* const b = factor.inverse.data_ptr<double>();
  for (int64_t d = 0; d < width; ++d) {
    double fixed = 0;  // curvature that is not the samples'
    for (int64_t k = 0; k <= d; ++k) fixed += own * b[d * width + k] * b[d * width + k];
    fixed = std::min(fixed, 1.0);
    for (int64_t c = 0; c < data.classes; ++c)
      diagonal[c * width + d] = 1 / (parts[c] / part * (1 - fixed) + fixed);
  }
  for (int64_t c = 0; c < data.classes; ++c) diagonal[data.classes * width + c] = 1 / parts[c];
}

// The objective as a function of Vector.
template <class T>
class Objective {
 public:
  Objective(const LogisticRegression::Impl& data, const Coordinates& coordinates,
            const at::Tensor& rows, double l2)
      : data_(data),
        coordinates_(coordinates),
        rows_(rows.defined() ? rows.contiguous() : rows),
        l2_(l2),
        count_(rows.defined() ? rows.numel() : data.x.size(0)),
        layout_(data.classes, data.x.size(1), best_kernels<LinearKernels<T>>().lanes,
                best_kernels<LinearKernels<T>>().vectors),
        pass_(data.x, layout_, kChunk, best_kernels<LinearKernels<T>>()) {}

  // Weights [C, D] and bias [C] in x's dtype.
  LinearClassifier classifier(const Vector& point) const {
    const int64_t classes = layout_.classes, width = layout_.width;
    const at::Tensor all = at::empty({classes * (width + 1)}, data_.x.options());
    T* const out = all.data_ptr<T>();
    each(point.size(), [&](int64_t i) { out[i] = static_cast<T>(point[i]); });
    const at::Tensor weight = linear_product(
        all.narrow(0, 0, classes * width).view({classes, width}), coordinates_.inverse_turned);
    const at::Tensor bias = at::empty({classes}, data_.x.options());
    const T* const w = weight.data_ptr<T>();
    const double* const mean = data_.mean.data_ptr<double>();
    for (int64_t c = 0; c < classes; ++c) {
      double there = point[classes * width + c];
      for (int64_t d = 0; d < width; ++d) there -= mean[d] * static_cast<double>(w[c * width + d]);
      bias.data_ptr<T>()[c] = static_cast<T>(there);
    }
    return {weight, bias};
  }

  // The other way.
  Vector point(const LinearClassifier& from) const {
    const at::Tensor weight = from.weight.contiguous();
    const T* const w = weight.data_ptr<T>();
    const at::Tensor centre = from.bias.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
    for (int64_t c = 0; c < layout_.classes; ++c)
      for (int64_t d = 0; d < layout_.width; ++d)
        centre.data_ptr<double>()[c] +=
            data_.mean.data_ptr<double>()[d] * static_cast<double>(w[c * layout_.width + d]);
    return joined(linear_product(from.weight, coordinates_.lower_turned), centre);
  }

  double operator()(const Vector& point, Vector& gradient) {
    ++passes;
    const LinearClassifier at = classifier(point);
    const at::Tensor weight = pack_weight<T>(layout_, at.weight);
    const at::Tensor bias = pack_bias<T>(layout_, at.bias);
    Vector sums(layout_.size(), 0), errors(layout_.all_lanes, 0);
    double loss = 0;
    for (int64_t from = 0; from < count_; from += kChunk) {
      patience_.check();
      const int64_t* const rows = rows_.defined() ? rows_.data_ptr<int64_t>() + from : nullptr;
      const auto into = [](Vector& to) {
        return [&to](int64_t first, int64_t n, const T* g) {
          for (int64_t i = 0; i < n; ++i) to[first + i] += static_cast<double>(g[i]);
        };
      };
      const auto take_weight = into(sums), take_bias = into(errors);
      const int64_t bad = pass_.gradient(
          {rows, from, std::min(kChunk, count_ - from)}, weight.data_ptr<T>(), bias.data_ptr<T>(),
          data_.targets.data_ptr<int64_t>(), 1, &loss, {take_weight, take_bias});
      if (bad >= 0) fail_linear_row(bad);
    }
    gradient = in_coordinates(sums, errors, at.weight);
    double squares = 0;
    for (int64_t i = 0; i < at.weight.numel(); ++i) {
      const auto w = static_cast<double>(at.weight.template data_ptr<T>()[i]);
      squares += w * w;
    }
    return loss / static_cast<double>(count_) + l2_ / 2 * squares;
  }

  int64_t passes = 0;

 private:
  static Vector joined(const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor w = weight.contiguous();
    Vector out(w.numel() + bias.numel());
    each(w.numel(), [&](int64_t i) { out[i] = static_cast<double>(w.data_ptr<T>()[i]); });
    std::copy_n(bias.data_ptr<double>(), bias.numel(), out.begin() + w.numel());
    return out;
  }

  // Sums over rows → the gradient of the objective where features are centred.
  Vector in_coordinates(const Vector& sums, const Vector& errors, const at::Tensor& weight) const {
    const at::Tensor packed = pack_weight<T>(layout_, weight);
    const double* const mean = data_.mean.data_ptr<double>();
    for (int64_t p = 0; p < layout_.panels(); ++p) {
      const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
      T* const out = packed.data_ptr<T>() + first * layout_.dims;
      for (int64_t i = 0; i < layout_.width * wide; ++i)
        out[i] = static_cast<T>(
            (sums[first * layout_.dims + i] - errors[first + i % wide] * mean[i / wide]) /
                static_cast<double>(count_) +
            l2_ * static_cast<double>(out[i]));
    }
    const at::Tensor bias = at::empty({layout_.classes}, at::kDouble);
    for (int64_t c = 0; c < layout_.classes; ++c)
      bias.data_ptr<double>()[c] = errors[c] / static_cast<double>(count_);
    return joined(
        linear_product(unpack_weight<T>(layout_, packed.data_ptr<T>()), coordinates_.inverse),
        bias);
  }

  const LogisticRegression::Impl& data_;
  const Coordinates& coordinates_;
  at::Tensor rows_;
  double l2_;
  int64_t count_;
  LinearLayout layout_;
  LinearPass<T> pass_;
  Patience patience_;
};

}  // namespace

template <class T>
LogisticFit LogisticRegression::Impl::fit(const LogisticOptions& options) const {
  const Coordinates coordinates(*this, options.rows, options.l2);
  Objective<T> objective(*this, coordinates, options.rows, options.l2);
  Vector point = options.start.weight.defined() ? objective.point(options.start)
                                                : Vector(coordinates.diagonal.size(), 0);
  Vector gradient, next_gradient;
  double value = objective(point, gradient);
  std::deque<Step> memory;
  while (objective.passes < options.passes) {
    const Vector d = direction(gradient, memory, coordinates.diagonal);
    const double promised = dot(gradient, d);
    if (!(promised > options.tolerance * value)) break;
    Vector next;
    double next_value = 0, part = 1;
    int halvings = 0;
    for (; halvings < kHalvings; ++halvings, part /= 2) {
      next = point;
      add(next, -part, d);
      next_value = objective(next, next_gradient);
      if (next_value <= value - kEnough * part * promised) break;
    }
    if (halvings == kHalvings) break;  // float32 says no more
    Step step = {next, next_gradient, 0};
    add(step.moved, -1, point);
    add(step.changed, -1, gradient);
    step.curvature = dot(step.moved, step.changed);
    if (step.curvature > 0) memory.push_back(std::move(step));
    if (memory.size() > kMemory) memory.pop_front();
    point = std::move(next);
    std::swap(gradient, next_gradient);
    value = next_value;
  }
  return {objective.classifier(point), options.l2, value, objective.passes};
}

LogisticRegression::LogisticRegression(const at::Tensor& x, const at::Tensor& targets,
                                       int64_t classes)
    : impl_(std::make_unique<Impl>()) {
  check_linear_rows(x);
  check_linear_targets(targets, x, classes);
  at::NoGradGuard no_grad;
  impl_->x = x.detach().cpu().contiguous();
  impl_->targets = targets.cpu().contiguous();
  impl_->device = x.device();
  impl_->classes = classes;
  x.scalar_type() == at::kFloat ? impl_->prepare<float>() : impl_->prepare<double>();
}

LogisticRegression::~LogisticRegression() = default;

double LogisticRegression::curvature() const { return impl_->curvature; }
const at::Tensor& LogisticRegression::x() const { return impl_->x; }
const at::Tensor& LogisticRegression::targets() const { return impl_->targets; }

LogisticFit LogisticRegression::fit(const LogisticOptions& options) const {
  require(options.l2 >= 0, ErrorCode::invalid_param, "l2 must not be negative, got ", options.l2);
  require(options.passes >= 1, ErrorCode::invalid_param, "expected at least 1 pass, got ",
          options.passes);
  if (options.rows.defined()) check_linear_order(options.rows, impl_->x.size(0));
  LogisticOptions here = options;
  if (options.start.weight.defined()) {
    check_linear_classifier(options.start, impl_->x);
    here.start = {options.start.weight.detach().cpu(), options.start.bias.detach().cpu()};
  }
  at::NoGradGuard no_grad;
  LogisticFit out =
      impl_->x.scalar_type() == at::kFloat ? impl_->fit<float>(here) : impl_->fit<double>(here);
  out.classifier = {out.classifier.weight.to(impl_->device), out.classifier.bias.to(impl_->device)};
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
