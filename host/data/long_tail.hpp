// Thins a balanced data set into a long-tailed one.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <string>

namespace gh::host {

struct LongTail {
  std::string law =
      "exp";         // exp: sizes fall geometrically; step: the second half of the classes is small
  double ratio = 1;  // largest over smallest class
  uint32_t seed = 0;
};

// Samples to keep, as positions in `labels` ([N] int64), class by class. With law "exp" and n the
// size of the largest class, class c of C keeps floor(n·ratio^(−c/(C−1))) samples. The choice is
// that of the published CIFAR-100-LT code: one MT19937 stream over all classes, each class's
// positions shuffled as NumPy's legacy generator does, the first ones kept.
at::Tensor thin(const at::Tensor& labels, const LongTail& law);

}  // namespace gh::host
