#include "recipe/view_presets.hpp"

#include "recipe/merge.hpp"
#include "recipe/toml.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

struct Preset {
  std::string_view name;
  std::string_view groups;  // TOML
};

// Means and deviations of normalisation: CIFAR's as the GH code has them, ImageNet's as torchvision
// has them.
constexpr Preset kPresets[] = {
    // Geometric Harmonization's CIFAR pre-training.
    {"simclr-32", R"(
[[group]]
count = 2
size = 32
crop = { id = "random-resized", scale = [0.1, 1.0], filter = "bilinear" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 }
grayscale = 0.2
normalize = { mean = [0.4914, 0.4822, 0.4465], std = [0.2023, 0.1994, 0.2010] }
)"},
    // Geometric Harmonization's ImageNet-LT and Places-LT pre-training.
    {"simclr-224", R"(
[[group]]
count = 2
size = 224
crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bicubic" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 }
grayscale = 0.2
blur = { p = 0.5, sigma = [0.1, 2.0] }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }
)"},
    // BCL on CIFAR: one operation, as likely and as strong as the sample's weight says.
    {"bcl-32", R"(
[[group]]
count = 2
size = 32
crop = { id = "random-resized", scale = [0.1, 1.0], filter = "bicubic" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 }
grayscale = 0.2
boost = { ops = 1, strength = [10.0, 30.0], chance = "weight", spread = "fixed" }
normalize = { mean = [0.4914, 0.4822, 0.4465], std = [0.2023, 0.1994, 0.2010] }
)"},
    // BCL on ImageNet: two operations, always, of a strength drawn up to the sample's weight.
    {"bcl-224", R"(
[[group]]
count = 2
size = 224
crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bicubic" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 }
grayscale = 0.2
blur = { p = 0.5, sigma = [0.1, 2.0] }
boost = { ops = 2, strength = [0.0, 30.0], chance = "always", spread = "uniform" }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }
)"},
    // Grill et al. 2020, table 6: the views differ in blur and solarization.
    {"byol-224", R"(
[[group]]
count = 1
size = 224
crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bicubic" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 }
grayscale = 0.2
blur = { p = 1.0, sigma = [0.1, 2.0] }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }

[[group]]
count = 1
size = 224
crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bicubic" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 }
grayscale = 0.2
blur = { p = 0.1, sigma = [0.1, 2.0] }
solarize = { p = 0.2, threshold = 128 }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }
)"},
    // Caron et al. 2020, published command for 2×224 + 6×96; 0.228 is their code's.
    {"swav-multicrop", R"(
[[group]]
count = 2
size = 224
crop = { id = "random-resized", scale = [0.14, 1.0], filter = "bilinear" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.8, contrast = 0.8, saturation = 0.8, hue = 0.2 }
grayscale = 0.2
blur = { p = 0.5, sigma = [0.1, 2.0] }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.228, 0.224, 0.225] }

[[group]]
count = 6
size = 96
crop = { id = "random-resized", scale = [0.05, 0.14], filter = "bilinear" }
flip = 0.5
jitter = { p = 0.8, brightness = 0.8, contrast = 0.8, saturation = 0.8, hue = 0.2 }
grayscale = 0.2
blur = { p = 0.5, sigma = [0.1, 2.0] }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.228, 0.224, 0.225] }
)"},
    // Training a linear probe.
    {"probe-32", R"(
[[group]]
count = 1
size = 32
crop = { id = "pad", padding = 4 }
flip = 0.5
normalize = { mean = [0.4914, 0.4822, 0.4465], std = [0.2023, 0.1994, 0.2010] }
)"},
    {"probe-224", R"(
[[group]]
count = 1
size = 224
crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bilinear" }
flip = 0.5
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }
)"},
    // Testing: nothing random.
    {"eval-32", R"(
[[group]]
count = 1
size = 32
crop = { id = "whole" }
normalize = { mean = [0.4914, 0.4822, 0.4465], std = [0.2023, 0.1994, 0.2010] }
)"},
    {"eval-224", R"(
[[group]]
count = 1
size = 224
crop = { id = "centre", short_side = 256 }
normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }
)"},
};

