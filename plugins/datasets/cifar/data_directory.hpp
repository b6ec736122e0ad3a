// Where the files of CIFAR lie below a root, and what to tell a user whose files do not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

struct LabelByte {
  std::string_view name;  // in messages
  int64_t classes;
  std::string_view names_file;  // class names, one a line
};

struct Variant {
  std::string_view id;      // as in a recipe
  std::string_view title;   // in messages
  std::string_view folder;  // what the archive unpacks to
  std::string_view archive;
  std::string_view pickled_folder;  // of the Python version
  std::span<const std::string_view> train, test;
  std::span<const LabelByte> labels;  // as they stand in a record, coarse before fine
};

struct DataDirectory {
  std::filesystem::path path;
  const Variant* variant;
};

// `wanted` is the id of a variant or "auto". Throws missing_data with what to fetch from where or
// how to unpack it, invalid_param when the choice is not clear.
DataDirectory find_data(const std::filesystem::path& root, std::string_view wanted);

// "fetch the binary version: curl … | tar …" such that its files come to lie below `root`, or in it
// if it has the name of the variant's folder.
std::string how_to_fetch(const std::filesystem::path& root, const Variant& variant);
