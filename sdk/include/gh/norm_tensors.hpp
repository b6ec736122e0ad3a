// What a batch normalisation holds, for layers that compute it in a way of their own: the standard
// one and the one over ranks. Since SDK 1.1.
#pragma once

#include "gh/layers.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace gh {
inline namespace v1 {

// Parameters and buffers with their names and initial values in torch.nn.
class NormTensors : public Normalization {
 protected:
  explicit NormTensors(const NormalizationSpec& spec) : spec_(spec) {
    if (spec.affine) {
      weight_ = add_parameter(
          "weight", spec.zero_init ? at::zeros({spec.channels}) : at::ones({spec.channels}));
      bias_ = add_parameter("bias", at::zeros({spec.channels}));
    }
    mean_ = add_buffer("running_mean", at::zeros({spec.channels}));
    variance_ = add_buffer("running_var", at::ones({spec.channels}));
    count_ = add_buffer("num_batches_tracked", at::zeros({}, at::kLong));
  }

  NormalizationSpec spec_;
  // [channels] float32; weight and bias undefined where spec_.affine is false.
  at::Tensor weight_, bias_, mean_, variance_;
  // Scalar int64: batches seen in training.
  at::Tensor count_;
};

}  // namespace v1
}  // namespace gh
