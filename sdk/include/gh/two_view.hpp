// Base for methods of two views through one encoder and projector. A new method overrides losses():
//
//   class Simclr : public gh::TwoViewMethod {
//     using TwoViewMethod::TwoViewMethod;
//     at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override { … }   // [B]
//   };
//
// and splices GH_PROJECTOR_PARAMS into its parameters. Methods with predictors, twins or queues
// build on gh/parts directly. Compiled into the plugin, so it may change between minors.
#pragma once

#include "gh/parts/head_params.hpp"
#include "gh/parts/two_views.hpp"
#include "gh/ssl.hpp"
#include "gh/tensor.hpp"

#include <string_view>

namespace gh {
inline namespace v1 {

// Splice into a method's own parameters: {GH_PROJECTOR_PARAMS, gh::real("temperature", …)}.
#define GH_PROJECTOR_PARAMS                                                                     \
  gh::parts::projector_param(                                                                   \
      "head between backbone and loss: linear, BN, ReLU, linear without bias, BN; or nothing"), \
      gh::parts::width_param("embedding", "128",                                                \
                             "width of the projector's output; unused with projector = \"none\"")

// And the temperature, for methods whose loss is NT-Xent.
#define GH_NT_XENT_PARAMS \
  gh::real("temperature", "0.2", "softmax temperature of NT-Xent").above(0), GH_PROJECTOR_PARAMS

// The head that they name: that of the published GH code.
inline parts::HeadSpec projector_of(const Params& params) {
  if (params.text("projector") == "none") return {};
  return {.widths = {0, params.integer("embedding")},
          .last_bias = false,
          .last_norm = parts::LastNorm::affine};
}

class TwoViewMethod : public parts::TwoViews {
 public:
  explicit TwoViewMethod(const Params& params) : TwoViews(projector_of(params)) {}

  // Loss of each sample, [B]; z1 and z2 are [B, width], not normalised, or what GH makes of them.
  virtual at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) = 0;

  at::Tensor loss(const Batch&, Step& step, const at::Tensor& z1, const at::Tensor& z2) override {
    return losses(step.project(z1), step.project(z2)).mean();
  }
  void* query(const char* interface_id) override {
    return std::string_view(interface_id) == kProjects ? this : SslMethod::query(interface_id);
  }
};

}  // namespace v1
}  // namespace gh
