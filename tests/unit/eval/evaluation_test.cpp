// What evaluators see of pictures.
#include "eval/evaluation.hpp"
#include "support/fake_data.hpp"
#include "support/flat_method.hpp"
#include "support/temporary_directory.hpp"

#include "gh/interrupt.hpp"
#include "gh/query.hpp"
#include "gh/testing/fake_host.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <fstream>
#include <limits>

namespace {

using namespace gh;
using namespace gh::host;

struct Fixture {
  test::FakeSet data = test::small_pictures(21);
  SampleSet train =
      SampleSet::open(data, "train", 0, LongTail{.law = "counts", .counts = {4, 3, 2}});
  ViewPlan views = *preset_views("simclr-32", {});
  ViewPlan plain = *preset_views("eval-32", {.mean = {0.5, 0.5, 0.5}, .std = {0.25, 0.25, 0.25}});
  test::FlatMethod method;
  testing::FakeHost host{[] {
    RunFacts facts;
    facts.seed = 3;
    facts.view_shapes = {{3, 32, 32}};
    return facts;
  }()};
  SplitStore splits{data, 0, train};
  FeatureCache cache;
  bool skip = false, embeds = true;
  std::string said;

  EvaluationRun run() {
    return EvaluationRun(
        {.method = method,
         .host = host,
         .splits = splits,
         .views = views,
         .plain_views = plain,
         .loader = {.threads = 2, .skip_unreadable = skip},
         .cache = cache,
         .points = {},
         .prior = {},
         .embeds = embeds,
         .fresh_encoder =
             [this](std::string_view purpose) { return host.make_backbone(purpose, nullptr); },
         .say = [this](Severity, std::string_view text) { said += text; }},
        "test");
  }
};

TEST_CASE("features of pictures are those of the plain view, row by row") {
  Fixture f;
  EvaluationRun run = f.run();
  const Features& all = run.features({.split = "train:full"});
  REQUIRE(all.x.sizes() == at::IntArrayRef({21, 3 * 32 * 32}));
  const auto pixels = test::pattern(32, 32, 20);
  const float first = all.x[20][0].item<float>();  // red, top left
  CHECK(first == Approx((pixels[0] / 255.0 - 0.5) / 0.25).margin(1e-5));
  CHECK(f.method.training);
  const Features& thinned = run.features({.split = "train"});
  REQUIRE(thinned.x.size(0) == 9);
  for (int64_t i = 0; i < 9; ++i) CHECK(thinned.x[i].equal(all.x[f.train.position(i)]));
  CHECK(thinned.targets.equal(f.train.targets()));
  CHECK(run.features({.level = FeatureLevel::embedding, .split = "train"}).x.size(1) == 1);
}

std::string png_of(Evaluation& run, int64_t sample) {
  auto* services = static_cast<EvaluationServices*>(run.query(EvaluationServices::kId));
  return services->png("train:full", sample, 16);
}

TEST_CASE("an unreadable picture stops an evaluation, or another stands in with its own label") {
  Fixture f;
  f.data = test::files(6, [](int64_t i) { return i == 2; });
  EvaluationRun strict = f.run();
  CHECK_THROWS_WITH(strict.features({.split = "train:full"}), Catch::Contains("picture-2.png"));
  CHECK_THROWS_WITH(png_of(strict, 2), Catch::Contains("loader.on_error"));
  f.skip = true;
  f.cache.clear();
  EvaluationRun run = f.run();
  const Features& all = run.features({.split = "train:full"});
  CHECK(all.x[2].equal(all.x[3]));
  CHECK(all.targets[2].item<int64_t>() == 0);  // of sample 3
  CHECK(f.said.find("picture-2.png") != std::string::npos);
  CHECK(png_of(run, 2) == png_of(run, 3));
  CHECK_FALSE(png_of(run, 2).empty());
}

TEST_CASE("a preset can be asked for by name, and has the recipe's normalisation") {
  Fixture f;
  EvaluationRun run = f.run();
  const at::Tensor plain = run.features({.level = FeatureLevel::input}).x;
  const at::Tensor probe = run.features({.level = FeatureLevel::input, .views = "probe-32"}).x;
  CHECK(probe.sizes() == plain.sizes());
  CHECK_FALSE(probe.equal(plain));
  CHECK(probe.min().item<float>() >= -2.0001f);  // black is −2 with mean ½ and deviation ¼
  CHECK(probe.equal(f.run().features({.level = FeatureLevel::input, .views = "probe-32"}).x));
  CHECK_THROWS_WITH(run.features({.views = "probe-33"}), Catch::Contains("presets of [views]"));
}

TEST_CASE("batches for fine-tuning are shuffled by epoch and end when told") {
  Fixture f;
  EvaluationRun run = f.run();
  const auto labels = [&](int64_t epoch) {
    std::vector<at::Tensor> out;
    run.each_batch({.level = FeatureLevel::input, .views = "train"}, 4, epoch,
                   [&](const at::Tensor& x, const at::Tensor& y) {
                     CHECK(x.size(0) == y.size(0));
                     out.push_back(y);
                     return true;
                   });
    return at::cat(out);
  };
  CHECK(labels(-1).equal(f.train.targets()));
  CHECK(labels(0).equal(labels(0)));
  CHECK_FALSE(labels(0).equal(labels(1)));
  CHECK(std::get<0>(labels(1).sort()).equal(std::get<0>(f.train.targets().sort())));
  int batches = 0;
  run.each_batch({.level = FeatureLevel::input}, 2, 0,
                 [&](const at::Tensor&, const at::Tensor&) { return ++batches < 2; });
  CHECK(batches == 2);
}

TEST_CASE("chosen samples are those rows, and their targets alone need no picture") {
  Fixture f;
  EvaluationRun run = f.run();
  const at::Tensor rows = at::tensor({7, 2, 19}, at::kLong);
  const Features all = run.features({.split = "train:full"});
  const Features& some = run.features({.split = "train:full", .samples = rows});
  CHECK(some.x.equal(all.x.index_select(0, rows)));
  CHECK(some.targets.equal(all.targets.index_select(0, rows)));
  const Features& labels = run.features({.level = FeatureLevel::none, .split = "train:full"});
  CHECK_FALSE(labels.x.defined());
  CHECK(labels.targets.equal(all.targets));
  CHECK_THROWS_WITH(run.features({.split = "train:full", .samples = at::tensor({21}, at::kLong)}),
                    Catch::Contains("outside of 0 … 20"));
  CHECK_THROWS_WITH(run.features({.split = "tset"}),
                    Catch::Contains("no split 'tset'") && Catch::Contains("train:full"));
}

TEST_CASE("evaluators share features of one moment; another draw has other crops") {
  Fixture f;
  const at::Tensor first = f.run().features({.split = "train", .views = "train"}).x;
  CHECK(f.cache.size() == 1);
  CHECK(f.run().features({.split = "train", .views = "train"}).x.equal(first));
  CHECK(f.cache.size() == 1);
  const at::Tensor other = f.run().features({.split = "train", .views = "train", .draw = 1}).x;
  CHECK(f.cache.size() == 2);
  CHECK_FALSE(other.equal(first));
  f.cache.clear();
  CHECK(f.run().features({.split = "train", .views = "train", .draw = 1}).x.equal(other));
}

TEST_CASE("what an evaluator does to its features no other sees") {
  Fixture f;
  const at::Tensor before = f.run().features({.split = "train"}).x.clone();
  for (const FeatureLevel level : {FeatureLevel::backbone, FeatureLevel::none}) {
    EvaluationRun vandal = f.run();
    const Features& own = vandal.features({.level = level, .split = "train"});
    if (own.x.defined()) own.x.zero_();
    own.targets.zero_();
    vandal.class_counts().zero_();
    // Its own stay as it left them.
    CHECK(vandal.features({.level = level, .split = "train"}).targets.is_same(own.targets));
  }
  EvaluationRun after = f.run();
  CHECK(after.features({.split = "train"}).x.equal(before));
  CHECK(after.features({.split = "train"}).targets.equal(f.train.targets()));
  CHECK(after.features({.level = FeatureLevel::none, .split = "train"})
            .targets.equal(f.train.targets()));
  CHECK(after.class_counts().equal(at::tensor({4, 3, 2}, at::kLong)));
}

TEST_CASE("what an evaluator throws is told, a signal goes on up") {
  Fixture f;
  EvaluationRun run = f.run();
  CHECK(run.carry_out([] {}).empty());
  CHECK(run.carry_out([] { fail(ErrorCode::numeric, "no convergence"); }) == "no convergence");
  set_interrupted(true);
  bool told = false;
  try {
    f.run().carry_out([] { throw_if_interrupted(); });
  } catch (const Error& error) {
    told = error.code() == ErrorCode::interrupted;
  }
  CHECK(told);
  CHECK_THROWS_AS(f.run().features({.split = "train"}), Error);
  CHECK_THROWS_AS(f.run().each_batch({.level = FeatureLevel::input}, 4, 0,
                                     [](const at::Tensor&, const at::Tensor&) { return true; }),
                  Error);
  set_interrupted(false);
  CHECK(f.run().features({.split = "train"}).x.defined());
}

TEST_CASE("an older plugin's request ends before samples and draw") {
  Fixture f;
  EvaluationRun run = f.run();
  FeatureRequest old{.split = "train:full", .samples = at::tensor({3}, at::kLong), .draw = 4};
  old.struct_size = 40;
  CHECK(run.features(old).x.size(0) == 21);
}

TEST_CASE("features that are not finite are refused with what to do") {
  Fixture f;
  f.method.bias = std::numeric_limits<float>::quiet_NaN();
  EvaluationRun run = f.run();
  CHECK_THROWS_WITH(run.features({.split = "train"}),
                    Catch::Contains("9 of 9") && Catch::Contains("diverged"));
}

TEST_CASE("an encoder from a file has no embedding to evaluate") {
  Fixture f;
  f.embeds = false;
  EvaluationRun run = f.run();
  CHECK(run.features({.split = "train"}).x.defined());
  CHECK_THROWS_WITH(run.features({.level = FeatureLevel::embedding, .split = "train"}),
                    Catch::Contains("projector"));
}

TEST_CASE("files of an evaluator have names of their own that lead nowhere else") {
  Fixture f;
  EvaluationRun run = f.run();
  auto* files = gh::query<EvaluationFiles>(static_cast<Evaluation&>(run));
  REQUIRE(files != nullptr);
  files->file("features", "npy", "all of them", std::string_view("a\0b", 3));
  REQUIRE(run.files().size() == 1);
  CHECK(run.files()[0].bytes == std::string("a\0b", 3));
  CHECK_THROWS_WITH(files->file("features", "txt", "", ""), Catch::Contains("given twice"));
  CHECK_THROWS_WITH(files->file("../x", "txt", "", ""), Catch::Contains("[a-z0-9_]"));
  CHECK_THROWS_WITH(files->file("x", "a/b", "", ""), Catch::Contains("extension"));
  CHECK_THROWS_WITH(files->file("x", "json", "", ""), Catch::Contains("json"));
  CHECK(run.files().size() == 1);
}

TEST_CASE("services: a picture, positions from a file, an encoder of its own") {
  Fixture f;
  EvaluationRun run = f.run();
  auto* services = static_cast<EvaluationServices*>(run.query(EvaluationServices::kId));
  REQUIRE(services != nullptr);
  CHECK(run.query("gh.evaluation.services.v9") == nullptr);
  CHECK(services->png("train", 0, 16).starts_with("\x89PNG"));
  const test::TemporaryDirectory folder;
  std::ofstream(folder.path() / "list.txt") << "4\n1\n";
  const std::string file = (folder.path() / "list.txt").string();
  CHECK(services->positions("train:full", file).equal(at::tensor({4, 1}, at::kLong)));
  CHECK(services->fresh_encoder("scratch") != services->fresh_encoder("scratch"));
  run.features({.split = "train"});
  CHECK(run.splits().contains("train"));
}

}  // namespace
