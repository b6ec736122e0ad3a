#include "fused_norm.hpp"

#include "norm_kernels.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

// How a tensor is cut into parts, from its shape alone.
struct Layout {
  static constexpr int64_t kPart = 16384;  // values

  int64_t channels, count;  // values of a channel
  bool rows;                // channels-last or vectors; otherwise planes
  int64_t units;            // rows, or planes
  int64_t unit_size;        // values of a row or of a plane
  int64_t part_units;       // rows of a part; planes of a part
  int64_t parts;

  Layout(const at::Tensor& x, at::MemoryFormat format)
      : channels(x.size(1)),
        count(x.numel() / x.size(1)),
        rows(x.dim() == 2 || format == at::MemoryFormat::ChannelsLast || count == x.size(0)) {
    units = rows ? count : x.size(0) * channels;
    unit_size = rows ? channels : count / x.size(0);
    // With very few rows, putting parts together would take as long as making them.
    part_units = std::clamp<int64_t>(kPart / unit_size, rows ? 16 : 1, 1024);
    parts = (units + part_units - 1) / part_units;
  }
  int64_t begin(int64_t part) const { return part * part_units; }
  int64_t end(int64_t part) const { return std::min(units, (part + 1) * part_units); }
  // Where a pair of sums for each channel begins: of a part of rows, or of a plane.
  int64_t partials() const { return rows ? parts * channels : units; }
};

// A pair of sums for each channel and part. LibTorch's allocator keeps such blocks for the next
// call; a vector would get new pages and clear them each time.
struct Partials {
  explicit Partials(const Layout& layout)
      : groups(layout.partials() / layout.channels),
        channels(layout.channels),
        sums(at::empty({2, layout.partials()}, at::kDouble)),
        first(sums.data_ptr<double>()),
        second(first + layout.partials()) {}

  // Calls add(group, channel, first, second) for all groups of a channel, one after the other.
  template <class Add>
  void fold(const Add& add) const {
    constexpr int64_t kTogether = 64;  // channels
    const auto some = [&](int64_t block) {
      const int64_t begin = block * kTogether, end = std::min(channels, begin + kTogether);
      for (int64_t group = 0; group < groups; ++group)
        for (int64_t c = begin; c < end; ++c)
          add(group, c, first[group * channels + c], second[group * channels + c]);
    };
    const int64_t blocks = (channels + kTogether - 1) / kTogether;
    if (groups * channels > 8192) return ops::parallel_indices(blocks, some);
    for (int64_t block = 0; block < blocks; ++block) some(block);
  }

  int64_t groups, channels;
  at::Tensor sums;
  double *first, *second;
};

at::MemoryFormat format_of(const at::Tensor& x) {
  return x.dim() == 4 && !x.is_contiguous() && x.is_contiguous(at::MemoryFormat::ChannelsLast)
             ? at::MemoryFormat::ChannelsLast
             : at::MemoryFormat::Contiguous;
}

template <class T>
const T* data(const at::Tensor& t) {
  return t.defined() ? t.const_data_ptr<T>() : nullptr;
}

template <class T>
const T* from(const T* p, int64_t offset) {
  return p ? p + offset : nullptr;
}

// ---- forward ----

struct Moments {
  std::vector<double> mean, variance;  // biased
};

template <class T>
Moments batch_moments(const Layout& layout, const T* x) {
  const Partials partials(layout);  // mean and Σ(x − mean)²
  const auto measure = [&](int64_t part) {
    const int64_t begin = layout.begin(part), end = layout.end(part);
    if (layout.rows) {
      std::vector<T> room(layout.channels);
      return best_kernels<NormKernels<T>>().moments_rows(
          x + begin * layout.channels, end - begin, layout.channels, room.data(),
          partials.first + part * layout.channels, partials.second + part * layout.channels);
    }
    for (int64_t plane = begin; plane < end; ++plane)
      best_kernels<NormKernels<T>>().moments_plane(x + plane * layout.unit_size, layout.unit_size,
                                                   partials.first + plane, partials.second + plane);
  };
  ops::parallel_indices(layout.parts, measure);

  // Chan's rule for putting parts together, with all parts at once.
  Moments out{std::vector<double>(layout.channels), std::vector<double>(layout.channels)};
  const auto size = [&](int64_t group) {
    return static_cast<double>(layout.rows ? layout.end(group) - layout.begin(group)
                                           : layout.unit_size);
  };
  const double n = static_cast<double>(layout.count);
  partials.fold(
      [&](int64_t group, int64_t c, double mean, double) { out.mean[c] += mean * size(group); });
  for (double& m : out.mean) m /= n;
  partials.fold([&](int64_t group, int64_t c, double mean, double squares) {
    const double apart = mean - out.mean[c];
    out.variance[c] += squares + size(group) * apart * apart;
  });
  for (double& v : out.variance) v = std::max(v / n, 0.0);
  return out;
}

