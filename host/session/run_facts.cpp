#include "session/run_facts.hpp"

namespace gh::host {

RunFacts facts_of(const TrainPlan& plan, const SampleSet& data, int64_t rank, Labels labels) {
  RunFacts facts;
  facts.accumulate = plan.accumulate;
  facts.rank = rank;
  facts.world = plan.world;
  facts.device = plan.loader.device;
  facts.samples = data.size();
  facts.batch = plan.batch;
  facts.steps_per_epoch = plan.steps_per_epoch(data.size());
  facts.epochs = plan.epochs;
  facts.seed = plan.seed;
  facts.dtype = plan.dtype;
  for (int64_t v = 0; v < plan.views.count(); ++v)
    facts.view_shapes.push_back(plan.views.shape_of(v, data.vector_shape()));
  if (plan.views.reads_weights()) facts.per_sample = {"strength"};
  facts.harmonized = plan.harmonize.has_value();
  facts.harmonize_mode = plan.harmonize_mode;
  facts.harmonize_apply = plan.harmonize_apply;
  facts.drop_last = plan.drop_last;
  facts.sync_norm = plan.norm == Norm::of_all_ranks;
  facts.convolution = plan.convolution_name;
  const at::Tensor counts = labels == Labels::shown ? data.class_counts() : at::Tensor();
  if (counts.defined())
    facts.class_counts.assign(counts.data_ptr<int64_t>(),
                              counts.data_ptr<int64_t>() + counts.numel());
  return facts;
}

}  // namespace gh::host
