#include "gh/ops/kmeans.hpp"

#include "kmeans_lloyd.hpp"
#include "operators.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <limits>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

void check_matrix(const at::Tensor& t, const char* name) {
  require(t.defined() && t.dim() == 2 && t.size(0) > 0 && t.size(1) > 0, ErrorCode::shape, name,
          " must be [rows, width] and not empty, got ",
          t.defined() ? t.sizes() : at::IntArrayRef{});
  require(t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble, ErrorCode::shape, name,
          " must be float32 or float64, got ", t.scalar_type());
  require(t.size(0) <= std::numeric_limits<int32_t>::max(), ErrorCode::shape, name, " has ",
          t.size(0), " rows, more than fit 32 bits");
}

void check_clusters(int64_t clusters, int64_t rows) {
  require(clusters >= 1 && clusters <= rows, ErrorCode::invalid_param, "expected 1 to ", rows,
          " clusters for ", rows, " rows, got ", clusters);
}

template <class T>
KMeansResult lloyd_on_cpu(const at::Tensor& x, const at::Tensor& start,
                          const KMeansOptions& options) {
  return lloyd<T>(kmeans_rows<T>(x, options.metric, best_kernels<KMeansKernels<T>>()), start,
                  options, best_kernels<KMeansKernels<T>>());
}

// Where devices part. CUDA kernels are for float32; the CPU computes for all else.
KMeansResult lloyd_on_device(const at::Tensor& x, const at::Tensor& start,
                             const KMeansOptions& options) {
  if (x.is_cpu())
    return x.scalar_type() == at::kFloat ? lloyd_on_cpu<float>(x, start, options)
                                         : lloyd_on_cpu<double>(x, start, options);
#ifdef GH_OPS_CUDA
  if (x.is_cuda() && x.scalar_type() == at::kFloat) return kmeans_on_cuda(x, start, options);
#endif
  KMeansResult out = lloyd_on_device(x.cpu(), start.cpu(), options);
  out.centres = out.centres.to(x.device());
  out.labels = out.labels.to(x.device());
  return out;
}

// The start's rows as centres; unit rows come from the same scaling as kmeans() applies.
template <class T>
at::Tensor start_on_cpu(const at::Tensor& x, int64_t clusters, KMeansStart start,
                        KMeansMetric metric, Random random) {
  const KMeansRows<T> rows = kmeans_rows<T>(x, metric, best_kernels<KMeansKernels<T>>());
  const at::Tensor chosen =
      start == KMeansStart::random
          ? random.permutation(x.size(0)).narrow(0, 0, clusters)
          : at::tensor(plus_plus(rows, clusters, random, best_kernels<KMeansKernels<T>>()),
                       at::kLong);
  return (metric == KMeansMetric::spherical ? rows.x : x).index_select(0, chosen);
}

}  // namespace

at::Tensor kmeans_start(const at::Tensor& x, int64_t clusters, KMeansStart start,
                        KMeansMetric metric, Random random) {
  check_matrix(x, "x");
  check_clusters(clusters, x.size(0));
  at::NoGradGuard no_grad;
  const at::Tensor rows = x.cpu();
  const at::Tensor centres = x.scalar_type() == at::kFloat
                                 ? start_on_cpu<float>(rows, clusters, start, metric, random)
                                 : start_on_cpu<double>(rows, clusters, start, metric, random);
  return centres.to(x.device());
}

KMeansResult kmeans(const at::Tensor& x, const at::Tensor& start, const KMeansOptions& options) {
  check_matrix(x, "x");
  check_matrix(start, "start");
  require(start.size(1) == x.size(1), ErrorCode::shape, "start must be [clusters, ", x.size(1),
          "] like x, got ", start.sizes());
  require(start.scalar_type() == x.scalar_type() && start.device() == x.device(), ErrorCode::shape,
          "start must be ", x.scalar_type(), " on ", x.device(), " like x, got ",
          start.scalar_type(), " on ", start.device());
  check_clusters(start.size(0), x.size(0));
  require(options.iterations >= 1, ErrorCode::invalid_param, "expected at least 1 iteration, got ",
          options.iterations);
  at::NoGradGuard no_grad;
  return lloyd_on_device(x.detach(), start.detach(), options);
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
