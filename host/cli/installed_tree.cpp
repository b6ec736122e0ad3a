#include "cli/installed_tree.hpp"

namespace gh::host {

namespace fs = std::filesystem;

fs::path program_prefix() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

fs::path shared_directory(const char* name) { return program_prefix() / "share" / "ghhost" / name; }

fs::path sdk_cmake_directory() {
  const fs::path directory = program_prefix() / GH_INSTALL_LIBDIR / "cmake" / "ghsdk";
  return fs::exists(directory / "ghsdkConfig.cmake") ? directory : fs::path();
}

}  // namespace gh::host
