#include "linear_checks.hpp"
#include "linear_pass.hpp"

#include "gh/error.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

constexpr int64_t kChunk = 1024;        // rows between two additions to a sum over all
constexpr int64_t kWidest = 2048;       // with more features eigenvectors cost more than they give
constexpr std::size_t kMemory = 10;     // steps that L-BFGS remembers
constexpr int64_t kPiece = 1 << 14;     // of a sum over parameters
constexpr double kEnough = 1e-4;        // of the promised decrease (Armijo)
constexpr double kSmallest = 1e-6;      // curvature, of the mean one
constexpr int kHalvings = 30;

// The parameters as the search sees them: [C·D] weights in the coordinates of the covariance, then
// [C] scores of the mean feature. Sums run piece by piece in float64, whatever the threads.
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

// Mean and covariance of the rows.
struct Moments {
  at::Tensor mean;        // [D] float64
  at::Tensor covariance;  // [D, D] of x's dtype, or its diagonal [D]
};

template <class T>
at::Tensor second_moments(const at::Tensor& x) {
  const LinearKernels<T>& kernels = linear_kernels<T>();
  const LinearLayout layout(x.size(1), x.size(1), kernels.lanes, kernels.vectors);
  LinearPass<T> pass(x, layout, kChunk, kernels);
  const at::Tensor sums = at::zeros({layout.size()}, x.options());
  T* const total = sums.data_ptr<T>();
  for (int64_t at = 0; at < x.size(0); at += kChunk) {
    pass.values({nullptr, at, std::min(kChunk, x.size(0) - at)});
    pass.gradient(
        [&](int64_t first, int64_t n, const T* g) {
          for (int64_t i = 0; i < n; ++i) total[first + i] += g[i];
        },
        [](int64_t, int64_t, const T*) {});
  }
  return unpack_weight<T>(layout, total) / x.size(0);
}

// Σ xᵏ of each column, in float64.
template <class T, class F>
at::Tensor column_means(const at::Tensor& x, F value) {
  const int64_t rows = x.size(0), width = x.size(1);
  const at::Tensor out = at::zeros({width}, at::kDouble);
  constexpr int64_t kColumns = 64;
  parallel_indices((width + kColumns - 1) / kColumns, [&](int64_t p) {
    double* const sums = out.data_ptr<double>();
    for (int64_t r = 0; r < rows; ++r) {
      const T* const row = x.data_ptr<T>() + r * width;
      for (int64_t d = p * kColumns; d < std::min(width, (p + 1) * kColumns); ++d)
        sums[d] += value(static_cast<double>(row[d]));
    }
  });
  return out / rows;
}

template <class T>
Moments moments_of(const at::Tensor& x) {
  Moments out;
  out.mean = column_means<T>(x, [](double v) { return v; });
  if (x.size(1) > kWidest) {
    const at::Tensor squares = column_means<T>(x, [](double v) { return v * v; });
    out.covariance = (squares - out.mean.square()).clamp_min(0);
    return out;
  }
  const at::Tensor outer = out.mean.unsqueeze(1) * out.mean.unsqueeze(0);
  out.covariance = (second_moments<T>(x) - outer).to(x.scalar_type());
  return out;
}

}  // namespace

struct LogisticRegression::Impl {
  at::Tensor x, targets;  // on the CPU, contiguous
  at::Device device = at::kCPU;
  int64_t classes = 0;
  at::Tensor mean;     // [D] float64
  at::Tensor basis;    // [D, D] eigenvectors as columns; undefined: the coordinates themselves
  Vector variances;    // [D] along them
  double curvature = 0;

  template <class T>
  void prepare();
  template <class T>
  LogisticFit fit(const LogisticOptions& options) const;
};

