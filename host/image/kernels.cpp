#include "image/kernels.hpp"

namespace gh::host {

const Kernels& kernels() {
  static const Kernels& chosen = avx2_kernels() ? *avx2_kernels() : portable_kernels();
  return chosen;
}

}  // namespace gh::host
