// [views]: presets, what is written over them, and what is refused.
#include "recipe/view_presets.hpp"
#include "recipe_fixture.hpp"

#include <sstream>

namespace {

using namespace gh::host;
using namespace gh::host::test;

Recipe good(const std::string& views, const std::vector<std::string>& overrides = {}) {
  Loaded loaded = load(kMinimal + views, overrides);
  INFO(summary(loaded.out));
  REQUIRE_FALSE(loaded.out.has_errors());
  return loaded.recipe;
}

std::string mistakes(const std::string& views) { return summary(load(kMinimal + views).out); }

std::size_t groups(const Recipe& r) { return r.at("views.group").as<Array>()->size(); }

TEST_CASE("every preset is a recipe, and resolves to itself") {
  std::istringstream names(view_preset_names());
  int count = 0;
  for (std::string name; std::getline(names, name, '|'); ++count) {
    const TempDir dir;
    const Recipe first = good("[views]\npreset = \"" + name + "\"\n");
    const Loaded again = load_file(dir.write("resolved.toml", to_toml(first.resolved)));
    INFO(name << "\n" << summary(again.out));
    CHECK_FALSE(again.out.has_errors());
    CHECK(to_toml(again.recipe.resolved) == to_toml(first.resolved));
    CHECK(resolve_view_preset(name).has_value());
  }
  CHECK(count == 10);
  CHECK_FALSE(resolve_view_preset("simclr-33").has_value());
}

TEST_CASE("without a preset there are two views of vectors") {
  const Recipe r = good("[views]\nnoise = 0.5\n");
  CHECK(groups(r) == 1);
  CHECK(r.integer("views.group.0.count") == 2);
  CHECK(r.real("views.group.0.noise") == 0.5);
  CHECK_FALSE(r.find("views.group.0.size"));
  CHECK(r.at("views.plain").as<Table>()->entries().empty());
}

TEST_CASE("what stands in [views] goes to every group, over the preset") {
  const Recipe r =
      good("[views]\npreset = \"byol-224\"\nsize = 96\njitter = { hue = 0.2 }\ngrayscale = 0\n");
  REQUIRE(groups(r) == 2);
  for (const std::string g : {"views.group.0.", "views.group.1."}) {
    CHECK(r.integer(g + "size") == 96);
    CHECK(r.real(g + "jitter.hue") == 0.2);
    CHECK(r.real(g + "jitter.saturation") == 0.2);  // the preset's
    CHECK(r.real(g + "grayscale") == 0);
  }
  CHECK(r.real("views.group.0.blur.p") == 1.0);
  CHECK(r.real("views.group.1.blur.p") == 0.1);
  CHECK_FALSE(r.find("views.jitter"));
  CHECK_FALSE(r.find("views.group.0.solarize"));
  CHECK(r.real("views.group.1.solarize.p") == 0.2);
}

TEST_CASE("groups of a recipe go over those of the preset, one by one, and may be more") {
  const Recipe r = good(
      "[views]\npreset = \"byol-224\"\n[[views.group]]\nblur = { p = 0.3 }\n"
      "[[views.group]]\n[[views.group]]\nsize = 64\ncount = 4\n");
  REQUIRE(groups(r) == 3);
  CHECK(r.real("views.group.0.blur.p") == 0.3);
  CHECK(r.real("views.group.1.blur.p") == 0.1);
  CHECK(r.integer("views.group.2.count") == 4);
  CHECK_FALSE(r.find("views.group.2.jitter"));
}

TEST_CASE("overrides reach operations that only the preset has") {
  const Recipe r = good("[views]\npreset = \"simclr-32\"\n",
                        {"views.jitter.p=0.1", "views.crop.filter=bicubic", "views.flip=0"});
  CHECK(r.real("views.group.0.jitter.p") == 0.1);
  CHECK(r.text("views.group.0.crop.filter") == "bicubic");
  CHECK(r.real("views.group.0.flip") == 0);
  CHECK(good("", {"views.preset=bcl-32"}).text("views.group.0.boost.chance") == "weight");
}

TEST_CASE("another kind of crop replaces the preset's") {
  const Recipe r = good("[views]\npreset = \"simclr-32\"\ncrop = { id = \"pad\", padding = 2 }\n");
  CHECK(r.text("views.group.0.crop.id") == "pad");
  CHECK_FALSE(r.find("views.group.0.crop.scale"));
}

TEST_CASE("evaluators see the first group's size and normalisation") {
  const Recipe small = good("[views]\npreset = \"simclr-32\"\n");
  CHECK(small.text("views.plain.crop.id") == "whole");
  CHECK(small.at("views.plain.normalize.std.0").as<double>());
  const Recipe large = good("[views]\npreset = \"simclr-224\"\n");
  CHECK(large.text("views.plain.crop.id") == "centre");
  CHECK(large.integer("views.plain.crop.short_side") == 256);
  const Recipe own = good("[views]\npreset = \"simclr-224\"\nsize = 112\nplain = { size = 100 }\n");
  CHECK(own.integer("views.plain.size") == 100);
  CHECK(own.integer("views.plain.crop.short_side") == 128);
}

TEST_CASE("mistakes in views are told once, where they stand") {
  const std::string twice = mistakes("[views]\npreset = \"byol-224\"\njitter = { hue = 0.7 }\n");
  CHECK_THAT(twice,
             Catch::StartsWith("13:18 views.group.0.jitter.hue: expected a number in 0 … 0.5"));
  CHECK(std::count(twice.begin(), twice.end(), '\n') == 1);
  CHECK_THAT(mistakes("[views]\npreset = \"simclr\"\n"),
             Catch::Contains("views.preset: expected one of"));
  CHECK_THAT(mistakes("[views]\npreest = \"simclr-32\"\n"),
             Catch::Contains("did you mean 'preset'?"));
  CHECK_THAT(mistakes("[views]\npreset = \"simclr-32\"\njiter = { p = 1 }\n"),
             Catch::Contains("did you mean 'jitter'?"));
  CHECK_THAT(mistakes("[views]\npreset = \"simclr-32\"\ncrop = { padding = 2 }\n"),
             Catch::Contains("unknown key of crop 'random-resized'"));
  CHECK_THAT(mistakes("[views]\njitter = {}\n"), Catch::Contains("needs the key 'size' beside it"));
  CHECK_THAT(mistakes("[views]\npreset = \"simclr-32\"\ncrop = { scale = [0.5, 0.1] }\n"),
             Catch::Contains("the first must not exceed the second, got 0.5 and 0.1"));
  CHECK_THAT(mistakes("[views]\npreset = \"simclr-32\"\nnormalize = { mean = [0.5] }\n"),
             Catch::Contains("normalize.mean: expected 3 numbers, got 1"));
  CHECK_THAT(mistakes("[views]\nsize = 32\ncrop = { id = \"centre\", short_side = 30 }\n"),
             Catch::Contains("expected at least size = 32, got 30"));
  CHECK_THAT(mistakes("[views]\ngroup = []\n"), Catch::Contains("there are no views"));
  CHECK_THAT(mistakes("[views]\ngroup = 3\n"), Catch::Contains("expected a list of tables"));
  CHECK_THAT(mistakes("[views]\njitter = 3\n"),
             Catch::Contains("expected a table, got an integer"));
}

TEST_CASE("a long tail has what its law reads and nothing else") {
  const auto tail = [](const std::string& table) {
    std::string text = kMinimal;
    text.replace(text.find("id = \"toy\""), 10, "id = \"toy\"\nlongtail = " + table);
    return summary(load(text).out);
  };
  CHECK(tail("{ ratio = 10 }").empty());
  CHECK(tail("{ law = \"counts\", counts = [3, 2] }").empty());
  CHECK(tail("{ law = \"file\", file = \"keep.npy\" }").empty());
  CHECK_THAT(tail("{ law = \"pareto\" }"),
             Catch::Contains("data.longtail.ratio: missing; law \"pareto\" needs it"));
  CHECK_THAT(tail("{ law = \"counts\", counts = [3], ratio = 2 }"),
             Catch::Contains("data.longtail.ratio: law \"counts\" does not read it"));
}

}  // namespace