template <class T>
void LogisticRegression::Impl::prepare() {
  Moments moments = moments_of<T>(x);
  mean = moments.mean;
  at::Tensor values = moments.covariance;
  require(values.isfinite().all().item<bool>(), ErrorCode::numeric, "x has features that are not ",
          "finite, or too large for their squares");
  if (values.dim() == 2) {
    // LAPACK's bits may depend on its threads. Inside a loop of ours it has one.
    parallel_indices(2, [&](int64_t i) {
      at::NoGradGuard no_grad;
      if (i == 0) std::tie(values, basis) = at::linalg_eigh(moments.covariance);
    });
    basis = basis.contiguous();
  }
  values = values.to(at::kDouble).clamp_min(0).contiguous();
  variances.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  double spread = 0;
  for (const double v : variances) spread += v / static_cast<double>(variances.size());
  curvature = spread * (1 - 1.0 / static_cast<double>(classes)) / static_cast<double>(classes);
}

namespace {

// The objective as a function of Vector.
template <class T>
class Objective {
 public:
  Objective(const LogisticRegression::Impl& data, const at::Tensor& rows, double l2)
      : data_(data),
        rows_(rows.defined() ? rows.contiguous() : rows),
        l2_(l2),
        count_(rows.defined() ? rows.numel() : data.x.size(0)),
        layout_(data.classes, data.x.size(1), linear_kernels<T>().lanes, linear_kernels<T>().vectors),
        pass_(data.x, layout_, kChunk, linear_kernels<T>()) {
    if (data.basis.defined()) turned_ = data.basis.t().contiguous();
  }

  // Weights [C, D] and bias [C] in x's dtype.
  LinearClassifier classifier(const Vector& point) const {
    const int64_t classes = layout_.classes, width = layout_.width;
    const at::Tensor all = at::empty({classes * (width + 1)}, data_.x.options());
    T* const out = all.data_ptr<T>();
    each(point.size(), [&](int64_t i) { out[i] = static_cast<T>(point[i]); });
    at::Tensor weight = all.narrow(0, 0, classes * width).view({classes, width});
    if (data_.basis.defined()) weight = product(weight, data_.basis);
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
    const at::Tensor centre =
        from.bias.to(at::kDouble) + from.weight.to(at::kDouble).mv(data_.mean);
    return joined(data_.basis.defined() ? product(from.weight, turned_) : from.weight, centre);
  }

  double operator()(const Vector& point, Vector& gradient) {
    ++passes;
    const LinearClassifier at = classifier(point);
    const at::Tensor weight = pack_weight<T>(layout_, at.weight);
    const at::Tensor bias = pack_bias<T>(layout_, at.bias);
    Vector sums(layout_.size(), 0), errors(layout_.all_lanes, 0);
    double loss = 0;
    for (int64_t from = 0; from < count_; from += kChunk) {
      const int64_t* const rows = rows_.defined() ? rows_.data_ptr<int64_t>() + from : nullptr;
      const int64_t bad = pass_.errors({rows, from, std::min(kChunk, count_ - from)},
                                       weight.data_ptr<T>(), bias.data_ptr<T>(),
                                       data_.targets.data_ptr<int64_t>(), 1, &loss);
      if (bad >= 0) fail_linear_row(bad);
      const auto into = [](Vector& to) {
        return [&to](int64_t first, int64_t n, const T* g) {
          for (int64_t i = 0; i < n; ++i) to[first + i] += static_cast<double>(g[i]);
        };
      };
      const auto take_weight = into(sums), take_bias = into(errors);
      pass_.gradient(take_weight, take_bias);
    }
    gradient = in_coordinates(sums, errors);
    const int64_t weights = layout_.classes * layout_.width;
    double squares = 0;
    for (int64_t i = 0; i < weights; ++i) {
      gradient[i] += l2_ * point[i];
      squares += point[i] * point[i];
    }
    return loss / static_cast<double>(count_) + l2_ / 2 * squares;
  }

  int64_t passes = 0;

 private:
  // a · bᵀ with our own kernels, so that threads change no bit.
  static at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
    return linear_scores(a, {b, at::zeros({b.size(0)}, b.options())});
  }

