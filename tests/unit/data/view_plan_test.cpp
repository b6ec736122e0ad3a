#include "data/view_plan.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

ViewPlan preset(std::string_view name) { return *preset_views(name, {}); }

TEST_CASE("presets are read as they are written") {
  const ViewGroup simclr = preset("simclr-32").groups.at(0);
  CHECK((simclr.count == 2 && simclr.size == 32 && simclr.flip == 0.5 && simclr.grayscale == 0.2));
  CHECK(simclr.crop.kind == CropPlan::Kind::random_resized);
  CHECK((simclr.crop.filter == Filter::bilinear && simclr.crop.scale[0] == 0.1));
  CHECK(simclr.crop.ratio[1] == 4 / 3.0);
  CHECK((simclr.jitter.p == 0.8 && simclr.jitter.brightness == 0.4 && simclr.jitter.hue == 0.1));
  CHECK((simclr.blur.p == 0 && simclr.boost.ops == 0 && simclr.cutout.p == 0));

  const ViewGroup small = preset("bcl-32").groups.at(0), large = preset("bcl-224").groups.at(0);
  CHECK((small.boost.ops == 1 && small.boost.by_weight && !small.boost.uniform));
  CHECK((small.boost.strength[0] == 10 && small.boost.strength[1] == 30));
  CHECK((large.boost.ops == 2 && !large.boost.by_weight && large.boost.uniform));
  CHECK((large.boost.strength[0] == 0 && large.crop.filter == Filter::bicubic));

  const ViewPlan byol = preset("byol-224");
  CHECK((byol.groups[0].blur.p == 1.0 && byol.groups[1].blur.p == 0.1));
  CHECK((byol.groups[0].solarize.p == 0 && byol.groups[1].solarize.p == 0.2));
  CHECK(byol.groups[1].solarize.threshold == 128);
  CHECK((byol.groups[0].blur.sigma[0] == 0.1 && byol.groups[0].blur.sigma[1] == 2.0));

  CHECK((preset("probe-32").groups[0].crop.kind == CropPlan::Kind::pad &&
         preset("probe-32").groups[0].crop.padding == 4));
  CHECK((preset("eval-224").groups[0].crop.kind == CropPlan::Kind::centre &&
         preset("eval-224").groups[0].crop.short_side == 256));
  CHECK(preset("eval-32").groups[0].crop.kind == CropPlan::Kind::whole);
  CHECK_FALSE(preset_views("nothing", {}).has_value());
}

TEST_CASE("views are counted over groups") {
  const ViewPlan swav = preset("swav-multicrop");
  CHECK(swav.count() == 8);
  CHECK(swav.group_of(1).size == 224);
  CHECK(swav.group_of(2).size == 96);
  CHECK(swav.shape_of(7, {}) == std::vector<int64_t>{3, 96, 96});
  CHECK_THROWS(swav.group_of(8));
  CHECK_FALSE(swav.reads_weights());
  CHECK(preset("bcl-32").reads_weights());
  const ViewPlan vectors{.groups = {ViewGroup{}}};
  CHECK(vectors.shape_of(0, {5}) == std::vector<int64_t>{5});
}

TEST_CASE("a preset asked for by name takes the recipe's normalisation") {
  const NormalizePlan own{.mean = {0.1, 0.2, 0.3}, .std = {0.4, 0.5, 0.6}};
  const NormalizePlan got = preset_views("probe-32", own)->groups[0].normalize;
  CHECK((got.mean == own.mean && got.std == own.std));
  CHECK(got.scale(1) * 255 * 0.5f == Approx(1));
  CHECK(got.shift(2) == Approx(0.5));
}

}  // namespace
