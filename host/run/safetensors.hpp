// The safetensors format: eight bytes of header length, a JSON header, raw little-endian tensors.
// Read by Python's safetensors and everything built on it.
#pragma once

#include "gh/tensor.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

struct TensorFile {
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // in file order
  std::map<std::string, std::string> metadata;

  // Throws gh::Error (missing_data) when absent.
  const at::Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const;
};

// Any dtype of bool, uint8, int8–int64, float16, bfloat16, float32, float64; any device and stride.
// Atomic.
void write_safetensors(const std::filesystem::path& file, const TensorFile& content);

// Throws gh::Error: missing_data without the file, io when it is damaged, with what is wrong.
TensorFile read_safetensors(const std::filesystem::path& file);

}  // namespace gh::host
