// How samples become views, as the recipe's [views] says it, typed.
#pragma once

#include "image/resample.hpp"
#include "recipe/value.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gh::host {

struct CropPlan {
  enum class Kind { random_resized, centre, pad, whole };
  Kind kind = Kind::whole;
  Filter filter = Filter::bilinear;
  std::array<double, 2> scale{}, ratio{};  // random_resized
  int short_side = 0;                      // centre
  int padding = 0;                         // pad
};

struct JitterPlan {
  double p = 0, brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
struct BlurPlan {
  double p = 0;
  std::array<double, 2> sigma{};
};
struct SolarizePlan {
  double p = 0;
  int threshold = 256;
};
struct BoostPlan {
  int ops = 0;
  std::array<double, 2> strength{};
  bool by_weight = false;  // probability of each operation is the weight
  bool uniform = false;    // the weight is multiplied by a draw
};
struct CutoutPlan {
  double p = 0, side = 0;
  std::array<uint8_t, 3> fill{};
};
struct NormalizePlan {
  std::array<double, 3> mean{0, 0, 0}, std{1, 1, 1};
  // Of a byte: (x/255 − mean)/std = scale·x − shift.
  float scale(int channel) const { return static_cast<float>(1 / (255 * std[channel])); }
  float shift(int channel) const { return static_cast<float>(mean[channel] / std[channel]); }
};

// Views of one kind. Operations in the order in which they are applied.
struct ViewGroup {
  int64_t count = 1;
  int size = 0;  // 0: for vectors
  CropPlan crop;
  double flip = 0;
  JitterPlan jitter;
  double grayscale = 0;
  BlurPlan blur;
  SolarizePlan solarize;
  BoostPlan boost;
  CutoutPlan cutout;
  NormalizePlan normalize;
  double noise = 0;
};

struct ViewPlan {
  std::vector<ViewGroup> groups;

  int64_t count() const;
  const ViewGroup& group_of(int64_t view) const;
  bool reads_weights() const;  // some group has boosted operations
  // Shape of a view: [3, size, size], or that of a vector.
  std::vector<int64_t> shape_of(int64_t view, const std::vector<int64_t>& vector_shape) const;
};

// From the resolved [views].
ViewPlan read_views(const Table& views);
// What evaluators see: [views.plain].
ViewPlan read_plain_views(const Table& views);
// A preset by name with another normalisation; nullopt when there is none of that name.
std::optional<ViewPlan> preset_views(std::string_view name, const NormalizePlan& normalize);

}  // namespace gh::host