// running ← (1 − momentum)·running + momentum·batch, with the unbiased variance.
template <class T>
void move_running(const NormCall& call, const Moments& moments, int64_t count) {
  T* const mean = call.running_mean.data_ptr<T>();
  T* const variance = call.running_variance.data_ptr<T>();
  const double unbias = static_cast<double>(count) / static_cast<double>(count - 1);
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    mean[c] = static_cast<T>((1 - call.momentum) * mean[c] + call.momentum * moments.mean[c]);
    variance[c] = static_cast<T>((1 - call.momentum) * variance[c] +
                                 call.momentum * unbias * moments.variance[c]);
  }
  call.running_mean.unsafeGetTensorImpl()->bump_version();
  call.running_variance.unsafeGetTensorImpl()->bump_version();
}

// Mean and 1/√(variance + ε), [2, C]: the batch's in training, otherwise the running ones.
template <class T>
at::Tensor statistics(const NormCall& call, const Layout& layout, const T* x) {
  const at::Tensor out = at::empty({2, layout.channels}, call.x.options());
  T* const mean = out.data_ptr<T>();
  T* const inverse = mean + layout.channels;
  if (call.training) {
    const Moments moments = batch_moments(layout, x);
    move_running<T>(call, moments, layout.count);
    for (int64_t c = 0; c < layout.channels; ++c) {
      mean[c] = static_cast<T>(moments.mean[c]);
      inverse[c] = static_cast<T>(1 / std::sqrt(moments.variance[c] + call.epsilon));
    }
    return out;
  }
  const T* const running = data<T>(call.running_mean);
  const T* const variance = data<T>(call.running_variance);
  for (int64_t c = 0; c < layout.channels; ++c) {
    mean[c] = running[c];
    inverse[c] = static_cast<T>(1 / std::sqrt(static_cast<double>(variance[c]) + call.epsilon));
  }
  return out;
}

// What multiplies (x − mean), and what is added then, [2, C].
template <class T>
std::vector<T> scale_and_bias(const at::Tensor& weight, const at::Tensor& bias, const T* inverse,
                              int64_t channels) {
  std::vector<T> out(2 * channels);
  for (int64_t c = 0; c < channels; ++c) {
    out[c] = weight.defined() ? inverse[c] * data<T>(weight)[c] : inverse[c];
    out[channels + c] = bias.defined() ? data<T>(bias)[c] : T(0);
  }
  return out;
}

template <class T>
void advance(NormForward<T>& part, int64_t by) {
  part.x += by;
  part.y += by;
  part.residual = from(part.residual, by);
}
template <class T>
void advance(NormGradient<T>& part, int64_t by) {
  part.dy += by;
  part.x += by;
  part.y = from(part.y, by);
}

// The part of a whole that begins with a unit: a plane with the numbers of its channel, or a row
// with those of all.
template <class Part>
Part at_unit(Part part, const Layout& layout, int64_t unit) {
  advance(part, unit * layout.unit_size);
  if (layout.rows) return part;
  const int64_t channel = unit % layout.channels;
  part.mean += channel;
  part.scale += channel;
  part.bias += channel;
  return part;
}

template <class T>
void normalize(const NormCall& call, const Layout& layout, const at::Tensor& statistics,
               const at::Tensor& y) {
  const T* const mean = data<T>(statistics);
  const std::vector<T> scale =
      scale_and_bias<T>(call.weight, call.bias, mean + layout.channels, layout.channels);
  const NormForward<T> whole{.x = data<T>(call.x),
                             .residual = data<T>(call.residual),
                             .y = y.data_ptr<T>(),
                             .mean = mean,
                             .scale = scale.data(),
                             .bias = scale.data() + layout.channels,
                             .relu = call.relu};
  ops::parallel_indices(layout.parts, [&](int64_t part) {
    const int64_t begin = layout.begin(part), end = layout.end(part);
    if (layout.rows)
      return best_kernels<NormKernels<T>>().forward_rows(at_unit(whole, layout, begin), end - begin,
                                                         layout.channels);
    for (int64_t plane = begin; plane < end; ++plane)
      best_kernels<NormKernels<T>>().forward_plane(at_unit(whole, layout, plane), layout.unit_size);
  });
}

