#include "study/scale.hpp"

#include "recipe/toml.hpp"
#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <map>

namespace {

using namespace gh::host;
using Catch::Matchers::Contains;
using gh::Param;

constexpr Param kInner[] = {
    gh::integer("from", "15", "begins").at_least(0).in("epochs"),
    gh::real("share", "0.5", "of nothing that is counted"),
};
constexpr Param kMethod[] = {
    gh::real("period", "400.0", "of a wave").above(0).in("epochs"),
    gh::real("momentum", "0.97", "of each sample").at_least(0).below(1).in("per epoch"),
    gh::real("twin", "0.99", "each step").at_least(0).below(1),
    gh::integer("freeze", "313", "at the start").at_least(0).in("steps"),
    gh::integer("pairs", "4", "a bound that scaling meets").at_least(3).in("epochs"),
    gh::table("queue", "{ from = 20 }", "earlier samples", kInner),
};
constexpr Param kNet[] = {
    gh::integer("width", "64", "of the first stage").at_least(1).in("channels")};

class Parts final : public Catalog {
 public:
  Parts() {
    schemas_["method"] = read_schema(kMethod);
    schemas_["net"] = read_schema(kNet);
    for (const char* id : {"data", "points", "allocator", "eval"}) schemas_[id] = {};
  }
  Found find(gh_kind, const std::string& id) override {
    const auto found = schemas_.find(id);
    if (found == schemas_.end()) return {nullptr, nullptr, "no " + id};
    return {&found->second, nullptr, ""};
  }

 private:
  std::map<std::string, Schema> schemas_;
};

constexpr const char* kRecipe = R"(
[data]
id = "data"
[views]
noise = 0.1
[backbone]
id = "net"
[method]
id = "method"
[harmonize]
structure = { id = "points" }
allocator = { id = "allocator" }
warm_up = 500
[train]
epochs = 1000
batch = 8
optimizer = { id = "sgd", lr = 0.1 }
schedule = { id = "step", warm_up = 10, milestones = [500, 750, 999] }
[[eval]]
id = "eval"
every = 20
)";

struct Fixture {
  Parts parts;
  gh::test::TemporaryDirectory dir;
  std::filesystem::path file = dir.path() / "recipe.toml";

  Fixture() { std::ofstream(file) << kRecipe; }

  Recipe load(const std::vector<std::string>& overrides = {}) {
    Diagnostics problems;
    Recipe recipe = load_recipe(file, overrides, parts, problems);
    INFO(problems.text());
    REQUIRE(!problems.has_errors());
    return recipe;
  }
  Recipe scaled(const Scale& scale, std::vector<std::string> overrides = {}) {
    const Scaled found = scale_recipe(load(overrides), parts, scale);
    overrides.insert(overrides.end(), found.overrides.begin(), found.overrides.end());
    return load(overrides);
  }
};

Scale by(double epochs) { return {.name = "", .epochs = epochs, .width = 1, .overrides = {}}; }

TEST_CASE("a scale shrinks what counts epochs in proportion, of the host as of components") {
  Fixture f;
  const Recipe r = f.scaled(by(0.04));
  CHECK(r.integer("train.epochs") == 40);
  CHECK(r.integer("harmonize.warm_up") == 20);
  CHECK(r.integer("harmonize.prior.refresh") == 1);  // 0.8, of a table that is a default
  CHECK(r.integer("eval.0.every") == 1);
  CHECK(r.real("method.period") == 16.0);
  CHECK(r.integer("method.freeze") == 13);  // 12.52 steps
  CHECK(r.integer("method.pairs") == 3);    // as low as it may be
  CHECK(r.integer("method.queue.from") == 1);
  CHECK(to_toml_value(r.at("train.schedule.milestones")) == "[20, 30, 39]");
  CHECK(r.integer("backbone.width") == 64);
  CHECK(r.integer("train.batch") == 8);
  CHECK(r.real("method.twin") == 0.99);
  CHECK(r.real("method.queue.share") == 0.5);
}

TEST_CASE("momenta that act once an epoch forget as much over the shorter run") {
  Fixture f;
  for (const double part : {0.04, 0.08, 0.5, 2.0}) {
    const Recipe r = f.scaled(by(part));
    const double epochs = 500 * part;
    CHECK(std::pow(r.real("harmonize.momentum"), epochs) == Approx(std::pow(0.999, 500)));
    CHECK(std::pow(r.real("harmonize.warm_up_momentum"), epochs) == Approx(std::pow(0.9, 500)));
    CHECK(std::pow(r.real("method.momentum"), epochs) == Approx(std::pow(0.97, 500)));
  }
  CHECK(f.scaled(by(0.5), {"method.momentum=0"}).real("method.momentum") == 0);
}

