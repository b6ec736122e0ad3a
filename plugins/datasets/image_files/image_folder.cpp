#include "file_split.hpp"
#include "image_files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace image_files {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_directory(const std::string& path) {
  std::error_code no;
  return fs::is_directory(path, no);
}

// "'a', 'b', 'c' and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

// What lies in one directory, sorted; hidden names are left out.
struct ImageFolder::Directory {
  std::vector<std::string> directories;
  std::vector<std::string> images;
};

ImageFolder::ImageFolder(const gh::Params& params)
    : root_(params.text("root")), train_(params.text("train")), test_(params.text("test")) {
  for (const std::string_view given : params.texts("extensions"))
    extensions_.push_back(lower(given.substr(given.starts_with('.') ? 1 : 0)));
}

std::vector<std::string> ImageFolder::splits() const {
  if (test_directory().empty()) return {"train"};
  return {"train", "test"};
}

std::unique_ptr<gh::Split> ImageFolder::open(std::string_view split, uint64_t) const {
  require_root(root_);
  const std::string directory = split == "train" ? train_ : test_directory();
  gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
              "image_folder has the splits train and test, not '", split, "'");
  gh::require(!directory.empty(), gh::ErrorCode::missing_data, root_,
              " has neither a 'test' nor a 'val' directory; expected ", layout("test"));
  const std::vector<std::string> classes = classes_in(train_);
  const std::vector<std::string> present = split == "train" ? classes : classes_in(directory);

  std::vector<std::string> unknown, empty;
  std::vector<int64_t> labels;
  Samples samples;
  for (const std::string& name : present) {
    const auto known = std::lower_bound(classes.begin(), classes.end(), name);
    if (known == classes.end() || *known != name) {
      unknown.push_back(name);
      continue;
    }
    const auto images = images_below(directory + "/" + name);
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
  return std::make_unique<FileSplit>(root_, std::move(samples), Listing::with_sizes);
}

std::string ImageFolder::test_directory() const {
  if (!test_.empty()) return test_;
  for (const char* name : {"test", "val"})
    if (is_directory(root_ + "/" + name)) return name;
  return "";
}

bool ImageFolder::is_image(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  const std::string ending = lower(name.substr(dot + 1));
  return std::find(extensions_.begin(), extensions_.end(), ending) != extensions_.end();
}

ImageFolder::Directory ImageFolder::list(const std::string& path) const {
  Directory found;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(path, problem)) {
    const std::string name = entry.path().filename().string();
    std::error_code unknown;
    if (name.starts_with('.')) continue;
    if (entry.is_directory(unknown))
      found.directories.push_back(name);
    else if (is_image(name))
      found.images.push_back(name);
  }
  gh::require(!problem, gh::ErrorCode::io, path, " cannot be listed: ", problem.message());
  std::sort(found.directories.begin(), found.directories.end());
  std::sort(found.images.begin(), found.images.end());
  return found;
}

std::vector<std::string> ImageFolder::classes_in(const std::string& split) const {
  const std::string path = root_ + "/" + split;
  if (!is_directory(path)) explain_missing(split);
  Directory found = list(path);
  gh::require(found.images.empty(), gh::ErrorCode::io, path, " holds images directly (",
              some_of(found.images), "), not in class directories; expected ", layout(split));
  gh::require(!found.directories.empty(), gh::ErrorCode::missing_data, path,
              " holds no class directories; expected ", layout(split));
  return std::move(found.directories);
}

// Sorted paths relative to root.
std::vector<std::string> ImageFolder::images_below(const std::string& path) const {
  const Directory found = list(root_ + "/" + path);
  std::vector<std::string> images;
  for (const std::string& name : found.images) images.push_back(path + "/" + name);
  for (const std::string& name : found.directories)
    for (std::string& image : images_below(path + "/" + name)) images.push_back(std::move(image));
  std::sort(images.begin(), images.end());
  return images;
}

void ImageFolder::explain_missing(const std::string& directory) const {
  const Directory found = list(root_);
  std::string what = found.directories.empty() ? "no directories"
                                               : "the directories " + some_of(found.directories) +
                                                     " (name one with `train` or `test`)";
  if (!found.images.empty()) what = "images, " + some_of(found.images);
  for (const std::string& name : found.directories)
    if (!list(root_ + "/" + name).images.empty())
      what = "class directories, " + some_of(found.directories) + ", without a directory of the " +
             "split around them";
  gh::fail(gh::ErrorCode::missing_data, root_, " has no directory '", directory, "'; it holds ",
           what, "; expected ", layout(directory));
}

std::string ImageFolder::layout(const std::string& directory) const {
  return root_ + "/" + directory + "/<class>/*." +
         (extensions_.empty() ? "jpg" : extensions_.front());
}

}  // namespace image_files