// ---- backward ----

struct Gradients {
  at::Tensor x, weight, bias, residual;
};

// What backward remembers.
struct Saved {
  at::Tensor x, y, weight, bias, statistics;
  bool training, relu, residual;
};

template <class T>
class Backward {
 public:
  Backward(const Saved& saved, const at::Tensor& dy, at::MemoryFormat format)
      : saved_(saved), dy_(dy), layout_(saved.x, format), mean_(data<T>(saved.statistics)) {
    scale_ = scale_and_bias<T>(saved.weight, saved.bias, inverse(), layout_.channels);
    whole_ = {.dy = data<T>(dy),
              .x = data<T>(saved.x),
              .y = saved.relu && saved.residual ? data<T>(saved.y) : nullptr,
              .mean = mean_,
              .scale = scale_.data(),
              .bias = scale_.data() + layout_.channels,
              .by_input = saved.relu && !saved.residual};
  }

  Gradients run() {
    Gradients out;
    // The gradient of the residual is the masked one, which is then not masked again.
    out.residual = saved_.residual ? dy_ : at::Tensor();
    if (saved_.relu && saved_.residual) out.residual = at::empty_like(dy_);
    reduce(saved_.relu && saved_.residual ? out.residual.template data_ptr<T>() : nullptr);
    if (saved_.relu && saved_.residual) {
      whole_.dy = data<T>(out.residual);
      whole_.y = nullptr;
    }
    out.x = at::empty_like(saved_.x);
    input_gradient(out.x.template data_ptr<T>());
    if (saved_.weight.defined()) {
      out.weight = at::empty_like(saved_.weight);
      out.bias = at::empty_like(saved_.bias);
      for (int64_t c = 0; c < layout_.channels; ++c) {
        out.weight.template data_ptr<T>()[c] =
            static_cast<T>(product_[c] * static_cast<double>(inverse()[c]));
        out.bias.template data_ptr<T>()[c] = static_cast<T>(sum_[c]);
      }
    }
    return out;
  }

 private:
  const T* inverse() const { return mean_ + layout_.channels; }

  NormGradient<T> part_at(int64_t unit) const { return at_unit(whole_, layout_, unit); }

  // Σg and Σg·(x − mean); a g that depends on y is written to `masked`.
  void reduce(T* masked) {
    const Partials partials(layout_);
    ops::parallel_indices(layout_.parts, [&](int64_t part) {
      const int64_t begin = layout_.begin(part), end = layout_.end(part);
      const auto out = [&](int64_t unit) {
        return masked ? masked + unit * layout_.unit_size : nullptr;
      };
      if (layout_.rows)
        return best_kernels<NormKernels<T>>().reduce_rows(
            part_at(begin), end - begin, layout_.channels, out(begin),
            partials.first + part * layout_.channels, partials.second + part * layout_.channels);
      for (int64_t plane = begin; plane < end; ++plane)
        best_kernels<NormKernels<T>>().reduce_plane(part_at(plane), layout_.unit_size, out(plane),
                                                    partials.first + plane,
                                                    partials.second + plane);
    });
    sum_.assign(layout_.channels, 0);
    product_.assign(layout_.channels, 0);
    partials.fold([&](int64_t, int64_t c, double sum, double product) {
      sum_[c] += sum;
      product_[c] += product;
    });
  }

  // dx = scale·(g − Σg/n − x̂·Σgx̂/n) where the statistics are the batch's, else scale·g.
  void input_gradient(T* dx) {
    const int64_t channels = layout_.channels;
    std::vector<T> b(channels), c(channels);
    if (saved_.training)
      for (int64_t i = 0; i < channels; ++i) {
        const double scale = static_cast<double>(scale_[i]) / static_cast<double>(layout_.count);
        const double inverse_i = static_cast<double>(inverse()[i]);
        b[i] = static_cast<T>(-scale * inverse_i * inverse_i * product_[i]);
        c[i] = static_cast<T>(-scale * sum_[i]);
      }
    ops::parallel_indices(layout_.parts, [&](int64_t part) {
      const int64_t begin = layout_.begin(part), end = layout_.end(part);
      if (layout_.rows)
        return best_kernels<NormKernels<T>>().backward_rows(part_at(begin), end - begin, channels,
                                                            scale_.data(), b.data(), c.data(),
                                                            dx + begin * channels);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t i = plane % channels;
        best_kernels<NormKernels<T>>().backward_plane(part_at(plane), layout_.unit_size, scale_[i],
                                                      b[i], c[i], dx + plane * layout_.unit_size);
      }
    });
  }

  const Saved& saved_;
  const at::Tensor& dy_;
  Layout layout_;
  const T* mean_;
  std::vector<T> scale_;
  NormGradient<T> whole_;
  std::vector<double> sum_, product_;
};