TEST_CASE("proportions are those to the whole number of epochs that is left") {
  Fixture f;
  const Recipe r = f.scaled(by(0.3), {"train.epochs=5", "harmonize.warm_up=2",
                                      "train.schedule.milestones=[1]", "harmonize.momentum=0.5"});
  CHECK(r.integer("train.epochs") == 2);  // 1.5
  CHECK(r.real("method.period") == 160.0);
  CHECK(r.real("harmonize.momentum") == Approx(std::pow(0.5, 2.5)));
}

TEST_CASE("what is something stays something, what is nothing stays nothing") {
  Fixture f;
  const Recipe r = f.scaled(by(0.01), {"harmonize.warm_up=0", "harmonize.ramp=10"});
  CHECK(r.integer("train.epochs") == 10);
  CHECK(r.integer("harmonize.warm_up") == 0);
  CHECK(r.integer("harmonize.ramp") == 1);
  CHECK(r.integer("train.schedule.warm_up") == 1);
}

TEST_CASE("what was shorter than the run stays shorter") {
  Fixture f;
  const Recipe r = f.scaled(by(0.01), {"harmonize.warm_up=999"});
  CHECK(r.integer("harmonize.warm_up") == 9);
}

TEST_CASE(
    "a scale of one changes nothing, another scales the channels too and adds what it names") {
  Fixture f;
  const Recipe whole = f.load();
  CHECK(scale_recipe(whole, f.parts, by(1)).overrides.empty());
  CHECK(scale_recipe(whole, f.parts, by(1)).keys.empty());

  Scale scale = small_scale();
  scale.overrides = {"train.batch=4"};
  const Scaled found = scale_recipe(whole, f.parts, scale);
  CHECK(found.overrides.back() == "train.batch=4");
  const auto width = std::find_if(found.keys.begin(), found.keys.end(),
                                  [](const Difference& d) { return d.key == "backbone.width"; });
  REQUIRE(width != found.keys.end());
  CHECK(width->was == "64");
  CHECK(width->is == "16");
  CHECK(f.scaled(scale).integer("train.batch") == 4);
}

TEST_CASE("a recipe is loaded at a scale, and a wrong one is refused before") {
  Fixture f;
  Diagnostics problems;
  std::vector<Difference> keys;
  const Recipe r = load_scaled_recipe(f.file, {"train.epochs=500", "harmonize.warm_up=400"},
                                      f.parts, small_scale(), problems, keys);
  CHECK(!problems.has_errors());
  CHECK(r.integer("train.epochs") == 20);
  CHECK(r.integer("harmonize.warm_up") == 16);
  CHECK(keys.front().key == "backbone.width");

  load_scaled_recipe(f.file, {"train.epoch=500"}, f.parts, small_scale(), problems, keys);
  CHECK_THAT(problems.text(), Contains("did you mean 'epochs'"));
}

TEST_CASE("a scale is a name or a part of the epochs") {
  const std::vector<Scale> named = {{"tiny", 0.01, 0.125, {}}};
  CHECK(find_scale("small", {}).epochs == 0.04);
  CHECK(find_scale("tiny", named).width == 0.125);
  CHECK(find_scale("0.25", {}).epochs == 0.25);
  CHECK(find_scale("0.25", {}).width == 1);
  for (const char* wrong : {"", "0", "-1", "nan", "inf", "1e9", "tiny ", "1/2"}) {
    INFO(wrong);
    CHECK_THROWS_WITH(find_scale(wrong, named), Contains("small, tiny"));
  }
}

TEST_CASE("scales of a study file") {
  const auto read = [](const char* text, Diagnostics& problems) {
    Diagnostics parsing;
    const Table table = *parse_toml(text, "study.toml", parsing);
    REQUIRE(!parsing.has_errors());
    return read_scales(*table.find("scale"), problems);
  };
  Diagnostics none;
  const std::vector<Scale> scales =
      read("[scale.small]\noverrides = [\"a=1\"]\n[scale.half]\nepochs = 0.5\n", none);
  CHECK(!none.has_errors());
  REQUIRE(scales.size() == 2);
  CHECK(scales[0].epochs == 0.04);
  CHECK(scales[0].width == 0.25);
  CHECK(scales[0].overrides == std::vector<std::string>{"a=1"});
  CHECK(scales[1].epochs == 0.5);
  CHECK(scales[1].width == 1);

  Diagnostics found;
  read("[scale.small]\nepoch = 0.5\n[scale.none]\nepochs = 0.0\n", found);
  CHECK(found.error_count() == 2);
  CHECK_THAT(found.text(), Contains("did you mean 'epochs'"));
  Diagnostics kinds;
  read("scale = 3\n", kinds);
  read("[scale]\nsmall = 0.1\n", kinds);
  CHECK(kinds.error_count() == 2);
}

}  // namespace
