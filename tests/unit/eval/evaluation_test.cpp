// What evaluators see of pictures.
#include "eval/evaluation.hpp"
#include "plugins/fake_host.hpp"
#include "support/fake_data.hpp"
#include "support/flat_method.hpp"

#include <ATen/ops/cat.h>

#include <catch2/catch.hpp>

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
  FakeHost host{[] {
    RunFacts facts;
    facts.seed = 3;
    facts.view_shapes = {{3, 32, 32}};
    return facts;
  }()};
  SplitStore splits{data, 0, train};
  bool skip = false;
  std::string said;

  EvaluationRun run() {
    return EvaluationRun({.method = method,
                          .host = host,
                          .splits = splits,
                          .views = views,
                          .plain_views = plain,
                          .loader = {.threads = 2, .skip_unreadable = skip},
                          .points = {},
                          .prior = {},
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

TEST_CASE("an unreadable picture stops an evaluation, or another stands in with its own label") {
  Fixture f;
  f.data = test::files(6, [](int64_t i) { return i == 2; });
  EvaluationRun strict = f.run();
  CHECK_THROWS_WITH(strict.features({.split = "train:full"}), Catch::Contains("picture-2.png"));
  f.skip = true;
  EvaluationRun run = f.run();
  const Features& all = run.features({.split = "train:full"});
  CHECK(all.x[2].equal(all.x[3]));
  CHECK(all.targets[2].item<int64_t>() == 0);  // of sample 3
  CHECK(f.said.find("picture-2.png") != std::string::npos);
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

}  // namespace
