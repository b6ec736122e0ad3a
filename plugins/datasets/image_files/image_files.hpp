// The data sets of this plugin; their parameters are in image_files.cpp, what they mean in the
// README. Nothing is read before splits() or open().
#pragma once

#include "file_split.hpp"
#include "folder_walk.hpp"
#include "path_list.hpp"

#include "gh/dataset.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace image_files {

// A data set that tells what it passed over; without anybody to tell it to, what is missing is an
// error.
class SpokenDataset : public gh::Dataset, public gh::SpeakingDataset {
 public:
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const final {
    struct Unheard final : gh::Notices {
      void say(gh::Severity, std::string_view) override {}
    } unheard;
    return open(split, seed, unheard);
  }
  using gh::SpeakingDataset::open;
  void* query(const char* interface_id) override {
    return std::string_view(interface_id) == gh::SpeakingDataset::kId
               ? static_cast<gh::SpeakingDataset*>(this)
               : nullptr;
  }
};

// root/<split>/<class>/*.
class ImageFolder final : public SpokenDataset {
 public:
  explicit ImageFolder(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed,
                                  gh::Notices& notices) const override;

 private:
  std::string test_directory() const;
  std::vector<std::string> classes_in(const std::string& split, FolderWalk& walk) const;
  [[noreturn]] void explain_missing(const std::string& directory) const;
  std::string layout(const std::string& directory) const;

  std::string root_;
  std::vector<std::string> extensions_;  // lower case, without the dot
  std::string train_;
  std::string test_;  // empty: test or val
  Coverage coverage_;
};

// Lists of "relative/path label".
class ImageList final : public SpokenDataset {
 public:
  explicit ImageList(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed,
                                  gh::Notices& notices) const override;

 private:
  struct NamedList {
    std::string split;
    std::string file;
  };
  std::string root_;
  std::vector<NamedList> lists_;  // train first
  std::string classes_;           // empty: none given
  Coverage coverage_;
};

// A table with a real target for each image.
class ImageTable final : public SpokenDataset {
 public:
  explicit ImageTable(const gh::Params& params);
  std::vector<std::string> splits() const override;
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed,
                                  gh::Notices& notices) const override;

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
  Coverage coverage_;
  mutable std::once_flag read_;
  mutable Rows rows_;
};

}  // namespace image_files
