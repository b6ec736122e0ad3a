// Parity vectors: GH_VECTORS, else tests/vectors, else ../shared/vectors. All shapes and parameters
// come from the files.
#pragma once

#include "support/places.hpp"
#include "weights/safetensors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gh::test {

inline std::optional<host::TensorFile> find_vector(const std::string& name) {
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("GH_VECTORS")) {
    if (!std::filesystem::is_directory(given))
      throw std::runtime_error("GH_VECTORS is not a directory: " + std::string(given));
    places = {given};
  } else {
    places = {source_dir() / "tests/vectors", source_dir() / "../shared/vectors"};
  }
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

// The numbers of a sentence such as "min 0.1, max 1.0, t_max 200" or "[0.07, 0.1]", in order.
inline std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> out;
  for (const char* at = text.c_str(); *at;) {
    const bool word = at != text.c_str() && (std::isalnum(at[-1]) || at[-1] == '_');
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (!word && end != at && !std::isalpha(*at)) out.push_back(value);
    at = !word && end != at ? end : at + 1;
  }
  return out;
}

// What follows `prefix` in the names of tensors that start with it.
inline std::vector<std::string> endings(const host::TensorFile& file, const std::string& prefix) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : file.tensors)
    if (name.starts_with(prefix)) out.push_back(name.substr(prefix.size()));
  return out;
}

// Names of the pictures of a file: img0, img1, …
inline std::vector<std::string> pictures(const host::TensorFile& file) {
  std::vector<std::string> out;
  for (const std::string& ending : endings(file, "img"))
    if (std::all_of(ending.begin(), ending.end(), [](unsigned char c) { return std::isdigit(c); }))
      out.push_back("img" + ending);
  return out;
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace gh::test
