// What the zoo's tests share: where the animals are, and a directory to doctor copies in.
#pragma once

#include "plugins/registry.hpp"
#include "support/places.hpp"
#include "support/temporary_directory.hpp"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace zoo {

namespace fs = std::filesystem;
using gh::host::PluginErrorCode;

inline fs::path animal(const std::string& name) {
  return gh::test::zoo_dir() / ("zoo_" + name + ".so");
}

// A directory of its own, gone afterwards.
class Enclosure : public gh::test::TemporaryDirectory {
 public:
  fs::path copy(const fs::path& from, const std::string& name) const {
    fs::copy_file(from, path() / name, fs::copy_options::overwrite_existing);
    return path() / name;
  }
};

inline std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Refused with `code` and a message that names file, expectation and finding; nothing of it stays,
// and a good plugin loads after.
inline std::string require_refused(const fs::path& file, PluginErrorCode code,
                                   gh::host::LoadOptions options = {}) {
  gh::host::Registry registry({}, options);
  const auto error = registry.load(file);
  INFO(file);
  REQUIRE(error);
  INFO(error->message);
  CHECK(name_of(error->code) == name_of(code));
  CHECK(error->file == file);
  CHECK_THAT(error->message, Catch::Contains(file.string()) && Catch::Contains("expected ") &&
                                 Catch::Contains(", found "));
  CHECK(registry.loaded().empty());
  const auto good = registry.load(animal("good"));
  INFO((good ? good->message : std::string("good")));
  CHECK(!good);
  CHECK(registry.loaded().size() == 1);
  return error->message;
}

}  // namespace zoo