  static Vector joined(const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor w = weight.contiguous();
    Vector out(w.numel() + bias.numel());
    each(w.numel(), [&](int64_t i) { out[i] = static_cast<double>(w.data_ptr<T>()[i]); });
    std::copy_n(bias.data_ptr<double>(), bias.numel(), out.begin() + w.numel());
    return out;
  }

  // Sums over rows → the gradient of their mean where features are centred.
  Vector in_coordinates(const Vector& sums, const Vector& errors) const {
    const at::Tensor packed = at::empty({layout_.size()}, data_.x.options());
    const double* const mean = data_.mean.data_ptr<double>();
    for (int64_t p = 0; p < layout_.panels(); ++p) {
      const int64_t wide = layout_.vectors[p] * layout_.lanes, first = layout_.first[p];
      T* const out = packed.data_ptr<T>() + first * layout_.dims;
      for (int64_t i = 0; i < layout_.width * wide; ++i)
        out[i] = static_cast<T>((sums[first * layout_.dims + i] -
                                 errors[first + i % wide] * mean[i / wide]) /
                                static_cast<double>(count_));
    }
    at::Tensor weight = unpack_weight<T>(layout_, packed.data_ptr<T>());
    if (data_.basis.defined()) weight = product(weight, turned_);
    const at::Tensor bias = at::empty({layout_.classes}, at::kDouble);
    for (int64_t c = 0; c < layout_.classes; ++c)
      bias.data_ptr<double>()[c] = errors[c] / static_cast<double>(count_);
    return joined(weight, bias);
  }

  const LogisticRegression::Impl& data_;
  at::Tensor rows_, turned_;
  double l2_;
  int64_t count_;
  LinearLayout layout_;
  LinearPass<T> pass_;
};

// One over the curvature along each parameter where each sample is of class c with probability π_c:
// π_c (1 − π_c) · variance + l2.
Vector inverse_curvature(const LogisticRegression::Impl& data, const at::Tensor& rows, double l2) {
  const at::Tensor targets = rows.defined() ? data.targets.index_select(0, rows) : data.targets;
  const at::Tensor counts = at::bincount(targets, {}, data.classes).contiguous();
  const auto width = static_cast<int64_t>(data.variances.size());
  const double floor = kSmallest * data.curvature + 1e-30;
  Vector out(data.classes * (width + 1));
  for (int64_t c = 0; c < data.classes; ++c) {
    // A class without samples, or without any other, counts as if it had one.
    const double n = static_cast<double>(targets.numel());
    const double share =
        std::clamp(static_cast<double>(counts.data_ptr<int64_t>()[c]), 1.0, std::max(1.0, n - 1)) / n;
    const double part = std::max(share * (1 - share), 0.5 / n);
    for (int64_t d = 0; d < width; ++d)
      out[c * width + d] = 1 / (part * data.variances[d] + l2 + floor);
    out[data.classes * width + c] = 1 / part;
  }
  return out;
}

}  // namespace

template <class T>
LogisticFit LogisticRegression::Impl::fit(const LogisticOptions& options) const {
  Objective<T> objective(*this, options.rows, options.l2);
  const Vector diagonal = inverse_curvature(*this, options.rows, options.l2);
  Vector point = options.start.weight.defined() ? objective.point(options.start)
                                                : Vector(diagonal.size(), 0);
  Vector gradient, next_gradient;
  double value = objective(point, gradient);
  std::deque<Step> memory;
  while (objective.passes < options.passes) {
    const Vector d = direction(gradient, memory, diagonal);
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
  return {objective.classifier(point), value, objective.passes};
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
  LogisticFit out = impl_->x.scalar_type() == at::kFloat ? impl_->fit<float>(here)
                                                         : impl_->fit<double>(here);
  out.classifier = {out.classifier.weight.to(impl_->device), out.classifier.bias.to(impl_->device)};
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
