#include "contrastive.hpp"
#include "operators.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <limits>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

void check(cudaError_t error) {
  require(error == cudaSuccess, ErrorCode::internal,
          "contrastive losses on the GPU: ", cudaGetErrorString(error));
}

int size(int64_t n) {
  require(n <= std::numeric_limits<int>::max(), ErrorCode::shape, "a size of ", n,
          " is more than the kernels count to");
  return static_cast<int>(n);
}

// What the kernels read, on the device.
struct OnDevice {
  explicit OnDevice(const ContrastiveScores& s)
      : positive(indices(s.positive, s.rows)),
        skipped(indices(s.skipped, s.rows)),
        inverse(floats(s.inverse, s.rows)),
        scores{s.rows.const_data_ptr<float>(),
               s.all().const_data_ptr<float>(),
               positive.defined() ? positive.const_data_ptr<int>() : nullptr,
               skipped.defined() ? skipped.const_data_ptr<int>() : nullptr,
               inverse.const_data_ptr<float>(),
               size(s.rows.size(0)),
               size(s.all().size(0)),
               size(s.rows.size(1))} {}

  static at::Tensor floats(const std::vector<double>& values, const at::Tensor& like) {
    return at::tensor(values, at::kDouble).to(like.options());
  }
  static at::Tensor indices(const std::vector<int64_t>& values, const at::Tensor& like) {
    if (values.empty()) return at::Tensor();
    return at::tensor(values, at::kLong).to(like.options().dtype(at::kInt));
  }

  at::Tensor positive, skipped, inverse;
  cuda::ContrastiveScores scores;
};

std::vector<double> numbers(const at::Tensor& t) {
  const at::Tensor here = t.to(at::kCPU, at::kDouble).contiguous();
  return {here.const_data_ptr<double>(), here.const_data_ptr<double>() + here.numel()};
}

}  // namespace

void contrastive_logits_on_cuda(const ContrastiveScores& s, std::vector<double>& negatives,
                                std::vector<double>& positive) {
  const at::NoGradGuard no_gradient;
  const c10::cuda::CUDAGuard guard(s.rows.device());
  const OnDevice here(s);
  const at::Tensor sums = at::empty({s.rows.size(0)}, s.rows.options().dtype(at::kDouble));
  check(cuda::contrastive_log_sums(here.scores, sums.mutable_data_ptr<double>(),
                                   c10::cuda::getCurrentCUDAStream()));
  const at::Tensor positives =
      s.positives.defined() ? s.positives : s.all().index_select(0, here.positive.to(at::kLong));
  positive = numbers((s.rows.to(at::kDouble) * positives).sum(1));
  for (size_t i = 0; i < positive.size(); ++i) positive[i] *= s.inverse[i];
  negatives = numbers(sums);
}

at::Tensor contrastive_gradient_on_cuda(const ContrastiveScores& s, const ContrastiveWeights& w,
                                        bool of_columns) {
  const at::NoGradGuard no_gradient;
  const c10::cuda::CUDAGuard guard(s.rows.device());
  const OnDevice here(s);
  const at::Tensor weight = OnDevice::floats(w.weight, s.rows),
                   log_sum = OnDevice::floats(w.log_sum, s.rows);
  const at::Tensor out =
      at::empty(of_columns ? s.columns.sizes() : s.rows.sizes(), s.rows.options());
  const auto own = of_columns       ? cuda::ContrastiveOwn::columns
                   : s.among_rows() ? cuda::ContrastiveOwn::both
                                    : cuda::ContrastiveOwn::rows;
  check(cuda::contrastive_gradient(
      here.scores, {weight.const_data_ptr<float>(), log_sum.const_data_ptr<float>()}, own,
      out.mutable_data_ptr<float>(), c10::cuda::getCurrentCUDAStream()));
  if (!of_columns && s.positives.defined()) out.sub_(weight.unsqueeze(1) * s.positives);
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
