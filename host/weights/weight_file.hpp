// Weights that others trained, from the files they are handed around in.
#pragma once

#include "weights/safetensors.hpp"

#include <filesystem>

namespace gh::host {

// Reads .safetensors files and what torch.save writes (.pth, .pt, .bin) since PyTorch 1.6; the
// content decides which, not the name. Of a torch.save file, tensors and parameters of the
// dictionary of weights are taken, whatever else it holds is passed over, and nothing in it is ever
// executed. The dictionary is the file itself or lies under state_dict, model_state_dict, model,
// teacher, student, net or network (the first of these that holds tensors), or is the only
// dictionary with tensors; metadata["inside"] names the way there ("state_dict", "model.net").
//
// Tensors are on the CPU, of the dtypes that write_safetensors takes, and may have strides and
// share memory with each other.
//
// Throws gh::Error: missing_data without the file; io when it is truncated or damaged; unsupported
// for old PyTorch files, whole models, TorchScript programs, files without weights and other
// dtypes, with what to do.
TensorFile read_weights(const std::filesystem::path& file);

}  // namespace gh::host
