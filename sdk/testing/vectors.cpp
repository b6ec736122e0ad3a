#include "gh/testing/vectors.hpp"

#include "weights/safetensors.hpp"

#include "gh/error.hpp"

namespace gh::testing {

const at::Tensor& Vectors::at(const std::string& name) const {
  const auto found = tensors.find(name);
  require(found != tensors.end(), ErrorCode::missing_data, "the vectors have no tensor ", name);
  return found->second;
}

double Vectors::number(const std::string& key) const {
  const auto found = metadata.find(key);
  require(found != metadata.end(), ErrorCode::missing_data, "the vectors have no ", key);
  return std::stod(found->second);
}

Vectors read_vectors(const std::string& file) {
  host::TensorFile content = host::read_safetensors(file);
  Vectors out;
  for (auto& [name, tensor] : content.tensors) out.tensors.emplace(name, std::move(tensor));
  out.metadata = std::move(content.metadata);
  return out;
}

}  // namespace gh::testing
