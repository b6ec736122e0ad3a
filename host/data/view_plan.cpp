#include "data/view_plan.hpp"

#include "recipe/recipe.hpp"

#include "gh/error.hpp"

#include <string>

namespace gh::host {
namespace {

// Reads keys of one table. Validation is over: what is absent is an operation that is not there.
class Keys {
 public:
  explicit Keys(const Table& table) : table_(table) {}

  double real(std::string_view path, double absent = 0) const {
    const Value* value = find_path(table_, path);
    if (const int64_t* whole = value ? value->as<int64_t>() : nullptr)
      return static_cast<double>(*whole);
    return value ? *value->as<double>() : absent;
  }
  int integer(std::string_view path, int absent = 0) const {
    const Value* value = find_path(table_, path);
    return value ? static_cast<int>(*value->as<int64_t>()) : absent;
  }
  bool is(std::string_view path, std::string_view word) const {
    const Value* value = find_path(table_, path);
    return value && *value->as<std::string>() == word;
  }
  template <class T, std::size_t N>
  void list(const std::string& path, std::array<T, N>& out) const {
    if (!find_path(table_, path)) return;
    for (std::size_t i = 0; i < N; ++i)
      out[i] = static_cast<T>(real(path + "." + std::to_string(i)));
  }

 private:
  const Table& table_;
};

CropPlan read_crop(const Keys& keys) {
  CropPlan crop;
  if (keys.is("crop.id", "random-resized")) crop.kind = CropPlan::Kind::random_resized;
  if (keys.is("crop.id", "centre")) crop.kind = CropPlan::Kind::centre;
  if (keys.is("crop.id", "pad")) crop.kind = CropPlan::Kind::pad;
  crop.filter = keys.is("crop.filter", "bicubic") ? Filter::bicubic : Filter::bilinear;
  keys.list("crop.scale", crop.scale);
  keys.list("crop.ratio", crop.ratio);
  crop.short_side = keys.integer("crop.short_side");
  crop.padding = keys.integer("crop.padding");
  return crop;
}

ViewGroup read_group(const Table& table) {
  const Keys keys(table);
  ViewGroup group;
  group.count = keys.integer("count", 1);
  group.size = keys.integer("size");
  group.crop = read_crop(keys);
  group.flip = keys.real("flip");
  group.jitter = {.p = keys.real("jitter.p"),
                  .brightness = keys.real("jitter.brightness"),
                  .contrast = keys.real("jitter.contrast"),
                  .saturation = keys.real("jitter.saturation"),
                  .hue = keys.real("jitter.hue")};
  group.grayscale = keys.real("grayscale");
  group.blur.p = keys.real("blur.p");
  keys.list("blur.sigma", group.blur.sigma);
  group.solarize = {.p = keys.real("solarize.p"), .threshold = keys.integer("solarize.threshold")};
  group.boost.ops = keys.integer("boost.ops");
  keys.list("boost.strength", group.boost.strength);
  group.boost.by_weight = keys.is("boost.chance", "weight");
  group.boost.uniform = keys.is("boost.spread", "uniform");
  group.cutout.p = keys.real("cutout.p");
  group.cutout.side = keys.real("cutout.side");
  keys.list("cutout.fill", group.cutout.fill);
  keys.list("normalize.mean", group.normalize.mean);
  keys.list("normalize.std", group.normalize.std);
  group.noise = keys.real("noise");
  return group;
}

}  // namespace

int64_t ViewPlan::count() const {
  int64_t count = 0;
  for (const ViewGroup& group : groups) count += group.count;
  return count;
}

const ViewGroup& ViewPlan::group_of(int64_t view) const {
  for (const ViewGroup& group : groups) {
    if (view < group.count) return group;
    view -= group.count;
  }
  fail(ErrorCode::internal, "there is no such view");
}

bool ViewPlan::reads_weights() const {
  for (const ViewGroup& group : groups)
    if (group.boost.ops > 0) return true;
  return false;
}

std::vector<int64_t> ViewPlan::shape_of(int64_t view,
                                        const std::vector<int64_t>& vector_shape) const {
  const int64_t size = group_of(view).size;
  return size > 0 ? std::vector<int64_t>{3, size, size} : vector_shape;
}

ViewPlan read_views(const Table& views) {
  ViewPlan plan;
  for (const Value& group : *views.find("group")->as<Array>())
    plan.groups.push_back(read_group(*group.as<Table>()));
  return plan;
}

ViewPlan read_plain_views(const Table& views) {
  return {.groups = {read_group(*views.find("plain")->as<Table>())}};
}

std::optional<ViewPlan> preset_views(std::string_view name, const NormalizePlan& normalize) {
  const std::optional<Table> views = resolve_view_preset(name);
  if (!views) return std::nullopt;
  ViewPlan plan = read_views(*views);
  for (ViewGroup& group : plan.groups) group.normalize = normalize;
  return plan;
}

}  // namespace gh::host
