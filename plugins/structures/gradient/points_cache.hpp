// Points on disk, in ${XDG_CACHE_HOME:-~/.cache}/ghhost/structures. Only saves time: whatever is
// wrong with a file or the directory, the points are computed.
#pragma once

#include "gh/tensor.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace gradient {

class PointsCache {
 public:
  // `key`: hexadecimal digits of all that decides the numbers.
  PointsCache(std::string key, int64_t points, int64_t width);

  // [points, width] float64 when there is an undamaged file of this key.
  std::optional<at::Tensor> read() const;
  // Whole or not at all: another process never sees half a file.
  void write(const at::Tensor& points) const noexcept;

 private:
  std::string header(const at::Tensor& points) const;

  std::string key_;
  int64_t points_, width_;
  std::filesystem::path file_;  // empty: no place for it
};

}  // namespace gradient
