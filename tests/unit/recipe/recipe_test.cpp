#include "recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;

TEST_CASE("a minimal recipe resolves to one with every default") {
  const TempDir dir;
  const Loaded loaded = load_file(dir.write("first try.toml", kMinimal));
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().empty());
  const std::string cache = (dir.path() / "cache").string();
  CHECK(to_toml(loaded.recipe.resolved) == R"(name = "first try"
seed = 0
eval = []

[data]
id = "toy"
samples = 100
cache = ")" + cache + R"("

[views]

[[views.group]]
count = 2
flip = 0.0
grayscale = 0.0
noise = 0.0

[views.plain]

[loader]
threads = 0
prefetch = 3
on_error = "stop"

[backbone]
id = "mlp"
widths = [32, 16]
stem = "small"

[method]
id = "simclr"
temperature = 0.2

[method.projector]
dim = 128
norm = true

[train]
epochs = 20
batch = 8
accumulate = 1
drop_last = false
clip = 0.0
device = "auto"
threads = 0
dtype = "float32"
autocast = "off"
channels_last = false
convolution = "auto"

[train.optimizer]
id = "sgd"
lr = 0.5
momentum = 0.9
weight_decay = 0.0
nesterov = false
decay_bias_and_norm = true

[train.schedule]
id = "constant"

[checkpoint]
every = 1
minutes = 15.0
keep = 2
best = 0
metric = "loss"
goal = "min"

[ranks]
sync_norm = true
timeout = 600.0
)");
}

TEST_CASE("host tables have the defaults that the design gives them") {
  const Loaded loaded = load(kFull);
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().empty());
  const Recipe& r = loaded.recipe;
  CHECK(r.text("name") == "all of it");
  CHECK(r.integer("seed") == 7);
  CHECK(r.text("data.longtail.law") == "step");
  CHECK(r.real("data.longtail.ratio") == 100.0);
  CHECK(r.integer("data.longtail.seed") == 0);
  CHECK(r.integer("views.group.0.count") == 3);
  CHECK(r.integer("harmonize.warm_up") == 5);
  CHECK(r.integer("harmonize.ramp") == 10);
  CHECK(r.real("harmonize.weight") == 1.0);
  CHECK(r.real("harmonize.temperature") == 0.1);
  CHECK(r.real("harmonize.momentum") == 0.999);
  CHECK(r.real("harmonize.warm_up_momentum") == 0.9);
  CHECK(r.text("harmonize.mode") == "reference");
  CHECK(r.text("harmonize.logits") == "unit");
  CHECK(r.text("harmonize.targets") == "bi-level");
  CHECK(r.text("harmonize.prior.id") == "tracked");
  CHECK(r.integer("harmonize.prior.refresh") == 20);
  CHECK(r.real("harmonize.prior.floor") == 0);
  CHECK(r.real("train.optimizer.lr") == 1e-3);
  CHECK(r.real("train.optimizer.beta2") == 0.999);
  CHECK(r.real("train.optimizer.epsilon") == 1e-8);
  CHECK(r.integer("train.schedule.warm_up") == 10);
  CHECK(r.real("train.schedule.lr_split") == 0.3);
  CHECK(r.real("train.schedule.lr_min") == 1e-6);
  CHECK_FALSE(r.boolean("train.drop_last"));
  CHECK(r.text("eval.0.when.1") == "warm-up");
  CHECK(r.text("eval.1.when.0") == "end");
}

TEST_CASE("slots hold the component's own parameters and nothing of the host's") {
  const Loaded loaded = load(kFull);
  const Recipe& r = loaded.recipe;
  std::string paths;
  for (const Slot& slot : r.slots)
    paths += slot.path + "=" + std::string(kind_name(slot.kind)) + "/" + slot.id + " ";
  CHECK(
      paths ==
      "data=dataset/toy backbone=backbone/mlp method=ssl/simclr harmonize.structure=structure/etf "
      "harmonize.allocator=allocator/sinkhorn eval.0=evaluator/knn eval.1=evaluator/knn ");
  CHECK(to_toml(r.slot("harmonize.structure").params) == "points = 10\n");
  CHECK(to_toml(r.slot("method").params) ==
        "temperature = 1.0\n\n[projector]\ndim = 16\nnorm = true\n");
  CHECK(to_toml(r.slot("eval.1").params) == "k = 1\n");
  CHECK_FALSE(r.slot("data").params.find("longtail"));
  CHECK_FALSE(r.slot("data").params.find("id"));
  REQUIRE(r.evals().size() == 2);
  CHECK(r.evals()[1]->path == "eval.1");
  FakeCatalog catalog;
  const auto params =
      make_params(*catalog.find(GH_KIND_SSL, "simclr").schema, r.slot("method").params);
  CHECK(params->table("projector").integer("dim") == 16);
}

