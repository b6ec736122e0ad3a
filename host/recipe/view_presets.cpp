#include "recipe/view_presets.hpp"

#include "recipe/merge.hpp"
#include "recipe/toml.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace gh::host {
namespace {

// Lines of TOML that groups share. Means and deviations are CIFAR's as the GH code has them and
// ImageNet's as torchvision has them; 0.228 is in the code of SwAV.
constexpr std::string_view
    kCifar = "normalize = { mean = [0.4914, 0.4822, 0.4465], std = [0.2023, 0.1994, 0.2010] }",
    kImageNet = "normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }",
    kSwavImageNet = "normalize = { mean = [0.485, 0.456, 0.406], std = [0.228, 0.224, 0.225] }",
    kBicubicCrop = R"(crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bicubic" })",
    kFlip = "flip = 0.5", kGrayscale = "grayscale = 0.2",
    kSimclrJitter =
        "jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 }",
    kByolJitter =
        "jitter = { p = 0.8, brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1 }",
    kSwavJitter =
        "jitter = { p = 0.8, brightness = 0.8, contrast = 0.8, saturation = 0.8, hue = 0.2 }",
    kBlur = "blur = { p = 0.5, sigma = [0.1, 2.0] }";

struct Group {
  int count = 0, size = 0;
  std::array<std::string_view, 7> lines;
};
struct Preset {
  std::string_view name;
  Group first, second = {};
};

constexpr Preset kPresets[] = {
    // Geometric Harmonization's CIFAR pre-training.
    {"simclr-32",
     {2,
      32,
      {R"(crop = { id = "random-resized", scale = [0.1, 1.0], filter = "bilinear" })", kFlip,
       kSimclrJitter, kGrayscale, kCifar}}},
    // Geometric Harmonization's ImageNet-LT and Places-LT pre-training.
    {"simclr-224", {2, 224, {kBicubicCrop, kFlip, kSimclrJitter, kGrayscale, kBlur, kImageNet}}},
    // BCL on CIFAR: one operation, as likely and as strong as the sample's weight says.
    {"bcl-32",
     {2,
      32,
      {R"(crop = { id = "random-resized", scale = [0.1, 1.0], filter = "bicubic" })", kFlip,
       kSimclrJitter, kGrayscale,
       R"(boost = { ops = 1, strength = [10.0, 30.0], chance = "weight", spread = "fixed" })",
       kCifar}}},
    // BCL on ImageNet: two operations, always, of a strength drawn up to the sample's weight.
    {"bcl-224",
     {2,
      224,
      {kBicubicCrop, kFlip, kSimclrJitter, kGrayscale, kBlur,
       R"(boost = { ops = 2, strength = [0.0, 30.0], chance = "always", spread = "uniform" })",
       kImageNet}}},
    // Grill et al. 2020, table 6: the views differ in blur and solarization.
    {"byol-224",
     {1,
      224,
      {kBicubicCrop, kFlip, kByolJitter, kGrayscale, "blur = { p = 1.0, sigma = [0.1, 2.0] }",
       kImageNet}},
     {1,
      224,
      {kBicubicCrop, kFlip, kByolJitter, kGrayscale, "blur = { p = 0.1, sigma = [0.1, 2.0] }",
       "solarize = { p = 0.2, threshold = 128 }", kImageNet}}},
    // Caron et al. 2020, published command for 2×224 + 6×96.
    {"swav-multicrop",
     {2,
      224,
      {R"(crop = { id = "random-resized", scale = [0.14, 1.0], filter = "bilinear" })", kFlip,
       kSwavJitter, kGrayscale, kBlur, kSwavImageNet}},
     {6,
      96,
      {R"(crop = { id = "random-resized", scale = [0.05, 0.14], filter = "bilinear" })", kFlip,
       kSwavJitter, kGrayscale, kBlur, kSwavImageNet}}},
    // Training a linear probe.
    {"probe-32", {1, 32, {R"(crop = { id = "pad", padding = 4 })", kFlip, kCifar}}},
    {"probe-224",
     {1,
      224,
      {R"(crop = { id = "random-resized", scale = [0.08, 1.0], filter = "bilinear" })", kFlip,
       kImageNet}}},
    // Testing: nothing random.
    {"eval-32", {1, 32, {R"(crop = { id = "whole" })", kCifar}}},
    {"eval-224", {1, 224, {R"(crop = { id = "centre", short_side = 256 })", kImageNet}}},
};

std::string as_toml(const Preset& preset) {
  std::string text;
  for (const Group& group : {preset.first, preset.second}) {
    if (group.count == 0) continue;
    text += "[[group]]\ncount = " + std::to_string(group.count) +
            "\nsize = " + std::to_string(group.size) + '\n';
    for (const std::string_view line : group.lines) text.append(line).append(1, '\n');
  }
  return text;
}

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
  const std::optional<Table> table = parse_toml(as_toml(*found), std::string(name), problems);
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
