#include "data/view_draw.hpp"

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

int rounded(double x) { return static_cast<int>(std::nearbyint(x)); }  // half to even, as Python's

// torchvision's RandomResizedCrop: ten tries, then the largest centred box whose shape is allowed.
Box random_resized(const CropPlan& crop, const ImageSize& picture, Random& random) {
  const double area = static_cast<double>(picture.height) * picture.width;
  const double low = std::log(crop.ratio[0]), high = std::log(crop.ratio[1]);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(crop.scale[0], crop.scale[1]);
    const double aspect = std::exp(random.uniform(low, high));
    const int width = rounded(std::sqrt(target * aspect));
    const int height = rounded(std::sqrt(target / aspect));
    if (width < 1 || height < 1 || width > picture.width || height > picture.height) continue;
    const int top = static_cast<int>(random.below(picture.height - height + 1));
    const int left = static_cast<int>(random.below(picture.width - width + 1));
    return {top, left, height, width};
  }
  const double shape = static_cast<double>(picture.width) / picture.height;
  int width = picture.width, height = picture.height;
  if (shape < crop.ratio[0])
    height = std::clamp(rounded(width / crop.ratio[0]), 1, picture.height);
  else if (shape > crop.ratio[1])
    width = std::clamp(rounded(height * crop.ratio[1]), 1, picture.width);
  return {(picture.height - height) / 2, (picture.width - width) / 2, height, width};
}

// A factor around one that is never negative.
double factor(double spread, Random& random) {
  return random.uniform(std::max(0.0, 1 - spread), 1 + spread);
}

void draw_jitter(const JitterPlan& plan, ViewDraw& out, Random& random) {
  if (!(plan.p > 0) || random.uniform() >= plan.p) return;
  out.jitter = true;
  for (int i = 3; i > 0; --i) std::swap(out.jitter_order[i], out.jitter_order[random.below(i + 1)]);
  out.jitter_factor = {factor(plan.brightness, random), factor(plan.contrast, random),
                       factor(plan.saturation, random), random.uniform(-plan.hue, plan.hue)};
}

void draw_boosted(const BoostPlan& plan, int size, double weight, ViewDraw& out, Random& random) {
  for (int i = 0; i < plan.ops; ++i) {
    const auto op = static_cast<BoostedOp>(random.below(kBoostedOps));
    if (plan.by_weight && random.uniform() >= weight) continue;
    const double share = plan.uniform ? weight * random.uniform() : weight;
    double value =
        boosted_value(op, plan.strength[0] + (plan.strength[1] - plan.strength[0]) * share);
    if (is_geometric(op) && random.uniform() < 0.5) value = -value;
    // The published code draws a centre between 1 and the side, not from 0.
    const double x = op == BoostedOp::cutout ? random.uniform(1, size) : 0;
    const double y = op == BoostedOp::cutout ? random.uniform(1, size) : 0;
    out.boosted[out.boosted_count++] = {op, value, x, y};
  }
}

// A square around a centre inside the view, cut off at its edges (DeVries and Taylor 2017).
void draw_cutout(const CutoutPlan& plan, int size, ViewDraw& out, Random& random) {
  if (!(plan.p > 0) || random.uniform() >= plan.p) return;
  const int side = std::max(1, rounded(plan.side * size));
  const auto range = [&] {
    const int begin = static_cast<int>(random.below(size)) - side / 2;
    return std::pair(std::max(0, begin), std::min(size, begin + side));
  };
  const auto [top, bottom] = range();
  const auto [left, right] = range();
  out.cutout = {top, left, bottom - top, right - left};
}

}  // namespace

ViewDraw draw_view(const ViewGroup& group, const ImageSize& picture, double weight,
                   Random& random) {
  ViewDraw out;
  out.crop = {0, 0, picture.height, picture.width};
  if (group.crop.kind == CropPlan::Kind::random_resized)
    out.crop = random_resized(group.crop, picture, random);
  if (group.crop.kind == CropPlan::Kind::pad) {
    const int padding = group.crop.padding;
    out.shift_y = static_cast<int>(random.below(2 * padding + 1)) - padding;
    out.shift_x = static_cast<int>(random.below(2 * padding + 1)) - padding;
  }
  out.mirror = group.flip > 0 && random.uniform() < group.flip;
  draw_jitter(group.jitter, out, random);
  out.grayscale = group.grayscale > 0 && random.uniform() < group.grayscale;
  if (group.blur.p > 0 && random.uniform() < group.blur.p)
    out.blur_sigma = random.uniform(group.blur.sigma[0], group.blur.sigma[1]);
  out.solarize = group.solarize.p > 0 && random.uniform() < group.solarize.p;
  draw_boosted(group.boost, group.size, weight, out, random);
  draw_cutout(group.cutout, group.size, out, random);
  return out;
}

Box around(const Box& a, const Box& b) {
  const int top = std::min(a.top, b.top), left = std::min(a.left, b.left);
  return {top, left, std::max(a.top + a.height, b.top + b.height) - top,
          std::max(a.left + a.width, b.left + b.width) - left};
}

}  // namespace gh::host
