// Numbers from elsewhere: tensors and texts of a safetensors file.
#pragma once

#include "gh/tensor.hpp"

#include <map>
#include <string>

namespace gh::testing {

struct Vectors {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;

  // Throw Error (missing_data) naming what is not there.
  const at::Tensor& at(const std::string& name) const;
  double number(const std::string& key) const;  // of the metadata
};

// Throws Error: missing_data without the file, io when it is damaged.
Vectors read_vectors(const std::string& file);

}  // namespace gh::testing
