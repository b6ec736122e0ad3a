// Pillow's 8-bit HSV, for the inner loops: what depends on one byte only is tabulated.
#pragma once

#include <array>
#include <cstdint>

namespace gh::host {

struct HsvTables {
  std::array<float, 256> fraction;    // of the sixth of the circle a hue lies in
  std::array<float, 256> saturation;  // s / 255
};

constexpr HsvTables make_hsv_tables() {
  HsvTables t{};
  for (int i = 0; i < 256; ++i) {
    const double sixth = static_cast<float>(i) * 6.0 / 255.0;
    t.fraction[i] = static_cast<float>(sixth - static_cast<float>(static_cast<int>(sixth)));
    t.saturation[i] = static_cast<float>(static_cast<float>(i) / 255.0);
  }
  return t;
}
inline constexpr HsvTables kHsv = make_hsv_tables();

}  // namespace gh::host
