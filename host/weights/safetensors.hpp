// The safetensors format: eight bytes of header length, a JSON header, raw little-endian tensors.
// Read by Python's safetensors and everything built on it.
#pragma once

#include "gh/tensor.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gh::host {

// Tensors in the order they came in, each found by its name in constant time.
class NamedTensors {
 public:
  using Entry = std::pair<const std::string, at::Tensor>;

  // Throws gh::Error (io) when there is one of this name.
  void emplace_back(const std::string& name, at::Tensor tensor);
  const at::Tensor* find(const std::string& name) const;  // null: none

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  Entry& operator[](std::size_t i) { return entries_[i]; }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> places_;
};

struct TensorFile {
  NamedTensors tensors;  // in file order
  std::map<std::string, std::string> metadata;

  // Throws gh::Error (missing_data) when absent.
  const at::Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const;
};

// Any dtype of bool, uint8, int8–int64, float16, bfloat16, float32, float64; any device and stride.
// Atomic. Names must be UTF-8; in metadata, bytes that are not become U+FFFD.
void write_safetensors(const std::filesystem::path& file, const TensorFile& content);

// Whether a file that begins with `first`, nine bytes or more, says that it is of this format: no
// file that torch.save writes does.
bool begins_like_safetensors(std::string_view first);

// Tensors must fill the file without overlaps and holes, each under a name of its own, as the
// format has it. Throws gh::Error: missing_data without the file, io when it is damaged, with what
// is wrong.
TensorFile read_safetensors(const std::filesystem::path& file);

}  // namespace gh::host