// The same in operators that can themselves be differentiated.
Gradients differentiable_backward(const Saved& saved, const at::Tensor& dy) {
  Gradients out;
  const at::Tensor g = saved.relu ? dy * (saved.y > 0) : dy;
  if (saved.residual) out.residual = g;
  const at::Tensor mean = saved.statistics[0], inverse = saved.statistics[1];
  if (saved.training) {
    std::tie(out.x, out.weight, out.bias) =
        at::native_batch_norm_backward(g, saved.x, saved.weight, {}, {}, mean, inverse,
                                       /*train=*/true, /*eps=*/0, {true, true, true});
    return out;
  }
  std::vector<int64_t> shape(saved.x.dim(), 1), others;
  shape[1] = saved.x.size(1);
  for (int64_t d = 0; d < saved.x.dim(); ++d)
    if (d != 1) others.push_back(d);
  const at::Tensor normalized = (saved.x - mean.view(shape)) * inverse.view(shape);
  out.x = g * inverse.view(shape);
  if (!saved.weight.defined()) return out;
  out.x = out.x * saved.weight.view(shape);
  out.weight = (g * normalized).sum(others);
  out.bias = g.sum(others);
  return out;
}

class FusedNorm final : public torch::autograd::Function<FusedNorm> {
 public:
  using Optional = std::optional<at::Tensor>;  // undefined ones are not allowed here

  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const Optional& residual, const Optional& /*weight*/,
                            const Optional& /*bias*/, NormCall call) {
    const at::MemoryFormat format = format_of(x);
    call.x = x.contiguous(format);
    if (residual) call.residual = residual->contiguous(format);
    const at::Tensor y = at::empty_like(call.x);
    const Layout layout(call.x, format);
    at::Tensor kept;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "fused_norm", [&] {
      kept = statistics<scalar_t>(call, layout, data<scalar_t>(call.x));
      normalize<scalar_t>(call, layout, kept, y);
    });
    context->save_for_backward({x, call.relu ? y : at::Tensor(), call.weight, call.bias, kept});
    context->saved_data["training"] = call.training;
    context->saved_data["relu"] = call.relu;
    context->saved_data["residual"] = residual.has_value();
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto tensors = context->get_saved_variables();
    Saved saved{.x = tensors[0],
                .y = tensors[1],
                .weight = tensors[2],
                .bias = tensors[3],
                .statistics = tensors[4],
                .training = context->saved_data["training"].toBool(),
                .relu = context->saved_data["relu"].toBool(),
                .residual = context->saved_data["residual"].toBool()};
    Gradients out;
    if (at::GradMode::is_enabled()) {
      out = differentiable_backward(saved, grads[0]);
    } else {
      const at::MemoryFormat format = format_of(saved.x);
      saved.x = saved.x.contiguous(format);
      const at::Tensor dy = grads[0].contiguous(format);
      AT_DISPATCH_FLOATING_TYPES(saved.x.scalar_type(), "fused_norm_backward",
                                 [&] { out = Backward<scalar_t>(saved, dy, format).run(); });
    }
    return {out.x, out.residual, out.weight, out.bias, at::Tensor()};
  }
};

}  // namespace

bool fused_norm_takes(const NormCall& call) {
  const auto fits = [&](const at::Tensor& t) {
    return !t.defined() || (t.is_cpu() && t.scalar_type() == call.x.scalar_type());
  };
  return call.x.is_cpu() && call.x.numel() > 0 && (call.x.dim() == 2 || call.x.dim() == 4) &&
         (call.x.scalar_type() == at::kFloat || call.x.scalar_type() == at::kDouble) &&
         call.x.size(1) == call.running_mean.numel() && fits(call.weight) &&
         fits(call.running_mean) && fits(call.residual) &&
         (!call.residual.defined() || call.residual.sizes() == call.x.sizes());
}

at::Tensor fused_norm(const NormCall& call) {
  const auto optional = [](const at::Tensor& t) {
    return t.defined() ? std::optional(t) : std::nullopt;
  };
  return FusedNorm::apply(call.x, optional(call.residual), optional(call.weight),
                          optional(call.bias), call);
}

}  // namespace v1
}  // namespace gh
