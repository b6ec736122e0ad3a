// Where this build's source and products lie. Only places.cpp is compiled with the paths, so that
// two clones share what a compiler cache holds of their tests.
#pragma once

#include <filesystem>

namespace gh::test {

std::filesystem::path source_dir();
std::filesystem::path build_dir();
std::filesystem::path zoo_dir();  // broken plugins

// Real data that is never committed: GH_DATA, else ../shared/data beside the clone.
std::filesystem::path data_dir();

}  // namespace gh::test
