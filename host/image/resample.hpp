// Resizing with antialiasing, bit for bit as Pillow resizes 8-bit images: filter weights rounded to
// 22 fractional bits, columns first, each pass rounded to 8 bits, a pass that changes nothing left
// out.
#pragma once

#include "image/image.hpp"
#include "image/kernels.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace gh::host {

enum class Filter : int { bilinear, bicubic };

// Weights for resizing a line of `in` pixels to `out`.
class FilterTable {
 public:
  FilterTable(int in, int out, Filter filter);
  const std::vector<Taps>& taps() const { return taps_; }

 private:
  std::vector<Taps> taps_;
  std::vector<int32_t> low_, high_;
};

// Where pixels lie before they are resized: column after column, so that the pass along rows runs
// over contiguous memory. plane[c][x·stride + y]; kBlock bytes behind the last are readable.
struct Columns {
  int height = 0, width = 0;
  std::ptrdiff_t stride = 0;
  const uint8_t* plane[3] = {};
};

// Cuts and resizes. One a thread: it keeps tables of small sizes and working memory.
class Resampler {
 public:
  // `box` of `in` resized to height × width, mirrored left to right if asked, of which `window` (in
  // pixels of the resized picture, before mirroring) is written to `out`.
  struct Request {
    Box box;
    int height = 0, width = 0;
    Box window;
    Filter filter = Filter::bilinear;
    bool mirror = false;
  };
  void run(const Columns& in, const Request& request, PlanarImage& out);

 private:
  const FilterTable& table(int in, int out, Filter filter);
  std::map<std::tuple<int, int, Filter>, std::unique_ptr<FilterTable>> small_;
  std::unique_ptr<FilterTable> large_[2];
  int next_large_ = 0;
  std::vector<uint8_t> columns_, rows_;
  std::vector<Taps> chosen_;
};

}  // namespace gh::host
