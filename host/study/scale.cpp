#include "study/scale.hpp"

#include "recipe/toml.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace gh::host {
namespace {

constexpr double kLargest = 1000;  // a scale may also stretch, within reason

constexpr Param kScaleKeys[] = {
    gh::real("epochs", nullptr, "part of the epochs that is trained")
        .above(0)
        .at_most(kLargest)
        .optional(),
    gh::real("width", nullptr, "part of the network's channels")
        .above(0)
        .at_most(kLargest)
        .optional(),
    gh::texts("overrides", "[]", "what else is made smaller"),
};

Scale read_one(const Entry& entry, const std::string& path, Diagnostics& out) {
  Scale scale;
  if (entry.key == small_scale().name) scale = small_scale();
  scale.name = entry.key;
  const Table* table = entry.value.as<Table>();
  if (!table) {
    out.error(entry.value.source, path,
              fmt::format("expected a table, got {}", kind_of(entry.value)));
    return scale;
  }
  const Table read =
      apply_schema(read_schema(kScaleKeys), *table, entry.value.source, path, {}, out);
  if (const Value* epochs = read.find("epochs")) scale.epochs = *epochs->as<double>();
  if (const Value* width = read.find("width")) scale.width = *width->as<double>();
  if (const Value* overrides = read.find("overrides"))
    for (const Value& text : *overrides->as<Array>())
      scale.overrides.push_back(*text.as<std::string>());
  return scale;
}

// What becomes of one number.
class Factor {
 public:
  Factor(double ratio, double width, double was_epochs, double is_epochs)
      : ratio_(ratio), width_(width), was_epochs_(was_epochs), is_epochs_(is_epochs) {}

  bool applies(const ParamSpec& spec) const {
    if (spec.unit == "channels") return width_ != 1;
    return ratio_ != 1 &&
           (spec.unit == "epochs" || spec.unit == "steps" || spec.unit == "per epoch");
  }

  double of(const ParamSpec& spec, double value) const {
    if (spec.unit == "per epoch") return value > 0 ? std::pow(value, 1 / ratio_) : value;
    return value * (spec.unit == "channels" ? width_ : ratio_);
  }

  int64_t of(const ParamSpec& spec, int64_t value) const {
    if (value <= 0) return value;
    double scaled = std::max(1.0, std::round(of(spec, static_cast<double>(value))));
    // What was shorter than the run stays shorter, where that is possible.
    const bool shorter = static_cast<double>(value) < was_epochs_ && is_epochs_ > 1;
    if (spec.unit == "epochs" && shorter) scaled = std::min(scaled, is_epochs_ - 1);
    if (spec.min) scaled = std::max(scaled, spec.min_open ? *spec.min + 1 : *spec.min);
    if (spec.max) scaled = std::min(scaled, spec.max_open ? *spec.max - 1 : *spec.max);
    return static_cast<int64_t>(scaled);
  }

 private:
  double ratio_, width_, was_epochs_, is_epochs_;
};

Value scaled(const ParamSpec& spec, const Value& value, const Factor& factor) {
  Value out = value;
  if (Table* table = out.as<Table>()) {
    for (const ParamSpec& field : spec.fields)
      if (Value* inner = table->find(field.name)) *inner = scaled(field, *inner, factor);
    return out;
  }
  if (!factor.applies(spec)) return out;
  if (int64_t* number = out.as<int64_t>()) *number = factor.of(spec, *number);
  if (double* number = out.as<double>()) *number = factor.of(spec, *number);
  if (Array* list = out.as<Array>())
    for (Value& element : *list) element = scaled(spec, element, factor);
  return out;
}

}  // namespace

Scale small_scale() { return {.name = "small", .epochs = 0.04, .width = 0.25, .overrides = {}}; }

std::vector<Scale> read_scales(const Value& tables, Diagnostics& out) {
  const Table* named = tables.as<Table>();
  if (!named) {
    out.error(tables.source, "scale",
              fmt::format("expected tables, as in [scale.small], got {}", kind_of(tables)));
    return {};
  }
  std::vector<Scale> scales;
  for (const Entry& entry : named->entries())
    scales.push_back(read_one(entry, join_path("scale", entry.key), out));
  return scales;
}

Scale find_scale(std::string_view text, const std::vector<Scale>& named) {
  std::vector<std::string> names;
  for (const Scale& scale : named) {
    if (scale.name == text) return scale;
    names.push_back(scale.name);
  }
  if (text == small_scale().name) return small_scale();
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, factor);
  const bool number = failure == std::errc{} && stop == end;
  if (std::find(names.begin(), names.end(), small_scale().name) == names.end())
    names.insert(names.begin(), small_scale().name);
  require(number && factor > 0 && factor <= kLargest, ErrorCode::invalid_param,
          "expected a scale, got \"", text, "\": one of ",
          fmt::format("{}", fmt::join(names, ", ")), ", or a part of the epochs such as 0.1");
  return {.name = std::string(text), .epochs = factor, .width = 1, .overrides = {}};
}

Recipe load_scaled(const LoadWith& load, Catalog& catalog, const Scale& scale, Diagnostics& out,
                   std::vector<Difference>& keys) {
  Diagnostics found;
  const Recipe whole = load({}, found);
  if (found.has_errors()) {
    out = std::move(found);
    return whole;
  }
  Scaled scaled = scale_recipe(whole, catalog, scale);
  keys = std::move(scaled.keys);
  Recipe shrunk = load(scaled.overrides, out);
  if (out.has_errors() || scale.overrides.empty()) return shrunk;
  // What its overrides changed on top.
  for (Difference& d : numeric_differences(whole.resolved, shrunk.resolved))
    if (std::none_of(keys.begin(), keys.end(), [&](const Difference& k) { return k.key == d.key; }))
      keys.push_back(std::move(d));
  return shrunk;
}

Recipe load_scaled_recipe(const std::filesystem::path& file, std::vector<std::string> overrides,
                          Catalog& catalog, const Scale& scale, Diagnostics& out,
                          std::vector<Difference>& keys) {
  const auto load = [&](const std::vector<std::string>& further, Diagnostics& problems) {
    std::vector<std::string> all = overrides;
    all.insert(all.end(), further.begin(), further.end());
    return load_recipe(file, all, catalog, problems);
  };
  return load_scaled(load, catalog, scale, out, keys);
}

Scaled scale_recipe(const Recipe& recipe, Catalog& catalog, const Scale& scale) {
  const auto was = static_cast<double>(recipe.integer("train.epochs"));
  const double is = std::max(1.0, std::round(was * scale.epochs));
  const Factor factor(is / was, scale.width, was, is);
  Scaled out;
  for_each_declared(recipe, catalog, [&](const Declared& d) {
    const std::string key = join_path(d.table, d.spec.name);
    const std::string before = to_toml_value(d.value);
    const std::string after = to_toml_value(scaled(d.spec, d.value, factor));
    if (before == after) return;
    out.keys.push_back({key, before, after});
    // A key of a table that nobody wrote is added, and the table with it.
    out.overrides.push_back((d.table_written ? "" : "+") + key + "=" + after);
  });
  out.overrides.insert(out.overrides.end(), scale.overrides.begin(), scale.overrides.end());
  return out;
}

}  // namespace gh::host
