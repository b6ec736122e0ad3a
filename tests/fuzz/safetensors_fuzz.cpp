// Any bytes as a safetensors file: tensors that lie in the file, or a gh::Error.
#include "fuzz/target.hpp"
#include "weights/safetensors.hpp"

using namespace gh::host;
using namespace gh::test;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  TensorFile content;
  const auto file = scratch.file("input.safetensors", data, size);
  if (!is_read([&] { content = read_safetensors(file); })) return 0;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : content.tensors) bytes += tensor.nbytes();
  if (bytes > size) std::abort();
  // What was read can be written, and is the same then.
  const auto copy = scratch.path() / "copy.safetensors";
  write_safetensors(copy, content);
  const TensorFile again = read_safetensors(copy);
  if (again.metadata != content.metadata) std::abort();
  if (again.tensors.size() != content.tensors.size()) std::abort();
  for (std::size_t i = 0; i < again.tensors.size(); ++i) {
    const auto& [name, tensor] = content.tensors[i];
    const auto& [other_name, other] = again.tensors[i];
    if (name != other_name || tensor.sizes() != other.sizes()) std::abort();
    if (tensor.nbytes() == 0) continue;  // no data, no pointer
    if (std::memcmp(tensor.data_ptr(), other.data_ptr(), tensor.nbytes()) != 0) std::abort();
  }
  return 0;
}
