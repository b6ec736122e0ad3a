// Paths relative to the root of a data set, kept as one run of characters and where each ends:
// a million files cost about their characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace image_files {

class PathList {
 public:
  void add(std::string_view path) {
    characters_ += path;
    ends_.push_back(characters_.size());
  }
  void shrink_to_fit() {
    characters_.shrink_to_fit();
    ends_.shrink_to_fit();
  }
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  // Valid until the next add().
  std::string_view operator[](int64_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[static_cast<std::size_t>(index) - 1];
    return std::string_view(characters_)
        .substr(begin, ends_[static_cast<std::size_t>(index)] - begin);
  }

 private:
  std::string characters_;
  std::vector<std::size_t> ends_;
};

// Whether the path is relative and never climbs above where it starts.
bool stays_below_root(std::string_view path);

// Throws invalid_param, missing_data or io unless `root` is a directory.
void require_root(const std::string& root);

// The number of files that are not there, the first of them and a guess at the reason; "" when all
// are. Lists each directory once, which is cheaper than asking for each file. `table` names the
// file the paths were read from.
std::string absent_files(const std::string& root, const PathList& paths, const std::string& table);

}  // namespace image_files
