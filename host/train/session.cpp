#include "train/session.hpp"

#include "data/known_sets.hpp"
#include "data/targets.hpp"
#include "harmonize/certificate.hpp"
#include "harmonize/given_prior.hpp"
#include "ranks/launch.hpp"
#include "ranks/mismatch.hpp"
#include "ranks/ranks.hpp"
#include "recipe/placed_complaints.hpp"
#include "recipe/toml.hpp"
#include "report/report.hpp"
#include "run/checkpoint_store.hpp"
#include "run/environment.hpp"
#include "run/last_words.hpp"
#include "text/json.hpp"
#include "train/busy_watch.hpp"
#include "train/components.hpp"
#include "train/console.hpp"
#include "train/device.hpp"
#include "train/evaluations.hpp"
#include "train/export.hpp"
#include "train/interrupt.hpp"
#include "train/last_batch.hpp"
#include "train/open_data.hpp"
#include "train/preflight.hpp"
#include "train/run_identity.hpp"
#include "train/same_run.hpp"
#include "train/same_start.hpp"
#include "train/stages.hpp"
#include "train/state_archive.hpp"
#include "train/trainer.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>

namespace gh::host {
namespace {

RunFacts make_facts(const Recipe& recipe, const TrainPlan& plan, const SampleSet& data,
                    bool with_labels) {
  RunFacts facts;
  facts.accumulate = plan.accumulate;
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
  if (facts.harmonized) {
    facts.harmonize_mode = recipe.text("harmonize.mode");
    facts.harmonize_apply = recipe.text("harmonize.apply");
  }
  facts.drop_last = plan.drop_last;
  facts.sync_norm = recipe.boolean("ranks.sync_norm");
  facts.convolution = recipe.text("train.convolution");
  if (const at::Tensor counts = with_labels ? data.class_counts() : at::Tensor(); counts.defined())
    facts.class_counts.assign(counts.data_ptr<int64_t>(),
                              counts.data_ptr<int64_t>() + counts.numel());
  return facts;
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

// Where `--resume` looks; empty without it.
std::filesystem::path run_to_resume(const RunOptions& options, const std::string& name) {
  if (!options.resume) return {};
  return options.out.empty() ? RunDirectory::latest(name) : options.out;
}

// The processes of this run, and which of them this is.
struct Process {
  Launch launch = read_launch([](const char* name) { return std::getenv(name); });
  at::Device device;
  std::unique_ptr<Ranks> ranks;
  Console console;
  std::optional<BusyWatch> busy_watch;
  bool hears_data = true;  // what data sets say while they open is told

  // `here` in place of the recipe's device, for what computes next to nothing.
  Process(const Recipe& recipe, bool alone, std::optional<at::Device> here = {})
      : device(here ? *here : choose_device(recipe.text("train.device"), launch.local_rank)),
        console(launch.rank > 0) {
    if (alone) launch = {};
    at::set_num_threads(choose_threads(recipe.integer("train.threads"), launch.local_world));
    busy_watch.emplace();
    if (launch.world > 1) {
      console.say(host::describe(launch));
      tell_of_mismatches(speak_last_words);
    }
    ranks = launch.world == 1
                ? Ranks::alone()
                : Ranks::join(launch,
                              {.timeout_seconds = recipe.real("ranks.timeout"), .device = device});
  }
};

constexpr const char* kLeftAtOnce =
    "left at once at a second signal; what follows the last checkpoint is done again";

// "2 evaluations failed; tsne at end, epoch 160: …".
std::string describe_failed(const std::vector<std::string>& failed) {
  if (failed.empty()) return "";
  return fmt::format("{} evaluation{} failed; {}", failed.size(), failed.size() == 1 ? "" : "s",
                     fmt::join(failed, "; "));
}

// On a full disk this fails too; what is thrown then must stay the first error.
void record_failure(RunDirectory& directory, RunStatus& status, const char* what) noexcept try {
  directory.log(fmt::format("failed: {}", what));
  status.ended("failed", what);
} catch (const std::exception&) {
}

// Everything of a run that lives as long as its training; members are destroyed in reverse order.
class Session {
 public:
  // `run` is where checkpoints to start from may lie; empty: nowhere. `encoder` is a file with all
  // of the encoder's weights, and nothing of what follows it; empty: none. `evaluates`: [[eval]]
  // will be asked, so what evaluators need has to be there.
  enum class Evaluates { yes, no };
  Session(const Recipe& recipe, Registry& registry, Process& process,
          const std::filesystem::path& run, Evaluates evaluates,
          const std::filesystem::path& encoder = {})
      : recipe_(recipe),
        registry_(registry),
        process_(process),
        console_(process.console),
        encoder_only_(!encoder.empty()),
        plan_(plan_for(recipe, process, run, encoder)),
        components_(make_components(recipe, registry)),
        train_(open_samples(recipe, plan_, components_.dataset, "train",
                            plan_.loader.skip_unreadable, listener())),
        splits_(*components_.dataset, plan_.seed, train_, plan_.loader.skip_unreadable, listener()),
        host_(facts_for_rank(), *components_.method, *components_.backbone,
              {train_, plan_.views, plan_.plain_views, plan_.loader},
              {plan_.weights, plan_.channels_last, plan_.convolution,
               recipe.boolean("ranks.sync_norm")},
              *process.ranks, console_) {
    listening_ = &host_;
    for (const auto& [severity, text] : notices_) host_.say(severity, text);
    build(evaluates);
  }

  RunOutcome run(const RunOptions& options) {
    check_last_batch();
    Opened opened = open_directory(options);
    RunDirectory& directory = opened.directory;
    host_.set_log(directory);
    const bool first = process_.ranks->first();
    if (const std::string& text = directory.lock_warning(); !text.empty())
      host_.say(Severity::warning, text);
    if (opened.finished) {
      host_.say(Severity::info, directory.path().string() + " is finished; nothing to go on with");
      if (first) write_report(directory.path());  // it may have been killed just before that
      return {
          .directory = directory.path(), .failed = failed_evaluations(directory), .first = first};
    }
    RunStatus status(directory);
    InterruptGuard interrupts;  // goes before what its last words need
    interrupts.last_words([&] { status.ended("interrupted", kLeftAtOnce); });
    try {
      describe(directory, options.command, opened.from);
      const bool finished = train(directory, status, opened.from);
      const std::vector<std::string> failed = failed_evaluations(directory);
      status.ended(finished ? "finished" : "interrupted",
                   finished ? describe_failed(failed) : "stopped by a signal");
      if (first) write_report(directory.path());
      return {.directory = directory.path(),
              .interrupted = !finished,
              .failed = failed,
              .first = first};
    } catch (const std::exception& error) {
      console_.finish();
      // Another rank left in the middle of something when it was told to stop, as this one was.
      if (plan_.world > 1 && interrupted()) {
        status.ended("interrupted", error.what());
        fail(ErrorCode::interrupted,
             "stopped by a signal; what follows the last checkpoint is done "
             "again: ",
             error.what());
      }
      record_failure(directory, status, error.what());
      throw;
    }
  }

  std::string export_encoder_of(const std::filesystem::path& run, Which which,
                                const std::filesystem::path& out) {
    const Restored restored = restore(run, which);
    const std::shared_ptr<Encoder> encoder =
        components_.method.ask("clone_encoder", &SslMethod::clone_encoder, host_);
    const TensorFile file = export_encoder(*encoder, export_facts(restored.epochs));
    write_safetensors(out, file);
    return fmt::format("{} tensors of {} after {} epochs → {}", file.tensors.size(),
                       recipe_.slot("backbone").id, restored.epochs, out.string());
  }

  RunOutcome evaluate_afterwards(const EvalOptions& options) {
    require(!components_.evaluators.empty(), ErrorCode::invalid_param,
            "the recipe has no [[eval]]; add one, as in '+eval={id=\"…\"}' (ghhost plugins list)");
    nlohmann::ordered_json facts = {{"weights", options.weights.string()},
                                    {"changed", nlohmann::ordered_json::object()}};
    if (!options.run.empty())
      for (const Difference& d : changes_since(options.run, recipe_, registry_))
        facts["changed"][d.key] = d.is;
    Restored restored;
    if (options.weights.empty()) {
      restored = restore(options.run, options.which);
      facts["weights"] = restored.file.filename().string();
    }
    const bool into_run = options.out.empty() && !options.run.empty();
    RunDirectory directory = open_for_results(into_run, options);
    host_.set_log(directory);
    host_.say(Severity::info, fmt::format("evaluating {} → {}", facts["weights"].get<std::string>(),
                                          directory.path().string()));
    std::optional<RunStatus> status;
    InterruptGuard interrupts;  // goes before what its last words need
    if (!into_run) {
      status.emplace(directory);
      interrupts.last_words([&] { status->ended("interrupted", kLeftAtOnce); });
      describe(directory, options.command, {});
    }
    const bool first = process_.ranks->first();
    try {
      const std::vector<std::string> failed =
          evaluations(status ? &*status : nullptr)
              .run_afterwards(directory, restored.epochs, restored.harmonized, facts);
      if (status)
        status->ended("finished",
                      failed.empty() ? "evaluated without training" : describe_failed(failed));
      if (first) write_report(directory.path());
      return {.directory = directory.path(), .failed = failed, .first = first};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted && status)
        status->ended("interrupted", "stopped by a signal");
      else if (status)
        record_failure(directory, *status, error.what());
      throw;
    } catch (const std::exception& error) {
      if (status) record_failure(directory, *status, error.what());
      throw;
    }
  }

  ReplayOutcome replay(const std::filesystem::path& run) {
    const StepExamination recorded = read_failure(run);
    CheckpointStore store(run, plan_.checkpoints);
    const auto warn = [&](const std::string& text) { console_.warn(text); };
    const auto from = store.newest(warn);
    if (from) require_own_checkpoint(*from, recorded_identity(run, registry_), registry_, warn);
    RunDirectory directory = RunDirectory::unwritten(run);
    RunStatus status(directory);
    Loader loader(train_, plan_.views, plan_.seed, plan_.loader);
    Trainer trainer = make_trainer(directory, store, status, loader);
    console_.say(fmt::format("going from {} to step {}",
                             from ? from->file.filename().string() : "the start",
                             recorded.step + 1));
    const StepExamination seen = trainer.replay(from ? &from->content : nullptr, recorded.step);
    const bool same = seen == recorded;
    return {.same = same,
            .text = summary(seen) +
                    (same ? "\nThe same as in the run, number for number."
                          : "\nNot the same as in the run, which had:\n" + summary(recorded))};
  }

 private:
  struct Restored {
    std::filesystem::path file;  // checkpoint
    int64_t epochs = 0;          // done
    bool harmonized = false;     // as Trainer::harmonized()
  };

  // Puts a checkpoint into the networks.
  Restored restore(const std::filesystem::path& run, Which which) {
    CheckpointStore store(run, plan_.checkpoints);
    const auto warn = [&](const std::string& text) { console_.warn(text); };
    const auto from = which == Which::best ? store.best() : store.newest(warn);
    require(from.has_value(), ErrorCode::missing_data, run.string(),
            which == Which::best ? " has no best checkpoint; set checkpoint.best in its recipe"
            : store.files().empty()
                ? " has no checkpoint: it was stopped before its first. Go on with it (ghhost "
                  "resume), or give weights of a file"
                : " has no sound checkpoint");
    require_own_checkpoint(*from, recorded_identity(run, registry_), registry_, warn);
    RunDirectory directory = RunDirectory::unwritten(run);
    RunStatus status(directory);
    Loader loader(train_, plan_.views, plan_.seed, plan_.loader);
    Trainer trainer = make_trainer(directory, store, status, loader);
    trainer.restore_only(from->content);
    return {from->file, trainer.epochs_done(), trainer.harmonized()};
  }

  // The first rank opens it and tells the others where it is.
  RunDirectory open_for_results(bool into_run, const EvalOptions& options) {
    if (!process_.ranks->first())
      return RunDirectory::unwritten(process_.ranks->broadcast_text(""));
    RunDirectory directory = into_run ? RunDirectory::reopen(options.run)
                                      : RunDirectory::create(options.out, plan_.name);
    process_.ranks->broadcast_text(directory.path().string());
    return directory;
  }

  static TrainPlan plan_for(const Recipe& recipe, const Process& process,
                            const std::filesystem::path& run,
                            const std::filesystem::path& encoder) {
    TrainPlan plan = read_plan(recipe);
    // With a checkpoint to start from, the file of initial weights need not be there any more.
    if (!run.empty() && !CheckpointStore(run, {}).files().empty()) plan.weights.clear();
    if (!encoder.empty()) plan.weights = encoder;
    plan.world = process.ranks->world();
    plan.loader.device = process.device;
    if (!process.device.is_cuda()) plan.autocast.reset();
    const int64_t share = plan.accumulate * plan.world;
    require(plan.batch % share == 0, ErrorCode::invalid_param, "train.batch = ", plan.batch,
            " cannot be shared out over ", plan.world, " ranks and ", plan.accumulate,
            " parts; make it a multiple of ", share);
    return plan;
  }

  RunFacts facts_for_rank() const {
    RunFacts facts = make_facts(recipe_, plan_, train_, components_.method.sees_labels);
    facts.rank = process_.ranks->rank();
    return facts;
  }

  // Takes what data sets say, also before there is a host to tell it.
  Say listener() {
    if (!process_.hears_data) return {};
    return [this](Severity severity, std::string_view text) {
      if (listening_)
        listening_->say(severity, text);
      else
        notices_.emplace_back(severity, text);
    };
  }

  // Networks and points; every component's complaints at once.
  void build(Evaluates evaluates) {
    require_same_samples(*process_.ranks, train_);
    Diagnostics problems;
    check_views(recipe_, plan_, train_, problems);
    PlacedComplaints backbone(recipe_, recipe_.slot("backbone"), problems);
    for (const std::vector<int64_t>& shape : host_.facts().view_shapes)
      components_.backbone.ask("check", &Backbone::check, shape, backbone);
    PlacedComplaints method(recipe_, recipe_.slot("method"), problems);
    components_.method.ask("check", &SslMethod::check, host_.facts(), method);
    if (!problems.has_errors())
      check_method(recipe_, plan_, components_.method, host_.facts(), problems);
    if (problems.has_errors()) throw RecipeRefused(problems);

    stages_ = plan_stages(components_.method, host_.facts());
    seed_global_generators();
    build_networks(problems);
    const int64_t width = components_.method.ask("embedding_width", &SslMethod::embedding_width);
    if (components_.structure) build_harmonizer(width, problems);
    if (evaluates == Evaluates::yes) check_evaluators(width, problems);
    if (problems.has_errors()) throw RecipeRefused(problems);
    if (std::string warnings = problems.text(); !warnings.empty()) {
      warnings.pop_back();                  // the end of its last line
      host_.say(Severity::info, warnings);  // they say themselves what they are
    }
  }

  void check_evaluators(int64_t width, Diagnostics& problems) try {
    evaluations().check(width, problems);
  } catch (const DataRefused& refused) {
    throw RecipeRefused(recipe_, refused.key(), refused.what());
  }

  void build_networks(Diagnostics& problems) try {
    components_.method.ask("build", &SslMethod::build, host_);
    call_component(components_.method.name, "load_encoder",
                   [&] { host_.give_remaining_weights(); });
  } catch (const Error&) {
    if (!host_.too_large().empty()) {
      problems.error(locate(recipe_.resolved, "backbone.id"), "backbone", host_.too_large());
      throw RecipeRefused(problems);
    }
    if (host_.weights_refused().empty() || encoder_only_) throw;
    throw RecipeRefused(recipe_, "backbone.weights", host_.weights_refused());
  }

  // Components draw from keyed streams; an operator that still asks LibTorch's global
  // generators gets the run's seed.
  void seed_global_generators() {
    for (const at::Device device : {at::Device(at::kCPU), process_.device}) {
      at::Generator generator = at::globalContext().defaultGenerator(device);
      std::lock_guard lock(generator.mutex());
      generator.set_current_seed(plan_.seed);
    }
  }

  void build_harmonizer(int64_t width, Diagnostics& problems) {
    PlacedComplaints structure(recipe_, recipe_.slot("harmonize.structure"), problems);
    components_.structure.ask("check", &Structure::check, width, structure);
    if (problems.has_errors()) return;
    at::Tensor points = components_.structure.ask(
        "points", &Structure::points, width, Random(stream_key(plan_.seed, "harmonize.structure")));
    require(points.defined() && points.dim() == 2 && points.size(1) == width && points.size(0) >= 2,
            ErrorCode::shape, "the structure must give at least two points of width ", width);
    certificate_ =
        certify(points, components_.structure.ask("best_cosine", &Structure::best_cosine, width));
    require(certificate_.norm_error < 1e-6, ErrorCode::numeric,
            "the structure's points are not of unit length: off by ", certificate_.norm_error);
    process_.ranks->broadcast({&points, 1});              // machines may round differently
    const int64_t rows = plan_.batch / plan_.accumulate;  // of all ranks, that assign() sees
    AllocatorFacts facts{
        .points = points.size(0), .width = width, .batch = rows, .samples = train_.size()};
    if (components_.allocator.sees_labels && train_.class_counts().defined())
      facts.classes = train_.class_counts().size(0);
    facts.differentiable = plan_.harmonize->targets == HarmonizePlan::Targets::joint;
    check_allocator(recipe_, components_.allocator, facts, problems);
    host_.set_points(facts.points);

    HarmonizePlan plan = *plan_.harmonize;
    plan.learnable = components_.structure.ask("learnable", &Structure::learnable);
    plan.allocator_name = components_.allocator.name;
    if (plan.prior == HarmonizePlan::Prior::given)
      plan.given_prior = given_prior(points.size(0), problems);
    if (const std::string text = coverage_warning(points.size(0), rows); !text.empty())
      host_.say(Severity::warning, text);
    harmonizer_.emplace(
        plan, points, *components_.allocator,
        Harmonizer::Labels{
            .for_allocator = components_.allocator.sees_labels ? train_.targets() : at::Tensor(),
            .for_statistics = classes()},
        train_.size(), at::TensorOptions(plan_.dtype).device(process_.device),
        [this](std::string_view name, double value) { host_.log(name, value); });
    if (plan_.world > 1)
      harmonizer_->share(process_.ranks->rank(),
                         [this](const at::Tensor& rows) { return host_.all_gather(rows); });
  }

  // Of the whole run, also of what it did before it was stopped and went on.
  std::vector<std::string> failed_evaluations(const RunDirectory& directory) {
    const nlohmann::json told =
        directory.written() ? nlohmann::json(directory.failed_results()) : nlohmann::json::array();
    return nlohmann::json::parse(process_.ranks->broadcast_text(told.dump()));
  }

  Evaluations evaluations(RunStatus* status = nullptr) {
    return Evaluations({.recipe = recipe_,
                        .plan = plan_,
                        .components = components_,
                        .host = host_,
                        .splits = splits_,
                        .train = train_,
                        .harmonizer = harmonizer_ ? &*harmonizer_ : nullptr,
                        .status = status,
                        .embeds = !encoder_only_});
  }

  // What follows from a last batch of one sample, if there is one.
  void check_last_batch() {
    const std::string text = lone_last_sample(plan_, norm_of(recipe_), train_.size());
    if (text.empty()) return;
    TensorFile state;
    StateSaver saver(state, "method");
    components_.method.ask("visit_state", &SslMethod::visit_state, saver);
    if (!takes_batch_statistics(state))
      return host_.say(Severity::warning,
                       text + ". Losses that compare samples learn nothing from it");
    Diagnostics problems;
    problems.error(locate(recipe_.resolved, "train.batch"), "train.batch",
                   text + ". Batch normalisation needs two");
    throw RecipeRefused(problems);
  }

  // Of each training sample, undefined where there are none.
  at::Tensor classes() const {
    return train_.target_kind() == TargetKind::classes ? train_.targets() : at::Tensor();
  }

  at::Tensor given_prior(int64_t points, Diagnostics& problems) {
    const bool oracle = recipe_.text("harmonize.prior.id") == "oracle";
    try {
      if (!oracle) return read_prior(recipe_.text("harmonize.prior.file"), points);
      require(classes().defined(), ErrorCode::invalid_param, "the data have no classes");
      return oracle_prior(train_.class_counts(), points,
                          recipe_.real("harmonize.prior.temperature"));
    } catch (const Error& error) {
      const std::string key = oracle ? "harmonize.prior.id" : "harmonize.prior.file";
      problems.error(locate(recipe_.resolved, key), key, error.what());
      return {};
    }
  }

  // ---- the run directory: new, or one to go on with ----

  struct Opened {
    RunDirectory directory;
    std::optional<Checkpoint> from;
    bool finished = false;
  };

  // The first rank opens it and tells the others where it is and which checkpoint to read.
  Opened open_directory(const RunOptions& options) {
    if (process_.ranks->first()) {
      Opened opened = open_as_first(options);
      const nlohmann::json told = {{"path", opened.directory.path().string()},
                                   {"from", opened.from ? opened.from->file.string() : ""},
                                   {"finished", opened.finished}};
      const std::vector<uint8_t> bytes = nlohmann::json::to_cbor(told);  // paths may be no UTF-8
      process_.ranks->broadcast_text(std::string(bytes.begin(), bytes.end()));
      return opened;
    }
    const auto told = nlohmann::json::from_cbor(process_.ranks->broadcast_text(""));
    Opened opened{.directory = RunDirectory::unwritten(told["path"].get<std::string>()),
                  .from = {},
                  .finished = told["finished"]};
    if (const std::string file = told["from"]; !file.empty())
      opened.from = Checkpoint{file, read_checkpoint(file)};
    return opened;
  }

  Opened open_as_first(const RunOptions& options) {
    const std::filesystem::path wanted = run_to_resume(options, plan_.name);
    if (!options.resume || wanted.empty() || !RunLock::has_been_in(wanted))
      return {.directory = RunDirectory::create(options.out, plan_.name), .from = {}};
    Opened opened{.directory = RunDirectory::reopen(wanted), .from = {}};
    const std::filesystem::path& path = opened.directory.path();
    require_same_run(path,
                     {.recipe = recipe_,
                      .registry = registry_,
                      .train = train_,
                      .world = plan_.world,
                      .device = process_.device.str()},
                     [&](const std::string& text) { console_.warn(text); });
    opened.finished = is_finished(path);
    if (opened.finished) return opened;
    const auto warn = [&](const std::string& text) {
      opened.directory.log(text);
      console_.warn(text);
    };
    opened.from = CheckpointStore(path, plan_.checkpoints).newest(warn);
    require(opened.from || CheckpointStore(path, plan_.checkpoints).files().empty(), ErrorCode::io,
            "no checkpoint in ", path.string(), " is sound; start anew with another --out");
    if (opened.from)
      require_own_checkpoint(*opened.from, identity_of(recipe_, train_), registry_, warn);
    else
      opened.directory.rewind({}, 0);  // it begins anew
    return opened;
  }

  std::map<std::string, std::string> export_facts(int64_t epochs) const {
    const Slot& backbone = recipe_.slot("backbone");
    std::map<std::string, std::string> facts = {
        {"ghhost.version", describe_environment()["ghhost"]},
        {"ghhost.backbone", backbone.id},
        {"ghhost.backbone.params", to_json(backbone.params).dump()},
        {"ghhost.method", recipe_.slot("method").id},
        {"ghhost.seed", std::to_string(plan_.seed)},
        {"ghhost.epochs", std::to_string(epochs)},
        {"ghhost.data.fingerprint", train_.fingerprint()},
        {"ghhost.recipe", to_toml(recipe_.resolved)}};
    if (train_.pictures()) {
      const NormalizePlan& normalize = plan_.plain_views.groups.front().normalize;
      facts["ghhost.data.mean"] = nlohmann::json(normalize.mean).dump();
      facts["ghhost.data.std"] = nlohmann::json(normalize.std).dump();
    }
    return facts;
  }

  void describe(RunDirectory& directory, const std::vector<std::string>& command,
                const std::optional<Checkpoint>& from) {
    if (from)
      return host_.say(Severity::info, fmt::format("going on from {}", from->file.string()));
    directory.write_text("recipe.toml", to_toml(recipe_.resolved));
    nlohmann::ordered_json environment = describe_environment();
    environment["threads"] = at::get_num_threads();
    // What train.convolution's own kernels run on; "": there are none, all is LibTorch's.
    environment["convolution_kernels"] = ops::winograd_instructions();
    environment["world"] = plan_.world;
    environment["run_device"] = process_.device.str();
    environment["command"] = command;
    environment["started"] = utc_now();
    environment["plugins"] = describe_plugins(registry_.loaded());
    directory.write_json("environment.json", environment);
    directory.write_json("data.json", describe_data(train_));
    host_.say(Severity::info,
              fmt::format("{}: {} samples, {} epochs of {} steps → {}", plan_.name, train_.size(),
                          plan_.epochs, host_.facts().steps_per_epoch, directory.path().string()));
    if (harmonizer_) host_.say(Severity::info, to_text(certificate_));
  }

  Trainer make_trainer(RunDirectory& directory, CheckpointStore& checkpoints, RunStatus& status,
                       Loader& loader) {
    return Trainer({.recipe = recipe_,
                    .plan = plan_,
                    .data = train_,
                    .loader = loader,
                    .method = components_.method,
                    .stages = stages_,
                    .host = host_,
                    .harmonizer = harmonizer_ ? &*harmonizer_ : nullptr,
                    .directory = directory,
                    .checkpoints = checkpoints,
                    .identity = identity_of(recipe_, train_).metadata(),
                    .status = status,
                    .console = console_,
                    .evaluate = [this, &directory, &status](const EvaluationMoment& moment) {
                      evaluations(&status).run(directory, moment);
                    }});
  }

  bool train(RunDirectory& directory, RunStatus& status, const std::optional<Checkpoint>& from) {
    Loader loader(train_, plan_.views, plan_.seed, plan_.loader);
    CheckpointStore checkpoints(directory.path(), plan_.checkpoints);
    Trainer trainer = make_trainer(directory, checkpoints, status, loader);
    const bool finished = trainer.train(from ? &from->content : nullptr, [&] {
      if (directory.written()) checkpoints.go_on_from(*from);
    });
    console_.finish();
    if (const auto pictures = host_.pictures(); !pictures.empty())
      directory.write_result(
          {{"evaluator", recipe_.slot("method").id}, {"moment", "end"}, {"label", "training"}},
          pictures);
    evaluations().write_harmony(directory, trainer.epochs_done(), trainer.harmonized());
    return finished;
  }

  const Recipe& recipe_;
  Registry& registry_;
  Process& process_;
  Console& console_;
  bool encoder_only_;
  TrainPlan plan_;
  Components components_;
  std::vector<std::pair<Severity, std::string>> notices_;  // said before there was a host
  Host* listening_ = nullptr;
  SampleSet train_;
  SplitStore splits_;
  HostServices host_;
  std::vector<Stage> stages_;
  Certificate certificate_;
  std::optional<Harmonizer> harmonizer_;
};

}  // namespace

RunOutcome run_recipe(const Recipe& recipe, Registry& registry, const RunOptions& options) {
  Process process(recipe, false);
  require_same_start(*process.ranks, recipe, registry, process.device,
                     {{"command", options.resume ? "run --resume" : "run"}});
  const RunOutcome outcome =
      Session(recipe, registry, process, run_to_resume(options, recipe.text("name")),
              Session::Evaluates::yes)
          .run(options);
  process.ranks->leave();
  return outcome;
}

void check_with_data(const Recipe& recipe, Registry& registry) {
  Process process(recipe, true, at::kCPU);
  process.hears_data = false;  // whoever looked at the data before has heard it
  const Session session(recipe, registry, process, {}, Session::Evaluates::yes);
}

std::string export_run(const Recipe& recipe, Registry& registry, const std::filesystem::path& run,
                       Which which, const std::filesystem::path& out) {
  Process process(recipe, true);
  return Session(recipe, registry, process, run, Session::Evaluates::no)
      .export_encoder_of(run, which, out);
}

RunOutcome evaluate_run(const Recipe& recipe, Registry& registry, const EvalOptions& options) {
  Process process(recipe, false);
  require_same_start(*process.ranks, recipe, registry, process.device,
                     {{"command", options.which == Which::best ? "eval --best" : "eval"},
                      {"--weights", options.weights.empty() ? "no" : "yes"}});
  const RunOutcome outcome =
      Session(recipe, registry, process, options.run, Session::Evaluates::yes, options.weights)
          .evaluate_afterwards(options);
  process.ranks->leave();
  return outcome;
}

ReplayOutcome replay_run(const Recipe& recipe, Registry& registry,
                         const std::filesystem::path& run) {
  Process process(recipe, true);
  return Session(recipe, registry, process, run, Session::Evaluates::no).replay(run);
}

}  // namespace gh::host
