#include "gh/ops/nearest.hpp"

#include "nearest_search.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>

#include <limits>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

void check_bank(const at::Tensor& bank) {
  require(bank.defined() && bank.dim() == 2 && bank.size(0) > 0 && bank.size(1) > 0,
          ErrorCode::shape, "bank must be [rows, width] and not empty, got ",
          bank.defined() ? bank.sizes() : at::IntArrayRef{});
  require(bank.scalar_type() == at::kFloat || bank.scalar_type() == at::kDouble, ErrorCode::shape,
          "bank must be float32 or float64, got ", bank.scalar_type());
  require(bank.size(0) <= std::numeric_limits<int32_t>::max() - 64, ErrorCode::shape, "bank has ",
          bank.size(0), " rows, more than fit 32 bits");
}

}  // namespace

NearestResult nearest(const at::Tensor& bank, const at::Tensor& queries, int64_t k,
                      NearestMetric metric) {
  check_bank(bank);
  require(queries.defined() && queries.dim() == 2 && queries.size(1) == bank.size(1),
          ErrorCode::shape, "queries must be [rows, ", bank.size(1), "] like the bank, got ",
          queries.defined() ? queries.sizes() : at::IntArrayRef{});
  require(queries.scalar_type() == bank.scalar_type() && queries.device() == bank.device(),
          ErrorCode::shape, "queries must be ", bank.scalar_type(), " on ", bank.device(),
          " like the bank, got ", queries.scalar_type(), " on ", queries.device());
  require(k >= 1 && k <= bank.size(0), ErrorCode::invalid_param, "expected k of 1 to ",
          bank.size(0), ", the rows of the bank, got ", k);
  at::NoGradGuard no_grad;
  const at::Tensor y = bank.detach().cpu(), x = queries.detach().cpu();
  NearestResult out =
      y.scalar_type() == at::kFloat
          ? search_nearest<float>(y, x, k, metric, best_kernels<NearestKernels<float>>())
          : search_nearest<double>(y, x, k, metric, best_kernels<NearestKernels<double>>());
  out.indices = out.indices.to(bank.device());
  out.values = out.values.to(bank.device());
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
