#include "ranks/synced_layers.hpp"

#include "gh/error.hpp"
#include "gh/norm_tensors.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace gh::host {
namespace {

// Of all ranks' samples, per channel, in float32 or float64.
struct Statistics {
  at::Tensor mean, variance;  // [C], the latter biased
  double count = 0;           // values per channel
};

// Each rank has as many samples, so means of means are means. The variance is that within ranks and
// that between their means (Chan, Golub and LeVeque); sums of squares would lose digits where the
// mean is large.
Statistics statistics_over(Ranks& ranks, const at::Tensor& x) {
  const auto wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto [mean, variance] = at::batch_norm_update_stats(x, {}, {}, 0.0);
  const at::Tensor own = at::cat({mean, variance}).to(wide).view({1, 2, -1});
  const at::Tensor all = ranks.all_gather(own);  // [world, 2, C]
  const at::Tensor means = all.select(1, 0), variances = all.select(1, 1);
  Statistics result;
  result.mean = means.mean(0);
  result.variance = (variances + (means - result.mean).square()).mean(0);
  result.count = static_cast<double>(x.numel() / x.size(1) * ranks.world());
  return result;
}

at::Tensor per_channel(const at::Tensor& values, const at::Tensor& like) {
  std::vector<int64_t> shape(static_cast<size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.to(like.scalar_type()).view(shape);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// dx as a·dy + b·x + c with numbers per channel.
at::Tensor input_gradient(Ranks& ranks, const Statistics& statistics, double epsilon,
                          const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& dw, const at::Tensor& db) {
  const auto wide = statistics.mean.scalar_type();
  at::Tensor sums = at::cat({dw, db}).to(wide) / statistics.count;
  ranks.sum_in_place(sums);
  const at::Tensor inverse = (statistics.variance + epsilon).rsqrt();
  const at::Tensor a = weight.to(wide) * inverse;
  const at::Tensor b = -a * inverse * sums.narrow(0, 0, dw.numel());
  const at::Tensor c = -a * sums.narrow(0, dw.numel(), db.numel()) - b * statistics.mean;
  at::Tensor dx = at::addcmul(per_channel(c, x), x, per_channel(b, x));
  return dx.addcmul_(dy, per_channel(a, x));
}

// With x̂ = (x − μ)/σ and means over all ranks' samples:
//   dx = w/σ · (dy − mean(dy) − x̂ · mean(dy·x̂)),   dw = Σ dy·x̂,   db = Σ dy
// where the sums of dw and db are this rank's: gradients of parameters are averaged later.
struct NormalizeOverRanks final : torch::autograd::Function<NormalizeOverRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, Ranks* ranks, const Statistics& statistics,
                            double epsilon) {
    context->save_for_backward({x, weight, statistics.mean, statistics.variance});
    context->saved_data["count"] = statistics.count;
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["ranks"] = reinterpret_cast<int64_t>(ranks);
    return at::batch_norm(x, weight, bias, statistics.mean.to(x.scalar_type()),
                          statistics.variance.to(x.scalar_type()), /*training=*/false, 0.0, epsilon,
                          /*cudnn_enabled=*/true);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &dy = gradients[0], &x = saved[0], &weight = saved[1];
    const Statistics statistics{saved[2], saved[3], context->saved_data["count"].toDouble()};
    const double epsilon = context->saved_data["epsilon"].toDouble();
    Ranks& ranks = *reinterpret_cast<Ranks*>(context->saved_data["ranks"].toInt());
    const auto [unused, dw, db] = at::native_batch_norm_backward(
        dy, x, {}, statistics.mean.to(x.scalar_type()), statistics.variance.to(x.scalar_type()), {},
        {}, /*train=*/false, epsilon, {false, true, true});
    variable_list result(6);
    if (context->needs_input_grad(0))
      result[0] = input_gradient(ranks, statistics, epsilon, dy, x, weight, dw, db);
    result[1] = dw;
    result[2] = db;
    return result;
  }
};

class SyncedNorm final : public NormTensors {
 public:
  SyncedNorm(Ranks& ranks, const NormalizationSpec& spec) : NormTensors(spec), ranks_(ranks) {}
  at::Tensor forward(const at::Tensor& x) override { return activate(normalize(x)); }
  at::Tensor forward_add(const at::Tensor& x, const at::Tensor& residual) override {
    return activate(normalize(x) + residual);
  }

 private:
  at::Tensor activate(const at::Tensor& y) const { return spec_.relu ? at::relu(y) : y; }

  at::Tensor normalize(const at::Tensor& x) {
    if (training()) return normalize_over_ranks(x);
    return at::batch_norm(x, weight_, bias_, mean_, variance_, /*training=*/false, spec_.momentum,
                          spec_.epsilon, /*cudnn_enabled=*/true);
  }

  at::Tensor normalize_over_ranks(const at::Tensor& x) {
    require(x.dim() >= 2 && x.size(1) == spec_.channels && x.numel() > 0, ErrorCode::shape,
            "batch normalisation of ", spec_.channels, " channels, got ", x.sizes());
    Statistics statistics;
    {
      at::NoGradGuard no_grad;
      statistics = statistics_over(ranks_, x.detach());
      remember(statistics);
    }
    const at::Tensor weight = weight_.defined() ? weight_ : at::ones_like(mean_);
    const at::Tensor bias = bias_.defined() ? bias_ : at::zeros_like(mean_);
    return NormalizeOverRanks::apply(x, weight, bias, &ranks_, statistics, spec_.epsilon);
  }

  void remember(const Statistics& statistics) {
    count_.add_(1);
    const double unbiased = statistics.count / std::max(statistics.count - 1, 1.0);
    mean_.lerp_(statistics.mean.to(mean_.scalar_type()), spec_.momentum);
    variance_.lerp_((statistics.variance * unbiased).to(variance_.scalar_type()), spec_.momentum);
  }

  Ranks& ranks_;
};

class SyncedLayers final : public LayerFactory {
 public:
  SyncedLayers(Ranks& ranks, std::shared_ptr<LayerFactory> base)
      : ranks_(ranks), base_(std::move(base)) {}
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return base_->linear(spec, random);
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    return base_->convolution(spec, random);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return std::make_shared<SyncedNorm>(ranks_, spec);
  }
  void* query(const char* interface_id) override { return base_->query(interface_id); }

 private:
  Ranks& ranks_;
  std::shared_ptr<LayerFactory> base_;
};

}  // namespace

std::shared_ptr<LayerFactory> synced_layers(Ranks& ranks, std::shared_ptr<LayerFactory> base) {
  if (ranks.world() == 1) return base;
  return std::make_shared<SyncedLayers>(ranks, std::move(base));
}

}  // namespace gh::host
