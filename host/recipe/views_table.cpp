// [views]: what the method and evaluators see of a sample.
#include "recipe/table_parts.hpp"
#include "recipe/view_presets.hpp"

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

// Keys of a group; directly in [views] they go to every group.

constexpr Param kGroup[] = {
    gh::integer("count", "1", "views of this kind").at_least(1).at_most(64),
    gh::integer("size", nullptr, "side of the square a picture becomes")
        .at_least(1)
        .at_most(4096)
        .in("pixels")
        .optional(),
    gh::real("flip", "0.0", "probability of mirroring left to right").at_least(0).at_most(1),
    gh::real("grayscale", "0.0", "probability of losing all colour").at_least(0).at_most(1),
    gh::real("noise", "0.0",
             "standard deviation of the Gaussian noise added to samples that are vectors")
        .at_least(0),
};
constexpr const char* kForEveryGroup = "for every group; tables of a group may stand here likewise";
constexpr Param kSpreadKeys[] = {
    gh::integer("count", nullptr, kForEveryGroup).at_most(64).optional(),
    gh::integer("size", nullptr, kForEveryGroup).at_most(4096).optional(),
    gh::real("flip", nullptr, kForEveryGroup).optional(),
    gh::real("grayscale", nullptr, kForEveryGroup).optional(),
    gh::real("noise", nullptr, kForEveryGroup).optional(),
};
constexpr Param kPlain[] = {
    gh::integer("size", nullptr, "side of the square a picture becomes")
        .at_least(1)
        .at_most(4096)
        .in("pixels")
        .optional(),
};

constexpr Param kFilter =
    gh::choice("filter", "bilinear", "bilinear|bicubic", "antialiased, as Pillow resizes");
constexpr Param kRandomResized[] = {
    gh::reals("scale", "[0.08, 1.0]", "smallest and largest share of the area").above(0).at_most(1),
    gh::reals("ratio", "[0.75, 1.3333333333333333]", "smallest and largest width over height")
        .above(0),
    kFilter,
};
constexpr Param kCentre[] = {
    gh::integer("short_side", nullptr, "to which the shorter side is resized before cutting")
        .at_least(1)
        .at_most(16384)
        .in("pixels"),
    kFilter,
};
constexpr Param kPad[] = {
    gh::integer("padding", "4", "black border put around the square before cutting one at random")
        .at_least(0)
        .at_most(4096)
        .in("pixels"),
    kFilter,
};
constexpr Param kWhole[] = {kFilter};

constexpr Param kJitter[] = {
    gh::real("p", "0.8", "probability").at_least(0).at_most(1),
    gh::real("brightness", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("contrast", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("saturation", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("hue", "0.1", "turn in ± this part of a circle").at_least(0).at_most(0.5),
};
constexpr Param kBlur[] = {
    gh::real("p", "0.5", "probability").at_least(0).at_most(1),
    gh::reals("sigma", "[0.1, 2.0]", "smallest and largest standard deviation")
        .at_least(0)
        .in("pixels"),
};
constexpr Param kSolarize[] = {
    gh::real("p", "0.2", "probability").at_least(0).at_most(1),
    gh::integer("threshold", "128", "values from here on are inverted").at_least(0).at_most(256),
};
constexpr Param kBoost[] = {
    gh::integer("ops", "1", "operations drawn for a view, of BCL's fifteen").at_least(1).at_most(8),
    gh::reals("strength", "[10.0, 30.0]", "at weight 0 and at weight 1").at_least(0).at_most(30),
    gh::choice("chance", "weight", "weight|always",
               "each operation happens with the sample's weight as probability, or always"),
    gh::choice("spread", "fixed", "fixed|uniform",
               "strength is that of the weight, or of the weight times a uniform draw"),
};
constexpr Param kCutout[] = {
    gh::real("p", "0.5", "probability").at_least(0).at_most(1),
    gh::real("side", "0.5", "of the square cut out, as a part of the view's").above(0).at_most(1),
    gh::integers("fill", "[0, 0, 0]", "colour").at_least(0).at_most(255),
};
constexpr Param kNormalize[] = {
    gh::reals("mean", nullptr, "subtracted from red, green and blue in 0 … 1"),
    gh::reals("std", nullptr, "by which they are divided then").above(0),
};

// The operations of a group, in the order in which they are applied.
std::vector<TableSpec> view_operations(Presence presence) {
  TableSpec crop =
      tagged_table("crop", "random-resized", "How a square is taken from a picture",
                   {{"random-resized", "a random part, resized", read_schema(kRandomResized)},
                    {"centre", "the middle of the resized picture", read_schema(kCentre)},
                    {"pad", "a random part of the resized and padded picture", read_schema(kPad)},
                    {"whole", "everything, resized", read_schema(kWhole)}});
  crop.presence = presence;
  return {
      std::move(crop),
      host_table("jitter", presence, "Brightness, contrast, saturation and hue, in random order",
                 read_schema(kJitter)),
      host_table("blur", presence, "Gaussian blur, as Pillow blurs", read_schema(kBlur)),
      host_table("solarize", presence, "Inverts what is bright", read_schema(kSolarize)),
      host_table(
          "boost", presence,
          "Memory-boosted operations; a method publishes each sample's weight as \"strength\"",
          read_schema(kBoost)),
      host_table("cutout", presence, "Fills a random square", read_schema(kCutout)),
      host_table("normalize", presence, "Centres and scales colours; without it they lie in 0 … 1",
                 read_schema(kNormalize))};
}

}  // namespace

TableSpec views_table() {
  static constexpr Param kPresetKey =
      gh::choice("preset", nullptr, "-", "start from a known list of groups").optional();
  Param preset = kPresetKey;
  preset.choices = view_preset_names();
  Schema keys = read_schema(&preset, 1, sizeof(Param));
  for (ParamSpec& key : read_schema(kSpreadKeys)) keys.push_back(std::move(key));
  std::vector<TableSpec> plain_tables;
  for (TableSpec& spec : view_operations(Presence::optional))
    if (spec.name == "crop" || spec.name == "normalize") plain_tables.push_back(std::move(spec));
  std::vector<TableSpec> tables = view_operations(Presence::spread);
  tables.push_back(host_table("group", Presence::list, "Views of one kind; any number of groups",
                              read_schema(kGroup), view_operations(Presence::optional)));
  tables.push_back(
      host_table("plain", Presence::implied,
                 "What evaluators see; follows the first group where nothing is written",
                 read_schema(kPlain), std::move(plain_tables)));
  TableSpec views = host_table("views", Presence::implied, "What the method sees of a sample",
                               std::move(keys), std::move(tables));
  views.expand = expand_views;
  return views;
}

}  // namespace gh::host
