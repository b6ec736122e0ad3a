// Small pictures of every kind that the decoders know, made here rather than kept.
#include "fuzz/target.hpp"
#include "support/sample_images.hpp"

#include <utility>

namespace gh::test {
namespace {

std::vector<Bytes> jpeg_seeds() {
  std::vector<Bytes> seeds;
  for (const J_COLOR_SPACE colours : {JCS_YCbCr, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK})
    for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}})
      for (int kind = 0; kind < 6; ++kind) {
        if ((colours == JCS_GRAYSCALE || colours == JCS_RGB) && h * v > 1) continue;
        JpegSample sample;
        sample.height = 21 + 5 * kind;
        sample.width = 50 - 7 * kind;
        sample.colours = colours;
        sample.h = h;
        sample.v = v;
        sample.quality = 40;
        sample.progressive = kind == 1 || kind == 4;
        sample.separate_scans = kind == 2;
        sample.restart_rows = kind == 3 || kind == 4;
        sample.arithmetic = kind == 4 || kind == 5;
        seeds.push_back(make_jpeg(sample));
        if (kind == 0) seeds.push_back(with_exif(seeds.back(), 1 + h * v, h == 2));
        if (kind != 1) continue;
        sample.only_first_scans = true;
        seeds.push_back(make_jpeg(sample));
      }
  return seeds;
}

std::vector<Bytes> png_seeds() {
  std::vector<Bytes> seeds;
  for (const int colour_type : {0, 2, 3, 4, 6})
    for (const int depth : {1, 2, 4, 8, 16})
      for (const bool interlaced : {false, true}) {
        if (colour_type == 3 ? depth > 8 : colour_type != 0 && depth < 8) continue;
        PngSample sample;
        sample.height = 9;
        sample.width = 14;
        sample.depth = depth;
        sample.colour_type = colour_type;
        sample.interlaced = interlaced;
        if (interlaced) sample.exif = tiff_block(6, depth == 8);
        seeds.push_back(make_png(sample, [depth](int y, int x, int c) {
          return (37u * y + 11u * x + c) & ((1u << depth) - 1);
        }));
      }
  return seeds;
}

}  // namespace

std::vector<Bytes> made_inputs() {
  std::vector<Bytes> all = jpeg_seeds();
  for (Bytes& png : png_seeds()) all.push_back(std::move(png));
  return all;
}

}  // namespace gh::test
