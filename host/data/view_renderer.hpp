// Pixels of a view from pixels of a picture and what was drawn.
#pragma once

#include "data/view_draw.hpp"
#include "image/blur.hpp"
#include "image/resample.hpp"

namespace gh::host {

// One a thread: it keeps working memory.
class ViewRenderer {
 public:
  // `in` holds the part of the picture that begins at (top, left); `draw.crop` lies inside it. The
  // result, [3][size][size], is valid until the next call.
  const PlanarImage& render(const Columns& in, int top, int left, const ViewGroup& group,
                            const ViewDraw& draw);

 private:
  void take_square(const Columns& in, Box crop, const ViewGroup& group, const ViewDraw& draw);
  void cut_from_padded(const ViewDraw& draw);

  Resampler resampler_;
  GaussianBlur blur_;
  PlanarImage view_, scratch_;
};

}  // namespace gh::host
