#include "data/view_renderer.hpp"

#include "image/colour.hpp"

#include <algorithm>
#include <cmath>

namespace gh::host {
namespace {

void jitter(const ViewDraw& draw, PlanarImage& image) {
  constexpr void (*kAdjust[])(PlanarImage&, double) = {adjust_brightness, adjust_contrast,
                                                       adjust_saturation, adjust_hue};
  for (const int which : draw.jitter_order) kAdjust[which](image, draw.jitter_factor[which]);
}

void fill(const Box& box, const std::array<uint8_t, 3>& colour, PlanarImage& image) {
  for (int c = 0; c < 3; ++c)
    for (int y = box.top; y < box.top + box.height; ++y)
      std::fill_n(image.plane(c) + y * image.width + box.left, box.width, colour[c]);
}

// Offset of a centred crop, half to even as Python rounds.
int centred(int whole, int part) { return static_cast<int>(std::nearbyint((whole - part) / 2.0)); }

}  // namespace

void ViewRenderer::take_square(const Columns& in, Box crop, const ViewGroup& group,
                               const ViewDraw& draw) {
  const int size = group.size;
  Resampler::Request request{.box = crop,
                             .height = size,
                             .width = size,
                             .window = {0, 0, size, size},
                             .filter = group.crop.filter,
                             .mirror = draw.mirror};
  if (group.crop.kind == CropPlan::Kind::centre) {
    const int64_t side = group.crop.short_side;
    request.height =
        static_cast<int>(crop.height <= crop.width ? side : side * crop.height / crop.width);
    request.width =
        static_cast<int>(crop.width <= crop.height ? side : side * crop.width / crop.height);
    request.window = {centred(request.height, size), centred(request.width, size), size, size};
  }
  if (group.crop.kind == CropPlan::Kind::pad) request.mirror = false;
  resampler_.run(in, request, view_);
  if (group.crop.kind == CropPlan::Kind::pad) cut_from_padded(draw);
}

void ViewRenderer::cut_from_padded(const ViewDraw& draw) {
  const int size = view_.width;
  scratch_.resize(size, size);
  for (int c = 0; c < 3; ++c) {
    uint8_t* out = scratch_.plane(c);
    for (int y = 0; y < size; ++y, out += size) {
      std::fill_n(out, size, uint8_t{0});
      const int from = y + draw.shift_y;
      if (from < 0 || from >= size) continue;
      const int begin = std::max(0, -draw.shift_x), end = std::min(size, size - draw.shift_x);
      if (begin < end)
        std::copy_n(view_.plane(c) + from * size + begin + draw.shift_x, end - begin, out + begin);
      if (draw.mirror) std::reverse(out, out + size);
    }
  }
  std::swap(view_, scratch_);
}

const PlanarImage& ViewRenderer::render(const Columns& in, int top, int left,
                                        const ViewGroup& group, const ViewDraw& draw) {
  take_square(in, {draw.crop.top - top, draw.crop.left - left, draw.crop.height, draw.crop.width},
              group, draw);
  if (draw.jitter) jitter(draw, view_);
  if (draw.grayscale) make_grey(view_);
  blur_.run(view_, draw.blur_sigma);
  if (draw.solarize) solarize(view_, group.solarize.threshold);
  for (int i = 0; i < draw.boosted_count; ++i) {
    const ViewDraw::Boosted& b = draw.boosted[i];
    apply_boosted(b.op, b.value, b.centre_x, b.centre_y, view_, scratch_);
  }
  fill(draw.cutout, group.cutout.fill, view_);
  return view_;
}

}  // namespace gh::host