constexpr std::string_view kGroupKeys[] = {"count",    "size",  "flip",   "grayscale",
                                           "noise",    "crop",  "jitter", "blur",
                                           "solarize", "boost", "cutout", "normalize"};

// What a preset's operation loses to another one is not worth a word: nobody wrote it.
void merge(Value& into, const Value& from) {
  Table* old = into.as<Table>();
  const Table* given = from.as<Table>();
  if (!old || !given) {
    into = from;
    return;
  }
  into.source = from.source;
  host::merge(*old, *given, "", {});
}

void merge_key(Value& group, const Entry& entry) {
  Table* table = group.as<Table>();
  if (!table) return;
  if (Value* existing = table->find(entry.key))
    merge(*existing, entry.value);
  else
    table->set(entry.key, entry.value, entry.source);
}

Array starting_groups(const Table& raw) {
  const Value* name = raw.find("preset");
  const std::string* text = name ? name->as<std::string>() : nullptr;
  if (std::optional<Array> groups = text ? view_preset(*text) : std::nullopt) {
    for (Value& group : *groups)
      for_each_source(group, [&](Source& source) { source = name->source; });
    return *groups;
  }
  if (raw.find("group")) return {};
  Table pair;
  pair.set("count", Value{int64_t{2}, {}});
  return {Value{std::move(pair), {}}};
}

// Without anything random: the first group's size and normalisation, and of small pictures
// everything, of others the middle seven eighths.
Table plain_of(const Table& group) {
  Table plain;
  const Value* size = group.find("size");
  const int64_t* side = size ? size->as<int64_t>() : nullptr;
  if (!side) return plain;
  plain.set("size", *size);
  Table crop;
  const bool small = *side <= 64;
  crop.set("id", Value{std::string(small ? "whole" : "centre"), size->source});
  if (!small) crop.set("short_side", Value{std::llround(*side * 8 / 7.0), size->source});
  plain.set("crop", Value{std::move(crop), size->source});
  if (const Value* normalize = group.find("normalize")) plain.set("normalize", *normalize);
  return plain;
}

}  // namespace

const char* view_preset_names() {
  static const std::string kNames = [] {
    std::string names;
    for (const Preset& preset : kPresets) {
      if (!names.empty()) names += '|';
      names += preset.name;
    }
    return names;
  }();
  return kNames.c_str();
}

std::optional<Array> view_preset(std::string_view name) {
  const auto found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                  [&](const Preset& p) { return p.name == name; });
  if (found == std::end(kPresets)) return std::nullopt;
  Diagnostics problems;
  const std::optional<Table> table = parse_toml(found->groups, std::string(name), problems);
  require(table && !problems.has_errors(), ErrorCode::internal, "preset '", name,
          "' does not parse: ", problems.text());
  return *table->find("group")->as<Array>();
}

Table expand_views(const Table& raw) {
  Array groups = starting_groups(raw);
  const Entry* own = raw.entry("group");
  const Array* list = own ? own->value.as<Array>() : nullptr;
  while (list && groups.size() < list->size()) groups.push_back(Value{Table{}, {}});
  Table out;
  for (const Entry& e : raw.entries()) {
    if (std::find(std::begin(kGroupKeys), std::end(kGroupKeys), e.key) == std::end(kGroupKeys))
      out.set(e.key, e.value, e.source);
    else
      for (Value& group : groups) merge_key(group, e);
  }
  for (std::size_t i = 0; list && i < list->size(); ++i) merge(groups[i], (*list)[i]);

  Value plain{groups.empty() || !groups[0].as<Table>() ? Table{} : plain_of(*groups[0].as<Table>()),
              {}};
  if (const Entry* given = raw.entry("plain")) merge(plain, given->value);
  out.set("plain", std::move(plain));
  if (!own || list) out.set("group", Value{std::move(groups), own ? own->value.source : Source{}});
  return out;
}

}  // namespace gh::host
