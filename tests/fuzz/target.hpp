// What the fuzz targets share. Each defines LLVMFuzzerTestOneInput() and aborts when its reader
// does anything with the bytes but read them or refuse them properly.
#pragma once

#include "support/numbers.hpp"
#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace gh::test {

// Inputs besides the kept corpus; a target that has none leaves it out.
std::vector<Bytes> made_inputs();

// A directory in memory where there is one: every input becomes a file.
class Scratch {
 public:
  Scratch() {
    if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
    directory_.emplace();
  }
  const std::filesystem::path& path() const { return directory_->path(); }

  std::filesystem::path file(const char* name, const uint8_t* data, std::size_t size) const {
    const std::filesystem::path path = directory_->path() / name;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!out.flush()) std::abort();
    return path;
  }

 private:
  std::optional<TemporaryDirectory> directory_;
};

// True when `read` came back; false when it refused with a gh::Error that says why. Everything
// else, exceptions of other libraries included, ends the program.
template <class Read>
bool is_read(const Read& read) {
  try {
    read();
    return true;
  } catch (const gh::Error& error) {
    if (std::strlen(error.what()) == 0 || error.code() == ErrorCode::internal) std::abort();
    return false;
  }
}

}  // namespace gh::test
