#include "train/session.hpp"

#include "data/known_sets.hpp"
#include "eval/evaluation.hpp"
#include "recipe/toml.hpp"
#include "report/report.hpp"
#include "run/environment.hpp"
#include "train/components.hpp"
#include "train/interrupt.hpp"
#include "train/trainer.hpp"

#include "gh/error.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

namespace gh::host {
namespace {

RunFacts make_facts(const TrainPlan& plan, const SampleSet& data, bool with_labels) {
  RunFacts facts;
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
  if (const at::Tensor counts = with_labels ? data.class_counts() : at::Tensor(); counts.defined())
    facts.class_counts.assign(counts.data_ptr<int64_t>(),
                              counts.data_ptr<int64_t>() + counts.numel());
  return facts;
}

std::string certificate_text(const Certificate& c, double bound) {
  std::string text =
      fmt::format("structure: {} points in {} dimensions, cosines {:.4f} … {:.4f}, sum {:.1e}",
                  c.points, c.width, c.smallest_cosine, c.largest_cosine, c.zero_sum);
  if (std::isfinite(bound))
    text += fmt::format(", {:.1e} from the best possible", c.largest_cosine - bound);
  return text;
}

nlohmann::ordered_json describe_data(const SampleSet& data) {
  nlohmann::ordered_json out = {
      {"split", data.name()}, {"fingerprint", data.fingerprint()}, {"samples", data.size()}};
  if (const at::Tensor counts = data.class_counts(); counts.defined()) {
    out["class_names"] = data.class_names();
    out["class_counts"] = std::vector<int64_t>(counts.data_ptr<int64_t>(),
                                               counts.data_ptr<int64_t>() + counts.numel());
  }
  if (const at::Tensor& chosen = data.chosen(); chosen.defined()) {
    out["chosen_fingerprint"] = data.chosen_fingerprint();
    out["known_as"] = known_set(data.chosen_pattern());
    out["chosen"] = std::vector<int64_t>(chosen.data_ptr<int64_t>(),
                                         chosen.data_ptr<int64_t>() + chosen.numel());
  }
  return out;
}

// Everything of a run that lives as long as its training; members are destroyed in reverse order.
class Session {
 public:
  Session(const Recipe& recipe, Registry& registry, Console& console)
      : recipe_(recipe),
        registry_(registry),
        console_(console),
        plan_(read_plan(recipe)),
        components_(make_components(recipe, registry)),
        train_(call_component(components_.dataset.name, "open",
                              [this] {
                                return SampleSet::open(*components_.dataset, "train", plan_.seed,
                                                       plan_.long_tail);
                              })),
        splits_(*components_.dataset, plan_.seed, train_),
        host_(make_facts(plan_, train_, components_.method.sees_labels), *components_.method,
              *components_.backbone, {train_, plan_.views, plan_.plain_views, plan_.loader},
              console) {}

  RunOutcome run(const RunOptions& options) {
    build();
    RunDirectory directory = RunDirectory::create(options.out, plan_.name);
    host_.set_log(&directory);
    RunStatus status(directory);
    try {
      describe(directory, options);
      const bool finished = train(directory, status);
      status.ended(finished ? "finished" : "interrupted", finished ? "" : "stopped by a signal");
      write_report(directory.path());
      return {.directory = directory.path(), .interrupted = !finished};
    } catch (const std::exception& error) {
      console_.finish();
      directory.log(fmt::format("failed: {}", error.what()));
      status.ended("failed", error.what());
      throw;
    }
  }

 private:
  // Networks and points; every component's complaints at once.
  void build() {
    Diagnostics problems;
    const auto complaints = [&](const std::string& path) {
      return RecipeComplaints(recipe_, path, problems);
    };
    check_views(recipe_, plan_, train_, problems);
    auto backbone_complaints = complaints("backbone");
    for (const std::vector<int64_t>& shape : host_.facts().view_shapes)
      components_.backbone.ask("check", &Backbone::check, shape, backbone_complaints);
    auto method_complaints = complaints("method");
    components_.method.ask("check", &SslMethod::check, host_.facts(), method_complaints);
    if (problems.has_errors()) throw RecipeRefused(problems);

    seed_global_generator();
    components_.method.ask("build", &SslMethod::build, host_);
    const int64_t width = components_.method.ask("embedding_width", &SslMethod::embedding_width);
    if (components_.structure) build_harmonizer(width, problems);
    const EvalFacts facts = eval_facts(width);
    for (const Made<Evaluator>& evaluator : components_.evaluators) {
      auto out = complaints(evaluator.path);
      evaluator.ask("check", &Evaluator::check, facts, out);
    }
    if (problems.has_errors()) throw RecipeRefused(problems);
  }

  // Components draw from keyed streams; an operator that still asks LibTorch's global generator
  // gets the run's seed.
  void seed_global_generator() {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    std::lock_guard lock(generator.mutex());
    generator.set_current_seed(plan_.seed);
  }