TEST_CASE("running the resolved recipe is the same run") {
  const std::string text = GENERATE_COPY(kMinimal, kFull);
  const TempDir dir;
  const Loaded first = load_file(dir.write("recipe.toml", text));
  REQUIRE(first.out.all().empty());
  const std::string written = to_toml(first.recipe.resolved);
  // Elsewhere, under another name: neither may matter any more.
  const Loaded second = load_file(dir.write("run/0/resolved.toml", written));
  INFO(summary(second.out));
  REQUIRE(second.out.all().empty());
  CHECK(to_toml(second.recipe.resolved) == written);
  // The tree too, not only its text: inline text keeps the order of keys.
  CHECK(to_toml_value({second.recipe.resolved, {}}) == to_toml_value({first.recipe.resolved, {}}));
  REQUIRE(second.recipe.slots.size() == first.recipe.slots.size());
  for (std::size_t i = 0; i < first.recipe.slots.size(); ++i) {
    CHECK(second.recipe.slots[i].path == first.recipe.slots[i].path);
    CHECK(to_toml(second.recipe.slots[i].params) == to_toml(first.recipe.slots[i].params));
  }
}

TEST_CASE("the order of keys and tables in the file makes no difference") {
  const std::string shuffled = R"([train]
optimizer = { lr = 0.5, id = "sgd" }
batch = 8
epochs = 20
[method]
id = "simclr"
[backbone]
id = "mlp"
[data]
id = "toy"
)";
  const TempDir dir;
  const Loaded a = load_file(dir.write("a/r.toml", kMinimal)),
               b = load_file(dir.write("a/r.toml", shuffled));
  CHECK(to_toml_value({a.recipe.resolved, {}}) == to_toml_value({b.recipe.resolved, {}}));
}

TEST_CASE("asking a recipe for what it has not is a bug, and says so") {
  const Loaded loaded = load(kMinimal);
  CHECK_THROWS_WITH(loaded.recipe.at("train.nothing"), Catch::Contains("train.nothing"));
  CHECK_THROWS_WITH(loaded.recipe.text("train.epochs"),
                    Catch::Contains("'train.epochs' is an integer"));
  CHECK_THROWS_WITH(loaded.recipe.slot("harmonize.structure"),
                    Catch::Contains("harmonize.structure"));
  CHECK(loaded.recipe.find_slot("harmonize.structure") == nullptr);
  CHECK(loaded.recipe.find("harmonize") == nullptr);
  CHECK(loaded.recipe.evals().empty());
}

TEST_CASE("the host's tables can be listed with docs") {
  std::string paths;
  for (const HostTable& table : host_tables()) {
    paths += table.path + " ";
    CHECK_FALSE(table.doc.empty());
    for (const ParamSpec& key : table.schema) {
      INFO(table.path << "." << key.name);
      CHECK_FALSE(key.doc.empty());
    }
  }
  CHECK(paths ==
        " data views views.group views.group.crop views.group.crop views.group.crop "
        "views.group.crop views.group.jitter views.group.blur views.group.solarize "
        "views.group.boost views.group.cutout views.group.normalize views.plain loader "
        "backbone method harmonize harmonize.structure harmonize.allocator train "
        "train.optimizer train.optimizer train.optimizer train.optimizer "
        "train.schedule train.schedule train.schedule train.schedule checkpoint ranks eval ");
}

TEST_CASE("kinds have names, and names have kinds") {
  for (int k = GH_KIND_SSL; k <= GH_KIND_EVALUATOR; ++k) {
    gh_kind back{};
    REQUIRE(kind_from_name(kind_name(static_cast<gh_kind>(k)), back));
    CHECK(back == k);
  }
  gh_kind unused{};
  CHECK_FALSE(kind_from_name("method", unused));
}

namespace {

std::string full_with(const std::string& keys) {
  std::string text = kFull;
  const std::string table = "[harmonize]\n";
  return text.insert(text.find(table) + table.size(), keys + "\n");
}

}  // namespace

TEST_CASE("the paper's formulas are other defaults, which keys of one's own override") {
  const Loaded loaded = load(full_with("mode = \"paper\"\ndirections = \"both\""));
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().empty());
  const Recipe& r = loaded.recipe;
  CHECK(r.text("harmonize.logits") == "cosine");
  CHECK(r.text("harmonize.allocate") == "log-softmax");
  CHECK(r.text("harmonize.track") == "softmax");
  CHECK(r.text("harmonize.directions") == "both");
  CHECK(r.integer("harmonize.ramp") == 0);
  CHECK(r.real("harmonize.warm_up_momentum") == 0.999);
  CHECK(to_toml(load(to_toml(r.resolved)).recipe.resolved) == to_toml(r.resolved));
}

TEST_CASE("a key of one prior is an error under another") {
  const Loaded loaded = load(full_with("prior = { id = \"uniform\", refresh = 5 }"));
  CHECK(summary(loaded.out).find("harmonize.prior.refresh") != std::string::npos);
}
