// Any bytes as a zip archive: members that lie in the file, or a gh::Error.
#include "fuzz/target.hpp"
#include "fuzz/zip_checksums.hpp"
#include "weights/stored_zip.hpp"

using namespace gh::host;
using namespace gh::test;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  const Bytes original(data, data + size), right = with_right_checksums(original);
  for (const Bytes* bytes : {&original, &right}) {
    const auto file = scratch.file("input.zip", bytes->data(), bytes->size());
    is_read([&] {
      StoredZip zip(file);
      for (const char* ending : {"", "/data.pkl", "/version", "/0"}) {
        const std::string name = zip.name_ending_with(ending);
        if (!zip.has(name)) continue;
        is_read([&] {
          if (zip.text(name).size() > size) std::abort();
        });
      }
    });
  }
  return 0;
}
