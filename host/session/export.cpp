#include "session/export.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>

#include <utility>

namespace gh::host {

TensorFile export_encoder(const Encoder& encoder, std::map<std::string, std::string> facts) {
  at::NoGradGuard no_grad;
  TensorFile out;
  out.metadata = std::move(facts);
  out.metadata["format"] = "pt";
  for (const auto& list : {encoder.parameters(), encoder.buffers()})
    for (const NamedTensor& own : list) {
      const at::Tensor value = own.tensor.detach().to(at::kCPU).contiguous().clone();
      require(!value.is_floating_point() || at::isfinite(value).all().item<bool>(),
              ErrorCode::numeric, own.name, " is not finite; this encoder is of no use to anyone");
      out.tensors.emplace_back(own.name, value);
    }
  return out;
}

}  // namespace gh::host
