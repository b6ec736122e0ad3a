// Any bytes as a file of weights, whatever they look like: tensors that lie in their memory, or a
// gh::Error.
#include "fuzz/target.hpp"
#include "fuzz/zip_checksums.hpp"
#include "weights/weight_file.hpp"

using namespace gh::host;
using namespace gh::test;

namespace {

void check(const TensorFile& content) {
  for (const auto& [name, tensor] : content.tensors) {
    int64_t last = tensor.storage_offset();
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      if (tensor.size(d) == 0) last = -1;
      if (last < 0) break;
      last += (tensor.size(d) - 1) * tensor.stride(d);
    }
    const auto elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
    if (last >= elements && tensor.numel() > 0) std::abort();
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  const Bytes original(data, data + size), right = with_right_checksums(original);
  for (const Bytes* bytes : {&original, &right}) {
    const auto file = scratch.file("input.pth", bytes->data(), bytes->size());
    is_read([&] { check(read_weights(file)); });
  }
  return 0;
}
