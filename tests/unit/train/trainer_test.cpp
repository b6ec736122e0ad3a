// A run that is stopped or killed at any moment, and goes on, ends with the same bytes as one that
// was left alone.
#include "train/trainer.hpp"

#include "eval/evaluation_mode.hpp"
#include "support/fake_data.hpp"
#include "support/temporary_directory.hpp"
#include "train/encoder_maker.hpp"
#include "train/host_services.hpp"
#include "unit/ranks/several.hpp"
#include "unit/train/every_hook.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones_like.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>

namespace {

using namespace gh;
using namespace gh::host;

enum class End { stop, kill };

// The `count`th time that `event` comes: a hook, or "evaluate <moment>".
struct Accident {
  std::string event;
  int count = 1;
  End end = End::stop;
};

template <class Interface>
Made<Interface> made(std::unique_ptr<Interface> component, const char* name) {
  Made<Interface> out;
  out.component = ComponentPtr<Interface>(component.release(), ComponentDeleter{[](void* object) {
                                            delete static_cast<Interface*>(object);
                                          }});
  out.name = name;
  return out;
}

TrainPlan small_plan(HarmonizePlan::Apply apply, int64_t world) {
  TrainPlan plan;
  plan.seed = 5;
  plan.epochs = 4;
  plan.batch = 8;
  plan.world = world;
  plan.clip = 2;
  plan.best_metric = "loss";
  plan.checkpoints = {.keep = 1, .best = 1, .largest_is_best = false};
  plan.optimizer.rule = SgdPlan{.lr = 0.02, .momentum = 0.9, .weight_decay = 1e-3};
  plan.schedule = {.id = "cosine", .lr = 0.02, .warm_up = 1, .per_step = true};
  plan.views = *preset_views("bcl-32", {});
  plan.plain_views = *preset_views("eval-32", {});
  plan.loader = {.threads = 1};
  plan.harmonize.emplace();
  plan.harmonize->tracker.warm_up = 1;
  plan.harmonize->ramp = 1;
  plan.harmonize->apply = apply;
  plan.harmonize->learnable = true;
  return plan;
}

// What one process has in memory: made anew whenever a run goes on.
struct Attempt {
  Attempt(Ranks& among, HarmonizePlan::Apply apply, Accident to_come)
      : ranks(among),
        accident(std::move(to_come)),
        plan(small_plan(apply, among.world())),
        method(made<SslMethod>(
            std::make_unique<gh::test::EveryHook>([this](const std::string& e) { on(e); }),
            "ssl/every_hook")),
        encoders(facts(), plan, backbone, ranks, log),
        host({.plan = plan,
              .train = train,
              .method = *method,
              .encoders = encoders,
              .notebook = notebook,
              .ranks = ranks,
              .log = log}),
        harmonizer(*plan.harmonize, at::eye(gh::test::SmallEncoder::kWidth, at::kDouble), allocator,
                   {}, train.size(), at::TensorOptions(at::kFloat),
                   [this](std::string_view name, double value) { host.log(name, value); }) {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    {
      const std::lock_guard lock(generator.mutex());
      generator.set_current_seed(plan.seed);
    }
    set_interrupted(false);
    if (ranks.world() > 1)
      harmonizer.share(ranks.rank(),
                       [this](const at::Tensor& rows) { return ranks.all_gather(rows); });
    stages = plan_stages(method, notebook.facts);
    method.call("build", &SslMethod::build, host);
  }

  const RunFacts& facts() {
    RunFacts& facts = notebook.facts;
    facts.samples = train.size();
    facts.batch = plan.batch;
    facts.rank = ranks.rank();
    facts.world = ranks.world();
    facts.seed = plan.seed;
    for (int64_t v = 0; v < plan.views.count(); ++v)
      facts.view_shapes.push_back(plan.views.shape_of(v, {}));
    facts.per_sample = {"strength"};
    facts.harmonized = true;
    return facts;
  }

  void on(const std::string& event) {
    if (event != accident.event || ++seen != accident.count) return;
    happened = true;
    if (accident.end == End::kill) throw std::runtime_error("killed");
    // All ranks are told of what follows, wherever only one was asked to stop.
    if (event != "step" || ranks.rank() + 1 == ranks.world()) set_interrupted(true);
  }

