#include "support/places.hpp"

#include <cstdlib>

namespace gh::test {

std::filesystem::path source_dir() { return GH_SOURCE_DIR; }
std::filesystem::path build_dir() { return GH_BUILD_DIR; }
std::filesystem::path zoo_dir() { return build_dir() / "tests/zoo/plugins"; }

std::filesystem::path data_dir() {
  const char* given = std::getenv("GH_DATA");
  return given ? given : source_dir() / "../shared/data";
}

}  // namespace gh::test
