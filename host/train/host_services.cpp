#include "train/host_services.hpp"

#include "eval/evaluation_mode.hpp"
#include "eval/whole_set.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <exception>
#include <string>

namespace gh::host {
namespace {

// Ranks that wait for rows of one that failed, or was asked to stop, are told so instead.
void require_all_well(Ranks& ranks, const std::exception_ptr& failure) {
  at::Tensor votes = at::tensor({failure ? 1 : 0, interrupted() ? 1 : 0}, at::kLong);
  if (ranks.world() > 1) ranks.sum_in_place(votes);
  if (failure) std::rethrow_exception(failure);
  if (votes[0].item<int64_t>() == 0) return;
  fail(votes[1].item<int64_t>() > 0 ? ErrorCode::interrupted : ErrorCode::internal,
       "another rank did not go over all of its samples");
}

}  // namespace

Random HostServices::random(std::string_view purpose) const {
  const Notebook& now = parts_.notebook;
  const uint64_t key =
      stream_key(stream_key(now.facts.seed, "method." + std::string(purpose)), now.progress.stage);
  return Random(now.call == 0 ? key : stream_key(key, "call " + std::to_string(now.call)),
                static_cast<uint64_t>(now.progress.step));
}

at::Tensor HostServices::embed_all(std::string_view views,
                                   const std::function<at::Tensor(const at::Tensor&)>& embed) {
  require(views == "plain" || views == "train", ErrorCode::invalid_param,
          "embed_all knows the views \"plain\" and "
          "\"train\", not '",
          views, "'");
  const Notebook& notebook = parts_.notebook;
  require(!notebook.in_step, ErrorCode::unsupported,
          "embed_all() inside step(): it puts the networks into evaluation mode; call it in "
          "begin_epoch(), end_epoch(), begin_stage() or end_stage()");
  const RunFacts& facts = notebook.facts;
  const EpochPlan plan{.epoch = notebook.first_epoch + notebook.progress.epoch,
                       .order = notebook.stage_samples.defined()
                                    ? notebook.stage_samples
                                    : at::arange(parts_.train.size(), at::kLong),
                       .batch = facts.batch,
                       .weights = notebook.weights};
  const EvaluationMode evaluation(parts_.method);
  SetRows own;
  std::exception_ptr failure;
  try {
    own = rows_of_rank({.set = parts_.train,
                        .views = views == "train" ? parts_.plan.views : parts_.plan.plain_views,
                        .seed = facts.seed,
                        .loader = parts_.plan.loader,
                        .plan = plan},
                       facts.rank, facts.world, embed, {});
  } catch (...) {
    failure = std::current_exception();
  }
  require_all_well(parts_.ranks, failure);
  return rows_of_all(own, plan, facts.world, facts.device,
                     [&](const at::Tensor& rows) { return parts_.ranks.all_gather(rows); })
      .x;
}

void HostServices::publish_per_sample(std::string_view name, const at::Tensor& values) {
  const RunFacts& facts = parts_.notebook.facts;
  require(
      std::find(facts.per_sample.begin(), facts.per_sample.end(), name) != facts.per_sample.end(),
      ErrorCode::unsupported, "no view operation of this recipe reads the per-sample value '", name,
      "'");
  require(values.dim() == 1 && values.size(0) == facts.samples, ErrorCode::shape,
          "the per-sample value '", name, "' must be [", facts.samples, "], got ", values.sizes());
  const at::Tensor row = values.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* first = row.data_ptr<float>();
  for (int64_t i = 0; i < facts.samples; ++i)
    require(first[i] >= 0 && first[i] <= 1, ErrorCode::numeric, "the per-sample value '", name,
            "' must lie in 0 … 1, sample ", i, " has ", first[i]);
  parts_.notebook.weights =
      std::make_shared<const std::vector<float>>(first, first + facts.samples);
}

}  // namespace gh::host