  void evaluate(RunDirectory& directory, const EvaluationMoment& moment) {
    on("evaluate " + moment.name);
    throw_if_interrupted();
    const EvaluationMode mode(*method);
    const double norm =
        method.call("embed", &SslMethod::embed, at::ones_like(pixels)).norm().item<double>();
    directory.write_result({{"evaluator", "norm"},
                            {"moment", moment.name},
                            {"epoch", moment.epochs},
                            {"step", moment.step},
                            {"label", moment.harmonized ? "GH" : "plain"},
                            {"metrics", {{{"name", "norm"}, {"value", norm}}}}},
                           {});
  }

  // Whether training came to its end.
  bool run(const std::filesystem::path& path) {
    const bool writes = ranks.first(), begun = std::filesystem::exists(path / "train.log");
    ranks.barrier();
    RunDirectory directory = !writes ? RunDirectory::unwritten(path)
                             : begun ? RunDirectory::reopen(path)
                                     : RunDirectory::create(path, "heart");
    log.write_into(directory);
    RunStatus status(directory);
    CheckpointStore store(path, plan.checkpoints);
    const std::optional<Checkpoint> from = store.newest([](const std::string&) { FAIL(); });
    ranks.barrier();
    if (begun && !from) directory.rewind({}, 0);
    Loader loader(train, plan.views, plan.seed, plan.loader);
    Trainer trainer({.plan = plan,
                     .data = train,
                     .loader = loader,
                     .method = method,
                     .stages = stages,
                     .host = host,
                     .notebook = notebook,
                     .ranks = ranks,
                     .log = log,
                     .harmonizer = &harmonizer,
                     .directory = directory,
                     .checkpoints = store,
                     .identity = {{"recipe", "every hook"}},
                     .status = status,
                     .console = console,
                     .evaluate = [&](const EvaluationMoment& m) { evaluate(directory, m); }});
    try {
      return trainer.train(from ? &from->content : nullptr, [&] {
        if (directory.written()) store.go_on_from(*from);
      });
    } catch (const std::exception& error) {
      INFO(error.what());
      REQUIRE(accident.end == End::kill);
      REQUIRE(happened);
      return false;
    }
  }

