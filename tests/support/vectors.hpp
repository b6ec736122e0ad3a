// Parity vectors: GH_VECTORS, else tests/vectors, else ../shared/vectors. All shapes and parameters
// come from the files.
#pragma once

#include "run/safetensors.hpp"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

namespace gh::test {

inline std::optional<host::TensorFile> find_vector(const std::string& name) {
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("GH_VECTORS"))
    places = {given};
  else
    places = {GH_SOURCE_DIR "/tests/vectors", GH_SOURCE_DIR "/../shared/vectors"};
  for (const auto& place : places)
    if (const auto file = place / (name + ".safetensors"); std::filesystem::exists(file))
      return host::read_safetensors(file);
  std::cerr << "SKIPPED: parity vector " << name
            << " is not here; set GH_VECTORS to the directory that holds it\n";
  return std::nullopt;
}

inline double number(const host::TensorFile& file, const std::string& key) {
  return std::stod(file.metadata.at(key));
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace gh::test
