// The library as it was read and hashed, in memory that nobody can change. What the dynamic linker
// loads is this image and not the file, so that whoever replaces or overwrites the file meanwhile
// changes nothing: neither what runs nor what is recorded.
#pragma once

#include "plugins/file_checks.hpp"

#include <filesystem>
#include <string>

namespace gh::host {

// A name under which the dynamic linker finds the image, for the life of the process; the same for
// the same bytes, so that a library asked for twice is loaded once. Children inherit it. Throws
// PluginRefused load_failed where the system gives no such memory. Main thread.
//
// Under a debugger, which finds symbols by the library's name, it is the file: who traces a process
// controls it anyway.
std::filesystem::path library_image(const FileContent& content);

}  // namespace gh::host
