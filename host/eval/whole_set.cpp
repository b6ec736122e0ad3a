#include "eval/whole_set.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace gh::host {
namespace {

constexpr int64_t kMostDimensions = 7;

// Samples that each rank but the last ones has.
int64_t samples_each(const EpochPlan& plan, int64_t world) {
  const int64_t batches = (plan.order.size(0) + plan.batch - 1) / plan.batch;
  return (batches + world - 1) / world * plan.batch;
}

// What a row looks like: a rank without a batch does not know. [dtype, dimensions, sizes …].
at::Tensor description_of(const at::Tensor& x) {
  std::vector<int64_t> out(kMostDimensions + 2, 0);
  if (x.defined()) {
    require(x.dim() <= kMostDimensions, ErrorCode::shape, "a sample became a row of shape ",
            x.sizes().slice(1), "; at most ", kMostDimensions - 1, " dimensions can be shared out");
    out[0] = static_cast<int64_t>(x.scalar_type());
    out[1] = x.dim();
    std::copy(x.sizes().begin() + 1, x.sizes().end(), out.begin() + 2);
  }
  return at::tensor(out, at::kLong).unsqueeze(0);
}

}  // namespace

void each_batch_of(const SetPass& pass,
                   const std::function<bool(const at::Tensor& x, const at::Tensor& samples)>& use,
                   const std::function<void(const std::string& reason)>& skipped) {
  LoaderOptions options = pass.loader;
  options.views = 1;
  Loader loader(pass.set, pass.views, pass.seed, options);
  loader.begin(pass.plan);
  while (const std::optional<LoadedBatch> loaded = loader.next()) {
    if (skipped)
      for (const std::string& reason : loaded->skipped) skipped(reason);
    if (!use(loaded->views[0], loaded->indices)) return;
  }
}

SetRows rows_of_rank(SetPass pass, int64_t rank, int64_t world,
                     const std::function<at::Tensor(const at::Tensor& x)>& embed,
                     const std::function<void(const std::string& reason)>& skipped) {
  const at::NoGradGuard no_grad;
  const int64_t samples = pass.plan.order.size(0), each = samples_each(pass.plan, world);
  const int64_t first = std::min(rank * each, samples), count = std::min(each, samples - first);
  require(samples > 0, ErrorCode::invalid_param, "there is no sample to go over");
  if (count == 0) return {.x = {}, .samples = at::empty({0}, at::kLong)};
  pass.plan.order = pass.plan.order.narrow(0, first, count);
  std::vector<at::Tensor> rows, read;
  each_batch_of(
      pass,
      [&](const at::Tensor& x, const at::Tensor& indices) {
        throw_if_interrupted();
        const at::Tensor made = embed(x);
        // A copy: `embed` may hand its argument back, whose memory is the loader's.
        rows.push_back(
            made.to(at::kCPU, made.scalar_type(), /*non_blocking=*/false, /*copy=*/true));
        read.push_back(indices);
        return true;
      },
      skipped);
  return {.x = at::cat(rows), .samples = at::cat(read)};
}

SetRows rows_of_all(const SetRows& own, const EpochPlan& plan, int64_t world, at::Device device,
                    const std::function<at::Tensor(const at::Tensor&)>& all_gather) {
  if (world == 1) return own;
  const auto gathered = [&](const at::Tensor& part) {
    return all_gather(part.to(device)).to(at::kCPU);
  };
  const at::Tensor known = std::get<0>(gathered(description_of(own.x)).max(0)).contiguous();
  const int64_t* const row = known.const_data_ptr<int64_t>();
  std::vector<int64_t> padded(row + 2, row + 1 + row[1]);
  padded.insert(padded.begin(), samples_each(plan, world));
  at::Tensor x = at::zeros(padded, static_cast<at::ScalarType>(row[0]));
  at::Tensor samples = at::full({padded.front()}, -1, at::kLong);
  if (own.x.defined()) {
    x.narrow(0, 0, own.x.size(0)).copy_(own.x);
    samples.narrow(0, 0, own.samples.size(0)).copy_(own.samples);
  }
  const at::Tensor all = gathered(samples);
  const at::Tensor kept = all.ge(0).nonzero().squeeze(1);
  return {.x = gathered(x).index_select(0, kept), .samples = all.index_select(0, kept)};
}

}  // namespace gh::host
