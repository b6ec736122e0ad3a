// What the harmonizer saw, drawn for the report.
#pragma once

#include "harmonize/harmonizer.hpp"

#include <string>
#include <vector>

namespace gh::host {

struct HarmonyPicture {
  std::string name, caption, mime, bytes;
};

// The prior beside uniform and the class sizes, samples per point over the epochs, and, where there
// are classes, points against classes and the spread of each class. `classes` [samples] int64 or
// undefined.
std::vector<HarmonyPicture> draw_harmony(const Harmonizer& harmonizer, const at::Tensor& classes);

}  // namespace gh::host
