// The one place where keys of a recipe become members of a plan.
#include "plan/plan.hpp"

#include "gh/error.hpp"

namespace gh::host {
namespace {

HarmonizePlan read_harmonize(const Recipe& recipe) {
  using Plan = HarmonizePlan;
  const auto is = [&](const char* key, const char* value) {
    return recipe.text(std::string("harmonize.") + key) == value;
  };
  Plan plan;
  plan.tracker.warm_up = recipe.integer("harmonize.warm_up");
  plan.tracker.first_epoch = recipe.integer("harmonize.track_from") - 1;
  plan.tracker.momentum = recipe.real("harmonize.momentum");
  plan.tracker.warm_up_momentum = recipe.real("harmonize.warm_up_momentum");
  plan.ramp = recipe.integer("harmonize.ramp");
  plan.weight = recipe.real("harmonize.weight");
  plan.temperature = recipe.real("harmonize.temperature");
  plan.logits = is("logits", "unit") ? Plan::Logits::unit : Plan::Logits::cosine;
  plan.allocate = is("allocate", "logits") ? Plan::Allocate::logits : Plan::Allocate::log_softmax;
  plan.track = is("track", "logits") ? Plan::Track::logits : Plan::Track::softmax;
  plan.directions = is("directions", "both") ? Plan::Directions::both : Plan::Directions::one;
  plan.targets = is("targets", "joint") ? Plan::Targets::joint : Plan::Targets::bi_level;
  plan.apply = is("apply", "projector") ? Plan::Apply::projector : Plan::Apply::loss;
  if (is("prior.id", "tracked")) {
    plan.tracker.refresh = recipe.integer("harmonize.prior.refresh");
    plan.tracker.floor = recipe.real("harmonize.prior.floor");
    if (is("prior.refresh_at", "epoch"))
      plan.tracker.refresh_at = TrackerPlan::Refresh::epoch_before;
  } else {
    plan.prior = is("prior.id", "uniform") ? Plan::Prior::uniform : Plan::Prior::given;
  }
  return plan;
}

LongTail read_long_tail(const Recipe& recipe) {
  LongTail out;
  out.law = recipe.text("data.longtail.law");
  if (recipe.find("data.longtail.ratio")) out.ratio = recipe.real("data.longtail.ratio");
  out.alpha = recipe.real("data.longtail.alpha");
  out.keep = recipe.real("data.longtail.keep");
  if (const Value* counts = recipe.find("data.longtail.counts"))
    for (const Value& count : *counts->as<Array>()) out.counts.push_back(*count.as<int64_t>());
  if (recipe.find("data.longtail.file")) out.file = recipe.text("data.longtail.file");
  out.seed = static_cast<uint32_t>(recipe.integer("data.longtail.seed"));
  return out;
}

std::optional<PriorSource> read_prior_source(const Recipe& recipe) {
  const std::string& id = recipe.text("harmonize.prior.id");
  if (id == "tracked" || id == "uniform") return {};
  PriorSource out;
  if (id == "oracle")
    out.temperature = recipe.real("harmonize.prior.temperature");
  else
    out.file = recipe.text("harmonize.prior.file");
  return out;
}

Schedule read_schedule(const Recipe& recipe, const std::optional<HarmonizePlan>& harmonize) {
  Schedule out{.id = recipe.text("train.schedule.id"), .lr = recipe.real("train.optimizer.lr")};
  if (out.id == "constant") return out;
  out.warm_up = recipe.integer("train.schedule.warm_up");
  if (out.id == "step") {
    out.gamma = recipe.real("train.schedule.gamma");
    for (const Value& epoch : *recipe.at("train.schedule.milestones").as<Array>())
      out.milestones.push_back(*epoch.as<int64_t>());
    return out;
  }
  out.lr_min = recipe.real("train.schedule.lr_min");
  if (out.id == "cosine") {
    out.per_step = recipe.text("train.schedule.per") == "step";
    return out;
  }
  out.stage1_end = out.stage2_start = recipe.real("train.schedule.lr_split");
  out.stage2_begins = harmonize->tracker.warm_up;
  return out;
}

void read_harmonization(const Recipe& recipe, TrainPlan& plan) {
  if (!recipe.find("harmonize")) return;
  plan.harmonize = read_harmonize(recipe);
  plan.given_prior = read_prior_source(recipe);
  plan.harmonize_mode = recipe.text("harmonize.mode");
  plan.harmonize_apply = recipe.text("harmonize.apply");
}

std::set<std::string> read_moments(const Recipe& recipe, const std::string& path) {
  std::set<std::string> out;
  for (const Value& value : *recipe.at(path + ".when").as<Array>())
    out.insert(*value.as<std::string>());
  return out;
}

}  // namespace

TrainPlan read_plan(const Recipe& recipe) {
  TrainPlan plan;
  plan.name = recipe.text("name");
  plan.seed = static_cast<uint64_t>(recipe.integer("seed"));
  plan.epochs = recipe.integer("train.epochs");
  plan.batch = recipe.integer("train.batch");
  plan.drop_last = recipe.boolean("train.drop_last");
  plan.accumulate = recipe.integer("train.accumulate");
  plan.clip = recipe.real("train.clip");
  plan.dtype = recipe.text("train.dtype") == "float64" ? at::kDouble : at::kFloat;
  if (const std::string& autocast = recipe.text("train.autocast"); autocast != "off")
    plan.autocast = autocast == "fp16" ? at::kHalf : at::kBFloat16;
  plan.channels_last = recipe.boolean("train.channels_last");
  plan.convolution_name = recipe.text("train.convolution");
  plan.convolution = ops::convolution_mode(plan.convolution_name);
  if (recipe.find("backbone.weights")) plan.weights = recipe.text("backbone.weights");
  plan.process = {.device = recipe.text("train.device"),
                  .threads = recipe.integer("train.threads"),
                  .timeout = recipe.real("ranks.timeout")};
  plan.norm = recipe.boolean("ranks.sync_norm") ? Norm::of_all_ranks : Norm::of_each_rank;
  plan.checkpoint_every = recipe.integer("checkpoint.every");
  plan.checkpoint_minutes = recipe.real("checkpoint.minutes");
  plan.checkpoints = {.keep = recipe.integer("checkpoint.keep"),
                      .best = recipe.integer("checkpoint.best"),
                      .largest_is_best = recipe.text("checkpoint.goal") == "max"};
  plan.best_metric = recipe.text("checkpoint.metric");
  const Table& views = *recipe.at("views").as<Table>();
  plan.views = read_views(views);
  plan.plain_views = read_plain_views(views);
  plan.loader = {.threads = static_cast<int>(recipe.integer("loader.threads")),
                 .prefetch = static_cast<int>(recipe.integer("loader.prefetch")),
                 .skip_unreadable = recipe.text("loader.on_error") == "skip",
                 .dtype = plan.dtype};
  if (recipe.find("data.longtail")) plan.long_tail = read_long_tail(recipe);
  read_harmonization(recipe, plan);
  plan.optimizer = read_optimizer(recipe);
  plan.schedule = read_schedule(recipe, plan.harmonize);
  for (const Slot* slot : recipe.evals())
    plan.eval_times.push_back(
        {read_moments(recipe, slot->path), recipe.integer(slot->path + ".every")});
  return plan;
}

OptimizerPlan read_optimizer(const Recipe& recipe) {
  const auto real = [&](const char* key) {
    return recipe.real(std::string("train.optimizer.") + key);
  };
  OptimizerPlan out{.rule = {},
                    .decay_bias_and_norm = recipe.boolean("train.optimizer.decay_bias_and_norm")};
  const std::string& id = recipe.text("train.optimizer.id");
  if (id == "sgd")
    out.rule = SgdPlan{.lr = real("lr"),
                       .momentum = real("momentum"),
                       .weight_decay = real("weight_decay"),
                       .nesterov = recipe.boolean("train.optimizer.nesterov")};
  else if (id == "lars")
    out.rule = LarsPlan{.lr = real("lr"),
                        .momentum = real("momentum"),
                        .weight_decay = real("weight_decay"),
                        .eta = real("eta")};
  else if (id == "adam" || id == "adamw")
    out.rule = AdamPlan{.lr = real("lr"),
                        .beta1 = real("beta1"),
                        .beta2 = real("beta2"),
                        .epsilon = real("epsilon"),
                        .weight_decay = real("weight_decay"),
                        .decoupled = id == "adamw"};
  else
    fail(ErrorCode::internal, "the recipe schema allows an optimizer '", id,
         "' that the host cannot make");
  return out;
}

}  // namespace gh::host
