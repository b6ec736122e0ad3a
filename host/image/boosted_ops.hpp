// The fifteen operations of memory-boosted augmentation (BCL), as Pillow computes them, bit for
// bit. Each takes one value, which a strength in 0 … 30 is mapped to linearly.
#pragma once

#include "image/image.hpp"

#include <string_view>

namespace gh::host {

// In the published order, from which an operation is drawn by number.
enum class BoostedOp : int {
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  auto_contrast,
  invert,
  equalize,
  solarize,
  posterize,
  contrast,
  color,
  brightness,
  sharpness,
  cutout
};
inline constexpr int kBoostedOps = 15;

std::string_view name_of(BoostedOp op);  // "ShearX", …

// Shears, translations and rotation: half of the time the value is negated.
bool is_geometric(BoostedOp op);

// low + strength/30·(high − low).
double boosted_value(BoostedOp op, double strength);

// Applies `op` in place. `value` is signed for geometric operations. `centre_x`, `centre_y` are
// where cut-out cuts, in pixels; others ignore them. `scratch` is working memory.
void apply_boosted(BoostedOp op, double value, double centre_x, double centre_y, PlanarImage& image,
                   PlanarImage& scratch);

}  // namespace gh::host
