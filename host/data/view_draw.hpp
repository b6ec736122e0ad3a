// What chance decides about one view of one picture: drawn before a pixel is read, so that only the
// part of the picture that views use has to be decoded.
#pragma once

#include "data/view_plan.hpp"
#include "image/boosted_ops.hpp"
#include "image/decode.hpp"

#include "gh/random.hpp"

#include <array>

namespace gh::host {

inline constexpr int kMostBoostedOps = 8;

struct ViewDraw {
  Box crop;  // of the picture
  bool mirror = false;
  int shift_x = 0, shift_y = 0;  // pad: where in the padded square the view begins, from −padding
  bool jitter = false;
  std::array<int, 4> jitter_order{0, 1, 2, 3};      // brightness, contrast, saturation, hue
  std::array<double, 4> jitter_factor{1, 1, 1, 0};  // in that order, not in the order of use
  bool grayscale = false;
  double blur_sigma = 0;  // 0: none
  bool solarize = false;
  struct Boosted {
    BoostedOp op;
    double value, centre_x, centre_y;
  };
  int boosted_count = 0;
  std::array<Boosted, kMostBoostedOps> boosted{};
  Box cutout;  // of the view; empty: none
};

// `weight` in 0 … 1 is the sample's, for boosted operations.
ViewDraw draw_view(const ViewGroup& group, const ImageSize& picture, double weight, Random& random);

// The smallest box around both.
Box around(const Box& a, const Box& b);

}  // namespace gh::host
