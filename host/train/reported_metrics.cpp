#include "train/reported_metrics.hpp"

#include "harmonize/surrogate_statistics.hpp"

namespace gh::host {

MetricNames host_metrics(const TrainPlan& plan) {
  MetricNames out = {"loss", "gradient_norm"};
  if (!plan.harmonize) return out;
  if (plan.harmonize->apply != HarmonizePlan::Apply::projector)
    out.insert({"loss_gh", "gh_weight"});
  SurrogateStatistics all;
  all.has_classes = true;
  log_statistics(all, [&](std::string_view name, double) { out.emplace(name); });
  return out;
}

bool reported_by_host(const TrainPlan& plan) {
  if (plan.checkpoints.best == 0) return true;
  return host_metrics(plan).contains(plan.best_metric) ||
         (plan.harmonize && plan.best_metric.starts_with("allocator_"));
}

}  // namespace gh::host
