// Where things of this program's tree lie: a build tree, an installed one, or the ghhost package of
// a Python environment.
#pragma once

#include <filesystem>

namespace gh::host {

// Two up from the program: below it bin, lib, share.
std::filesystem::path program_prefix();

// Of templates, recipes and pages.
std::filesystem::path shared_directory(const char* name);

// What `-Dghsdk_DIR` takes; empty in a build tree, which holds no package to find.
std::filesystem::path sdk_cmake_directory();

}  // namespace gh::host
