#include "train/host_services.hpp"
#include "support/fake_data.hpp"
#include "support/flat_method.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <optional>

namespace {

using namespace gh;
using namespace gh::host;

struct Fixture {
  test::FakeSet data = test::small_pictures(10);
  SampleSet train = data.samples();
  test::FlatMethod method;
  test::FlatBackbone backbone;
  Console console;
  RunLog log{console};
  std::unique_ptr<Ranks> ranks = Ranks::alone();
  TrainPlan plan;
  Notebook notebook;
  std::optional<EncoderMaker> encoders;

  HostServices services(std::vector<std::string> per_sample) {
    plan.views = *preset_views("bcl-32", {});
    plan.plain_views = *preset_views("eval-32", {});
    notebook.facts.samples = train.size();
    notebook.facts.batch = 4;
    notebook.facts.view_shapes = {{3, 32, 32}, {3, 32, 32}};
    notebook.facts.per_sample = std::move(per_sample);
    encoders.emplace(notebook.facts, plan, backbone, *ranks, log);
    return HostServices({.plan = plan,
                         .train = train,
                         .method = method,
                         .encoders = *encoders,
                         .notebook = notebook,
                         .ranks = *ranks,
                         .log = log});
  }
};

at::Tensor flat(const at::Tensor& x) { return x.flatten(1); }

TEST_CASE("a pass over all samples gives plain or training views in order") {
  Fixture f;
  HostServices host = f.services({"strength"});
  const at::Tensor plain = host.embed_all("plain", flat);
  REQUIRE(plain.size(0) == 10);
  const auto pixels = test::pattern(32, 32, 7);
  CHECK(plain[7][0].item<float>() == Approx(pixels[0] / 255.0));
  CHECK_FALSE(host.embed_all("train", flat).equal(plain));
  CHECK(host.embed_all("train", flat).equal(host.embed_all("train", flat)));
  const at::Tensor train = host.embed_all("train", flat);
  f.notebook.first_epoch = 3;  // another stage
  CHECK_FALSE(host.embed_all("train", flat).equal(train));
  CHECK(host.embed_all("plain", flat).equal(plain));
  CHECK_THROWS_WITH(host.embed_all("other", flat), Catch::Contains("\"plain\""));
  f.notebook.in_step = true;
  CHECK_THROWS_WITH(host.embed_all("plain", flat), Catch::Contains("inside step()"));
  f.notebook.in_step = false;
  f.notebook.stage_samples = at::full({2}, 7, at::kLong);
  CHECK(host.embed_all("plain", flat)[1].equal(plain[7]));
  // Handed back as it came: the rows must not be the loader's memory.
  f.notebook.stage_samples.reset();
  CHECK(host.embed_all("plain", [](const at::Tensor& x) { return x; }).flatten(1).equal(plain));
}

TEST_CASE("published strengths are checked and change the views") {
  Fixture f;
  HostServices host = f.services({"strength"});
  CHECK_FALSE(f.notebook.weights);
  const at::Tensor before = host.embed_all("train", flat);
  CHECK_THROWS_WITH(host.publish_per_sample("colour", at::full({10}, 0.5)),
                    Catch::Contains("'colour'"));
  CHECK_THROWS_WITH(host.publish_per_sample("strength", at::full({9}, 0.5)),
                    Catch::Contains("[10]"));
  CHECK_THROWS_WITH(host.publish_per_sample("strength", at::full({10}, 1.5)),
                    Catch::Contains("0 … 1"));
  CHECK_THROWS_AS(host.publish_per_sample("strength", at::full({10}, NAN)), Error);
  at::Tensor weights = at::full({10}, 0.0);
  weights[3] = 1.0;
  host.publish_per_sample("strength", weights);
  const at::Tensor after = host.embed_all("train", flat);
  for (int64_t i = 0; i < 10; ++i) CHECK(after[i].equal(before[i]) == (i != 3));
  CHECK_THROWS_AS(f.services({}).publish_per_sample("strength", weights), Error);
}

}  // namespace
