// Images in directories: what is found, and what was passed over on the way.
#pragma once

#include "gh/dataset.hpp"

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace image_files {

// Names in one directory, sorted; hidden ones are left out.
struct Directory {
  std::vector<std::string> directories;  // real ones
  std::vector<std::string> links;        // to directories
  std::vector<std::string> images;
};

// Paths are relative to root. Links are followed, but no directory is entered twice in the life of
// a walk, so that one which leads back to where it came from multiplies nothing.
class FolderWalk {
 public:
  // Endings are lower case, without the dot.
  FolderWalk(std::string root, std::vector<std::string> extensions);

  Directory list(const std::string& path);
  // The directories in `path`, sorted, without links to what is entered or around it. All of them
  // count as entered from now on.
  std::vector<std::string> enter_each(const std::string& path, const Directory& found);
  // Sorted paths of the images at any depth below `path`, which was entered.
  std::vector<std::string> images_below(const std::string& path);

  // What was left out of `split`, of which `kept` images were taken.
  void tell(std::string_view split, int64_t kept, gh::Notices& notices) const;

 private:
  bool is_image(std::string_view name) const;
  bool enter(const std::string& path);
  void visit(const std::string& path, std::vector<std::string>& images,
             std::vector<std::string>& links);

  std::string root_;
  std::vector<std::string> extensions_;
  std::set<std::pair<dev_t, ino_t>> entered_;
  std::map<std::string, int64_t> endings_;  // of files that are no images by their names
  int64_t hidden_ = 0;
  std::vector<std::string> not_followed_;
};

// "'a', 'b', 'c' and 4 more"
std::string some_of(const std::vector<std::string>& names);

// Of a file's name, in lower case and without the dot; "" where it has none.
std::string ending_of(std::string_view name);

}  // namespace image_files
