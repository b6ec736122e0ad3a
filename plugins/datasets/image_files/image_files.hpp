// The data sets of this plugin; their parameters are in image_files.cpp, what they mean in the
// README. Nothing is read before splits() or open().
#pragma once

#include "path_list.hpp"

#include "gh/dataset.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace image_files {

// root/<split>/<class>/*.
class ImageFolder final : public gh::Dataset {
 public:
  explicit ImageFolder(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override;

 private:
  struct Directory;
  Directory list(const std::string& path) const;
  bool is_image(std::string_view name) const;
  std::string test_directory() const;
  std::vector<std::string> classes_in(const std::string& split) const;
  std::vector<std::string> images_below(const std::string& path) const;
  [[noreturn]] void explain_missing(const std::string& directory) const;
  std::string layout(const std::string& directory) const;

  std::string root_;
  std::vector<std::string> extensions_;  // lower case, without the dot
  std::string train_;
  std::string test_;  // empty: test or val
};

// Lists of "relative/path label".
class ImageList final : public gh::Dataset {
 public:
  explicit ImageList(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override;

 private:
  struct NamedList {
    std::string split;
    std::string file;
  };
  std::string root_;
  std::vector<NamedList> lists_;  // train first
  std::string classes_;           // empty: none given
};

// A table with a real target for each image.
class ImageTable final : public gh::Dataset {
 public:
  explicit ImageTable(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override;

 private:
  struct Rows {
    PathList paths;
    std::vector<double> targets;
    std::vector<std::size_t> split;  // into splits
    std::vector<std::string> splits;
  };
  const Rows& rows() const;  // read when first asked for
  Rows read_rows() const;

  std::string root_;
  std::string table_;
  std::string path_column_;
  std::string target_column_;
  std::string split_column_;
  mutable std::once_flag read_;
  mutable Rows rows_;
};

}  // namespace image_files
