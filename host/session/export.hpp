// An encoder as a file of its own, for other programs: names and shapes as in the encoder (a
// ResNet's are torchvision's), so that Python's safetensors loads it into the same network.
#pragma once

#include "weights/safetensors.hpp"

#include "gh/module.hpp"

#include <map>
#include <string>

namespace gh::host {

// Parameters and buffers as contiguous CPU tensors of their own. The metadata are `facts` and
// "format" = "pt", which Python tools ask for. Facts a reader will look for:
//
//   ghhost.version, ghhost.backbone, ghhost.backbone.params (JSON), ghhost.method, ghhost.seed,
//   ghhost.epochs, ghhost.data.fingerprint, ghhost.data.mean, ghhost.data.std (JSON arrays; what
//   the inputs were normalised with), ghhost.recipe (TOML)
//
// Write with write_safetensors. Throws gh::Error (numeric) when a tensor is not finite.
TensorFile export_encoder(const Encoder& encoder, std::map<std::string, std::string> facts);

}  // namespace gh::host
