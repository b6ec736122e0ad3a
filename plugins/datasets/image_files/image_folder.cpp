#include "image_files.hpp"

#include <algorithm>
#include <filesystem>

namespace image_files {
namespace {

namespace fs = std::filesystem;

bool is_directory(const std::string& path) {
  std::error_code no;
  return fs::is_directory(path, no);
}

}  // namespace

ImageFolder::ImageFolder(const gh::Params& params)
    : root_(params.text("root")),
      train_(params.text("train")),
      test_(params.text("test")),
      coverage_(coverage_from(params)) {
  for (const std::string_view given : params.texts("extensions"))
    extensions_.push_back(ending_of(std::string(".").append(given)));
}

std::vector<std::string> ImageFolder::splits() const {
  if (test_directory().empty()) return {"train"};
  return {"train", "test"};
}

std::unique_ptr<gh::Split> ImageFolder::open(std::string_view split, uint64_t,
                                             gh::Notices& notices) const {
  require_root(root_);
  const std::string directory = split == "train" ? train_ : test_directory();
  gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
              "image_folder has the splits train and test, not '", split, "'");
  gh::require(!directory.empty(), gh::ErrorCode::missing_data, root_,
              " has neither a 'test' nor a 'val' directory; expected ", layout("test"));
  FolderWalk walk(root_, extensions_), elsewhere(root_, extensions_);
  const std::vector<std::string> present = classes_in(directory, walk);
  const std::vector<std::string> classes =
      split == "train" ? present : classes_in(train_, elsewhere);

  std::vector<std::string> unknown, empty;
  std::vector<int64_t> labels;
  Samples samples;
  for (const std::string& name : present) {
    const auto known = std::lower_bound(classes.begin(), classes.end(), name);
    if (known == classes.end() || *known != name) {
      unknown.push_back(name);
      continue;
    }
    const auto images = walk.images_below(directory + "/" + name);
    if (images.empty()) empty.push_back(name);
    for (const std::string& image : images) samples.paths.add(image);
    labels.resize(labels.size() + images.size(), known - classes.begin());
  }
  gh::require(unknown.empty(), gh::ErrorCode::io, root_, "/", directory,
              " has class directories that ", root_, "/", train_,
              " does not have: ", some_of(unknown));
  gh::require(empty.empty(), gh::ErrorCode::io, root_, "/", directory,
              " has class directories without an image (", some_of(extensions_),
              "): ", some_of(empty));
  samples.targets = to_tensor(labels);
  samples.class_names = classes;
  walk.tell(split, samples.paths.size(), notices);
  auto opened =
      std::make_unique<FileSplit>(root_, std::move(samples), Listing::with_sizes, coverage_);
  opened->tell_coverage(split, notices);
  return opened;
}

std::string ImageFolder::test_directory() const {
  if (!test_.empty()) return test_;
  for (const char* name : {"test", "val"})
    if (is_directory(root_ + "/" + name)) return name;
  return "";
}

std::vector<std::string> ImageFolder::classes_in(const std::string& split, FolderWalk& walk) const {
  const std::string path = root_ + "/" + split;
  if (!is_directory(path)) explain_missing(split);
  const Directory found = walk.list(split);
  gh::require(found.images.empty(), gh::ErrorCode::io, path, " holds images directly (",
              some_of(found.images), "), not in class directories; expected ", layout(split));
  std::vector<std::string> classes = walk.enter_each(split, found);
  gh::require(!classes.empty(), gh::ErrorCode::missing_data, path,
              " holds no class directories; expected ", layout(split));
  return classes;
}

void ImageFolder::explain_missing(const std::string& directory) const {
  FolderWalk walk(root_, extensions_);
  const Directory found = walk.list("");
  std::vector<std::string> directories = found.directories;
  directories.insert(directories.end(), found.links.begin(), found.links.end());
  std::sort(directories.begin(), directories.end());
  std::string what = directories.empty() ? "no directories"
                                         : "the directories " + some_of(directories) +
                                               " (name one with `train` or `test`)";
  if (!found.images.empty()) what = "images, " + some_of(found.images);
  for (const std::string& name : directories)
    if (!walk.list(name).images.empty())
      what = "class directories, " + some_of(directories) + ", without a directory of the " +
             "split around them";
  gh::fail(gh::ErrorCode::missing_data, root_, " has no directory '", directory, "'; it holds ",
           what, "; expected ", layout(directory));
}

std::string ImageFolder::layout(const std::string& directory) const {
  return root_ + "/" + directory + "/<class>/*." +
         (extensions_.empty() ? "jpg" : extensions_.front());
}

}  // namespace image_files
