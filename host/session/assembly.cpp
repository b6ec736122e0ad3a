#include "session/assembly.hpp"

#include "data/targets.hpp"
#include "plan/open_data.hpp"
#include "plan/refusals.hpp"
#include "recipe/placed_complaints.hpp"
#include "session/harmony.hpp"
#include "session/preflight.hpp"
#include "session/run_facts.hpp"
#include "session/run_identity.hpp"
#include "session/same_start.hpp"

#include "gh/error.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>

namespace gh::host {
namespace {

TrainPlan fitted(TrainPlan plan, const Process& process, const Purpose& purpose) {
  // With a checkpoint to start from, the file of initial weights need not be there any more.
  if (!purpose.run.empty() && !CheckpointStore(purpose.run, {}).files().empty())
    plan.weights.clear();
  if (!purpose.encoder.empty()) plan.weights = purpose.encoder;
  plan.world = process.ranks->world();
  plan.loader.device = process.device;
  if (!process.device.is_cuda()) plan.autocast.reset();
  const int64_t share = plan.accumulate * plan.world;
  require(plan.batch % share == 0, ErrorCode::invalid_param, "train.batch = ", plan.batch,
          " cannot be shared out over ", plan.world, " ranks and ", plan.accumulate,
          " parts; make it a multiple of ", share);
  return plan;
}

// Components draw from keyed streams; an operator that still asks LibTorch's global generators gets
// the run's seed.
void seed_global_generators(uint64_t seed, at::Device device) {
  for (const at::Device each : {at::Device(at::kCPU), device}) {
    at::Generator generator = at::globalContext().defaultGenerator(each);
    std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

}  // namespace

Assembly::Assembly(const Recipe& given, Registry& plugins, Process& here, const TrainPlan& asked,
                   const Purpose& purpose)
    : recipe(given),
      registry(plugins),
      process(here),
      log(here.console),
      encoder_only(!purpose.encoder.empty()),
      plan(fitted(asked, here, purpose)),
      components(make_components(given, plugins)),
      train(open_samples(given, plan, components.dataset, "train", plan.loader.skip_unreadable,
                         listener())),
      splits(*components.dataset, plan.seed, train, plan.loader.skip_unreadable, listener()),
      notebook{.facts = facts_of(plan, train, here.ranks->rank(),
                                 components.method.sees_labels ? Labels::shown : Labels::hidden)},
      encoders(notebook.facts, plan, *components.backbone, *here.ranks, log),
      host({.plan = plan,
            .train = train,
            .method = *components.method,
            .encoders = encoders,
            .notebook = notebook,
            .ranks = *here.ranks,
            .log = log}) {
  build(purpose.evaluates);
}

Say Assembly::listener() {
  if (!process.hears_data) return {};
  return [this](Severity severity, std::string_view text) { log.say(severity, text); };
}

void Assembly::build(bool evaluates) {
  require_same_samples(*process.ranks, train);
  Diagnostics problems;
  check_components(problems);
  stages = plan_stages(components.method, notebook.facts);
  seed_global_generators(plan.seed, process.device);
  build_networks(problems);
  const int64_t width = components.method.call("embedding_width", &SslMethod::embedding_width);
  if (components.structure) build_harmonizer(*this, width, problems);
  if (evaluates) check_evaluators(width, problems);
  if (problems.has_errors()) throw RecipeRefused(problems);
  if (std::string warnings = problems.text(); !warnings.empty()) {
    warnings.pop_back();                // the end of its last line
    log.say(Severity::info, warnings);  // they say themselves what they are
  }
}

void Assembly::check_components(Diagnostics& problems) {
  check_views(recipe, plan, train, problems);
  PlacedComplaints backbone(recipe, components.backbone.slot, problems);
  for (const std::vector<int64_t>& shape : notebook.facts.view_shapes)
    components.backbone.call("check", &Backbone::check, shape, backbone);
  PlacedComplaints method(recipe, components.method.slot, problems);
  components.method.call("check", &SslMethod::check, notebook.facts, method);
  if (!problems.has_errors())
    check_method(recipe, plan, components.method, notebook.facts, problems);
  if (problems.has_errors()) throw RecipeRefused(problems);
}

void Assembly::build_networks(Diagnostics& problems) try {
  components.method.call("build", &SslMethod::build, host);
  call_component(components.method.name, "load_encoder",
                 [&] { encoders.give_remaining_weights(*components.method); });
} catch (const Error&) {
  if (!encoders.too_large().empty()) {
    problems.error(locate(recipe.resolved, "backbone.id"), "backbone", encoders.too_large());
    throw RecipeRefused(problems);
  }
  if (encoders.weights_refused().empty() || encoder_only) throw;
  throw RecipeRefused(recipe, "backbone.weights", encoders.weights_refused());
}

void Assembly::check_evaluators(int64_t width, Diagnostics& problems) try {
  evaluators(nullptr).check(width, problems);
} catch (const DataRefused& refused) {
  throw RecipeRefused(recipe, refused.key(), refused.what());
}

Trainer Assembly::trainer(RunDirectory& directory, CheckpointStore& checkpoints, RunStatus& status,
                          Loader& loader) {
  return Trainer({.plan = plan,
                  .data = train,
                  .loader = loader,
                  .method = components.method,
                  .stages = stages,
                  .host = host,
                  .notebook = notebook,
                  .ranks = *process.ranks,
                  .log = log,
                  .harmonizer = harmonizer ? &*harmonizer : nullptr,
                  .directory = directory,
                  .checkpoints = checkpoints,
                  .identity = identity_of(recipe, train).metadata(),
                  .status = status,
                  .console = process.console,
                  .evaluate = [this, &directory, &status](const EvaluationMoment& moment) {
                    evaluators(&status).run(directory, moment);
                  }});
}

Evaluators Assembly::evaluators(RunStatus* status) {
  return Evaluators({.recipe = recipe,
                     .plan = plan,
                     .components = components,
                     .host = host,
                     .encoders = encoders,
                     .log = log,
                     .splits = splits,
                     .train = train,
                     .harmonizer = harmonizer ? &*harmonizer : nullptr,
                     .status = status,
                     .embeds = !encoder_only});
}

}  // namespace gh::host
