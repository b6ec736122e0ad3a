#include "path_list.hpp"

#include "gh/error.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace image_files {
namespace {

namespace fs = std::filesystem;

// What lies in a directory, without subdirectories; nothing where it does not exist.
std::unordered_set<std::string> files_in(const std::string& directory) {
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  std::unordered_set<std::string> names;
  const std::unique_ptr<DIR, Close> open(::opendir(directory.c_str()));
  const bool absent = !open && (errno == ENOENT || errno == ENOTDIR);
  if (absent) return names;
  gh::require(open != nullptr, gh::ErrorCode::io, directory,
              " cannot be listed: ", std::strerror(errno));
  while (const dirent* entry = ::readdir(open.get()))
    if (entry->d_type != DT_DIR) names.insert(entry->d_name);
  return names;
}

bool is_there(const fs::path& path) {
  std::error_code no;
  return fs::exists(path, no);
}

// Why a file that a list names may not be there.
std::string likely_reason(const std::string& root, std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return "";
  const fs::path first = fs::path(root) / path.substr(0, slash);
  if (!is_there(first)) return "; there is no " + first.string() + ": is root the right directory?";
  const fs::path flat = first / path.substr(path.rfind('/') + 1);
  if (path.rfind('/') != slash && is_there(flat))
    return "; " + flat.string() +
           " exists: the images have to be sorted into class directories, as those of "
           "ImageNet's val";
  return "";
}

}  // namespace

bool stays_below_root(std::string_view path) {
  if (path.starts_with('/')) return false;
  if (path.find("..") == path.npos) return true;
  int depth = 0;
  for (const fs::path& part : fs::path(path)) {
    depth += part == ".." ? -1 : part == "." ? 0 : 1;
    if (depth < 0) return false;
  }
  return true;
}

void require_root(const std::string& root) {
  std::error_code problem;
  const fs::file_status status = fs::status(root, problem);
  gh::require(status.type() != fs::file_type::not_found, gh::ErrorCode::missing_data, "root ", root,
              " does not exist; set root to the directory that holds the images");
  gh::require(status.type() != fs::file_type::none, gh::ErrorCode::io, "root ", root,
              " cannot be read: ", problem.message());
  gh::require(fs::is_directory(status), gh::ErrorCode::invalid_param, "root ", root,
              " is not a directory; expected the directory that holds the images");
}

std::string absent_files(const std::string& root, const PathList& paths, const std::string& table) {
  std::unordered_map<std::string_view, std::vector<int64_t>> by_directory;
  for (int64_t i = 0; i < paths.size(); ++i)
    by_directory[paths[i].substr(0, paths[i].rfind('/') + 1)].push_back(i);
  int64_t absent = 0, first = paths.size();
  for (const auto& [directory, indices] : by_directory) {
    const auto names = files_in(root + "/" + std::string(directory));
    for (const int64_t i : indices) {
      if (names.contains(std::string(paths[i].substr(directory.size())))) continue;
      ++absent;
      first = std::min(first, i);
    }
  }
  if (absent == 0) return "";
  return std::to_string(absent) + " of " + std::to_string(paths.size()) + " files of " + table +
         " are not under root " + root + "; the first: " + std::string(paths[first]) +
         likely_reason(root, paths[first]);
}

}  // namespace image_files
