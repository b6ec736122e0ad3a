// What bench/contrastive.py calls: NT-Xent of libghops, forwards and backwards, for a Python that
// has imported torch.
#include "gh/ops/contrastive.hpp"

#include "gh/rows.hpp"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <exception>
#include <iostream>

extern "C" {

// Two views [n, d] float32 at z1 and z2, not normalised. The loss of each sample goes to losses
// [n], gradients of their mean to dz1 and dz2. 0, or 1 after a message.
__attribute__((visibility("default"))) int contrastive_step(float* z1, float* z2, int64_t n,
                                                            int64_t d, double temperature,
                                                            double exponent, float* losses,
                                                            float* dz1, float* dz2) {
  try {
    const auto view = [&](float* z) {
      return at::from_blob(z, {n, d}, at::kFloat).set_requires_grad(true);
    };
    const at::Tensor a = view(z1), b = view(z2);
    const at::Tensor found = gh::ops::nt_xent(gh::unit_rows(a), gh::unit_rows(b),
                                              {.temperature = temperature, .exponent = exponent});
    const auto gradients = torch::autograd::grad({found.mean()}, {a, b});
    const auto copy = [](float* to, const at::Tensor& from) {
      const at::Tensor whole = from.detach().contiguous();
      std::memcpy(to, whole.const_data_ptr(), whole.nbytes());
    };
    copy(losses, found);
    copy(dz1, gradients[0]);
    copy(dz2, gradients[1]);
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}

__attribute__((visibility("default"))) const char* contrastive_kernels() {
  return gh::ops::contrastive_instructions().data();
}
}