  Ranks& ranks;
  Accident accident;
  int seen = 0;
  bool happened = false;
  at::Tensor pixels = at::empty({2, 3, 32, 32}).fill_(1);
  gh::test::FakeSet data = gh::test::small_pictures(20);
  SampleSet train = data.samples();
  TrainPlan plan;
  gh::test::SmallBackbone backbone;
  gh::test::FittedAllocator allocator;
  Console console{true};
  RunLog log{console};
  Notebook notebook;
  Made<SslMethod> method;
  EncoderMaker encoders;
  HostServices host;
  Harmonizer harmonizer;
  std::vector<Stage> stages;
};

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Name → bytes of everything that does not tell the time.
std::map<std::string, std::string> numbers_of(const std::filesystem::path& run) {
  std::map<std::string, std::string> out;
  out["metrics.jsonl"] = bytes_of(run / "metrics.jsonl");
  for (const char* folder : {"checkpoints", "results"})
    for (const auto& entry : std::filesystem::directory_iterator(run / folder))
      out[std::string(folder) + "/" + entry.path().filename().string()] = bytes_of(entry.path());
  return out;
}

// One directory for all ranks.
std::filesystem::path shared_path(Ranks& ranks, const gh::test::TemporaryDirectory& own,
                                  const std::string& name) {
  return ranks.broadcast_text((own / name).string());
}

void check_accidents(Ranks& ranks, HarmonizePlan::Apply apply,
                     const std::vector<Accident>& accidents) {
  const gh::test::TemporaryDirectory own;
  const std::filesystem::path whole = shared_path(ranks, own, "whole");
  REQUIRE(Attempt(ranks, apply, {}).run(whole));
  const auto expected = ranks.first() ? numbers_of(whole) : std::map<std::string, std::string>();
  if (ranks.first()) {
    CHECK(std::count(expected.at("metrics.jsonl").begin(), expected.at("metrics.jsonl").end(),
                     '\n') == 4);
    CHECK(expected.size() >= 1 + 1 + 8);  // metrics, checkpoints, and a result of each moment
  }
  int number = 0;
  for (const Accident& accident : accidents) {
    INFO(accident.event << " " << accident.count << (accident.end == End::kill ? " kill" : ""));
    const std::filesystem::path path =
        shared_path(ranks, own, "broken-" + std::to_string(number++));
    {
      Attempt broken(ranks, apply, accident);
      CHECK_FALSE(broken.run(path));
      REQUIRE(broken.happened);
    }
    ranks.barrier();
    CHECK(Attempt(ranks, apply, {}).run(path));
    ranks.barrier();
    if (!ranks.first()) continue;
    const auto is = numbers_of(path);
    for (const auto& [name, bytes] : expected) {
      INFO(name);
      REQUIRE(is.contains(name));
      CHECK(is.at(name) == bytes);
    }
    CHECK(is.size() == expected.size());
  }
  ranks.barrier();
}

// 3 steps in an epoch of the first stage, 2 in one of the last.
const std::vector<Accident> kEveryMoment = {
    {"step", 2},                         // inside an epoch
    {"step", 5},                         // of the second, after what was published
    {"step", 3},                         // in the last step of an epoch
    {"step", 6},                         // and of a stage
    {"step", 10},                        // and of the run
    {"end_epoch", 1},                    // between an epoch and what is evaluated after it
    {"begin_epoch", 2},                  // before a pass over all samples, which is cut off
    {"embed_all", 6},                    // within one
    {"end_stage", 1},                    // before a stage without an epoch
    {"end_stage", 2},                    // which makes a pass
    {"evaluate epoch", 1},               // so that its result is made again
    {"evaluate epoch", 2},               // at a stage's end
    {"evaluate warm-up", 1},             //
    {"evaluate end", 1},                 // before the last evaluation
    {"step", 2, End::kill},              // before there is a checkpoint
    {"before_update", 5, End::kill},     //
    {"after_update", 7, End::kill},      // just after a stage began
    {"end_stage", 2, End::kill},         //
    {"evaluate warm-up", 2, End::kill},  // with results that the checkpoint does not know
    {"evaluate end", 1, End::kill}};

TEST_CASE("a run that was stopped or killed at any moment ends with the same bytes") {
  const auto ranks = Ranks::alone();
  check_accidents(*ranks, HarmonizePlan::Apply::loss, kEveryMoment);
}

TEST_CASE("so does one whose loss compares what GH makes of embeddings") {
  const auto ranks = Ranks::alone();
  check_accidents(*ranks, HarmonizePlan::Apply::projector,
                  {{"step", 4}, {"evaluate epoch", 2}, {"before_update", 8, End::kill}});
}

TEST_CASE("two ranks that were stopped or killed end with the same bytes") {
  using namespace gh::host::test;
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told(60);
  check_accidents(*ranks, HarmonizePlan::Apply::loss,
                  {{"step", 2},
                   {"step", 3},
                   {"step", 6},
                   {"end_epoch", 2},
                   {"begin_epoch", 2},
                   {"end_stage", 2},
                   {"evaluate epoch", 1},
                   {"evaluate end", 1},
                   {"before_update", 5, End::kill},
                   {"evaluate end", 1, End::kill}});
  ranks->leave();
}

TEST_CASE("a method whose embeddings are never projected is refused before it trains in vain") {
  const auto ranks = Ranks::alone();
  const TrainPlan plan = small_plan(HarmonizePlan::Apply::projector, 1);
  LossScaler scaler(false);
  const auto optimizer = make_optimizer(plan.optimizer, {});
  gh::test::FittedAllocator allocator;
  Harmonizer harmonizer(*plan.harmonize, at::eye(2, at::kDouble), allocator, {}, 4,
                        at::TensorOptions(at::kFloat), [](std::string_view, double) {});
  const std::string name = "ssl/plain";
  StepRun step({.plan = plan,
                .method = name,
                .harmonizer = &harmonizer,
                .optimizer = *optimizer,
                .reducer = nullptr,
                .scaler = scaler,
                .ranks = *ranks,
                .epoch = 0},
               1);
  step.begin_call({});
  CHECK_THROWS_WITH(step.end_call(), Catch::Contains("never called backward()"));
  CHECK_THROWS_WITH(step.backward(at::empty({2})), Catch::Contains("scalar"));
  step.backward(at::eye(1).set_requires_grad(true).sum());
  CHECK_THROWS_WITH(step.end_call(), Catch::Contains("never compares"));
  step.reduce_gradients();
  CHECK_THROWS_WITH(step.backward(at::eye(1).sum()), Catch::Contains("discard_gradients()"));
  step.discard_gradients();
  CHECK(std::isnan(step.loss()));
}

}  // namespace
