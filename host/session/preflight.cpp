#include "session/preflight.hpp"

#include "plan/refusals.hpp"
#include "recipe/placed_complaints.hpp"
#include "train/reported_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gh::host {
namespace {

bool projects_by_recipe(const TrainPlan& plan) {
  return plan.harmonize && plan.harmonize->apply == HarmonizePlan::Apply::projector;
}

}  // namespace

void check_method(const Recipe& recipe, const TrainPlan& plan, const Made<SslMethod>& method,
                  const RunFacts& facts, Diagnostics& out) {
  const bool unsure =
      projects_by_recipe(plan) && !method.call("query", &SslMethod::query, kProjects);
  if (!unsure && reported_by_host(plan)) return;
  const std::optional<MethodHabits> habits = observe_method(method.another, facts, method.flags);
  if (!habits) return;  // its first step and its first epoch will tell
  if (unsure && !habits->projects)
    add_error(recipe, "harmonize.apply",
              fmt::format("{} never compares what GH makes of its embeddings (Step::project()), so "
                          "\"projector\" would change nothing; use \"loss\"",
                          method.name),
              out);
  if (reported_by_host(plan) || habits->logged.contains(plan.best_metric)) return;
  MetricNames known = host_metrics(plan);
  known.insert(habits->logged.begin(), habits->logged.end());
  const std::string near = nearest(plan.best_metric, {known.begin(), known.end()});
  add_error(recipe, "checkpoint.metric",
            fmt::format("nothing in this run reports \"{}\"{}; there are {}", plan.best_metric,
                        near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
                        fmt::join(known, ", ")),
            out);
}

void check_allocator(const Recipe& recipe, const Made<Allocator>& allocator,
                     const AllocatorFacts& facts, Diagnostics& out) {
  PlacedComplaints complaints(recipe, allocator.slot, out);
  allocator.call("check", &Allocator::check, facts, complaints);
  // One that was built before AllocatorFacts::differentiable cannot have complained about it.
  if (!facts.differentiable || allocator.sdk_minor >= 1 || out.has_errors()) return;
  if (gives_gradients(allocator.another, facts, allocator.flags).value_or(true)) return;
  complaints.add(".harmonize.targets",
                 "it gives targets without gradient, which \"joint\" needs; use \"bi-level\" or "
                 "another allocator");
}

void check_without_data(const Recipe& recipe, Registry& registry, Diagnostics& out) {
  const TrainPlan plan = read_plan(recipe);
  const Components made = make_components(recipe, registry, Making::without_data);
  PlacedComplaints complaints(recipe, made.backbone.slot, out);
  RunFacts facts;
  facts.samples = facts.batch = plan.batch;
  facts.epochs = plan.epochs;
  facts.harmonized = plan.harmonize.has_value();
  if (plan.views.reads_weights()) facts.per_sample = {"strength"};
  for (int64_t v = 0; v < plan.views.count(); ++v) {
    facts.view_shapes.push_back(plan.views.shape_of(v, {}));
    if (plan.views.group_of(v).size > 0)  // else vectors, as wide as the data
      made.backbone.call("check", &Backbone::check, facts.view_shapes.back(), complaints);
  }
  check_method(recipe, plan, made.method, facts, out);
}

}  // namespace gh::host