  void build_harmonizer(int64_t width, Diagnostics& problems) {
    RecipeComplaints structure(recipe_, "harmonize.structure", problems);
    components_.structure.ask("check", &Structure::check, width, structure);
    if (problems.has_errors()) return;
    const at::Tensor points = components_.structure.ask(
        "points", &Structure::points, width, Random(stream_key(plan_.seed, "harmonize.structure")));
    require(points.defined() && points.dim() == 2 && points.size(1) == width && points.size(0) >= 2,
            ErrorCode::shape, "the structure must give at least two points of width ", width);
    certificate_ = certify(points);
    require(certificate_.norm_error < 1e-6, ErrorCode::numeric,
            "the structure's points are not of unit length: off by ", certificate_.norm_error);
    AllocatorFacts facts{
        .points = points.size(0), .width = width, .batch = plan_.batch, .samples = train_.size()};
    if (components_.allocator.sees_labels && train_.class_counts().defined())
      facts.classes = train_.class_counts().size(0);
    RecipeComplaints allocator(recipe_, "harmonize.allocator", problems);
    components_.allocator.ask("check", &Allocator::check, facts, allocator);

    HarmonizePlan plan = *plan_.harmonize;
    plan.learnable = components_.structure.ask("learnable", &Structure::learnable);
    plan.allocator_name = components_.allocator.name;
    harmonizer_.emplace(plan, points, *components_.allocator,
                        components_.allocator.sees_labels ? train_.targets() : at::Tensor(),
                        train_.size(), plan_.dtype,
                        [this](std::string_view name, double value) { host_.log(name, value); });
  }

  EvalFacts eval_facts(int64_t width) {
    EvalFacts facts;
    facts.splits = splits_.names();
    facts.class_targets = train_.target_kind() == TargetKind::classes;
    facts.real_targets = train_.target_kind() == TargetKind::real;
    facts.multi_targets = train_.target_kind() == TargetKind::multi;
    facts.sample_shape = plan_.plain_views.shape_of(0, train_.vector_shape());
    facts.feature_width = components_.method.ask("encoder", &SslMethod::encoder)->features();
    facts.embedding_width = width;
    return facts;
  }

  void describe(RunDirectory& directory, const RunOptions& options) {
    directory.write_text("recipe.toml", to_toml(recipe_.resolved));
    nlohmann::ordered_json environment = describe_environment();
    environment["threads"] = at::get_num_threads();
    environment["command"] = options.command;
    environment["started"] = utc_now();
    environment["plugins"] = describe_plugins(registry_.loaded());
    directory.write_json("environment.json", environment);
    directory.write_json("data.json", describe_data(train_));
    host_.say(Severity::info,
              fmt::format("{}: {} samples, {} epochs of {} steps → {}", plan_.name, train_.size(),
                          plan_.epochs, host_.facts().steps_per_epoch, directory.path().string()));
    if (harmonizer_)
      host_.say(Severity::info,
                certificate_text(certificate_,
                                 components_.structure.ask("best_cosine", &Structure::best_cosine,
                                                           certificate_.width)));
  }

  bool train(RunDirectory& directory, RunStatus& status) {
    const InterruptGuard interrupts;
    Loader loader(train_, plan_.views, plan_.seed, plan_.loader);
    Trainer trainer({.recipe = recipe_,
                     .plan = plan_,
                     .data = train_,
                     .loader = loader,
                     .method = components_.method,
                     .host = host_,
                     .harmonizer = harmonizer_ ? &*harmonizer_ : nullptr,
                     .directory = directory,
                     .status = status,
                     .console = console_,
                     .evaluate = [&](const std::string& moment, int64_t done) {
                       evaluate(directory, moment, done);
                     }});
    const bool finished = trainer.train();
    console_.finish();
    if (const auto pictures = host_.pictures(); !pictures.empty())
      directory.write_result(
          {{"evaluator", recipe_.slot("method").id}, {"moment", "end"}, {"label", "training"}},
          pictures);
    return finished;
  }

  std::string label(const std::string& moment, int64_t epochs_done) const {
    if (moment == "start") return "untrained";
    const bool harmonized = plan_.harmonize && epochs_done > plan_.harmonize->tracker.warm_up;
    return recipe_.slot("method").id + (harmonized ? " + GH" : "");
  }

  void evaluate(RunDirectory& directory, const std::string& moment, int64_t epochs_done) {
    for (std::size_t i = 0; i < components_.evaluators.size(); ++i) {
      if (!plan_.eval_moments[i].contains(moment)) continue;
      const Slot& slot = *recipe_.evals()[i];
      const auto started = std::chrono::steady_clock::now();
      EvaluationRun evaluation(
          {.method = *components_.method,
           .host = host_,
           .splits = splits_,
           .views = plan_.views,
           .plain_views = plan_.plain_views,
           .loader = plan_.loader,
           .points = harmonizer_ ? harmonizer_->points().detach().to(at::kFloat) : at::Tensor(),
           .prior = harmonizer_ ? harmonizer_->tracker().prior() : at::Tensor(),
           .say = [this](Severity s, std::string_view text) { host_.say(s, text); }},
          slot.id);
      components_.evaluators[i].ask("evaluate", &Evaluator::evaluate, evaluation);
      nlohmann::ordered_json result = {{"evaluator", slot.id},
                                       {"slot", slot.path},
                                       {"moment", moment},
                                       {"epoch", epochs_done},
                                       {"label", label(moment, epochs_done)},
                                       {"data", train_.fingerprint()},
                                       {"seed", plan_.seed}};
      result["seconds"] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      result.update(evaluation.results());
      directory.write_result(std::move(result), evaluation.pictures());
    }
  }

  const Recipe& recipe_;
  Registry& registry_;
  Console& console_;
  TrainPlan plan_;
  Components components_;
  SampleSet train_;
  SplitStore splits_;
  HostServices host_;
  Certificate certificate_;
  std::optional<Harmonizer> harmonizer_;
};

}  // namespace

RunOutcome run_recipe(const Recipe& recipe, Registry& registry, const RunOptions& options,
                      Console& console) {
  if (const int64_t threads = recipe.integer("train.threads"); threads > 0)
    at::set_num_threads(static_cast<int>(threads));
  Session session(recipe, registry, console);
  return session.run(options);
}

}  // namespace gh::host
