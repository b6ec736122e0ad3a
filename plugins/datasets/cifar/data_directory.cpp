#include "data_directory.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view kTrain10[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                         "data_batch_4.bin", "data_batch_5.bin"};
constexpr std::string_view kTest10[] = {"test_batch.bin"};
constexpr LabelByte kLabels10[] = {{"label", 10, "batches.meta.txt"}};
constexpr std::string_view kTrain100[] = {"train.bin"};
constexpr std::string_view kTest100[] = {"test.bin"};
constexpr LabelByte kLabels100[] = {{"coarse label", 20, "coarse_label_names.txt"},
                                    {"fine label", 100, "fine_label_names.txt"}};
constexpr Variant kVariants[] = {
    {"cifar10", "CIFAR-10", "cifar-10-batches-bin", "cifar-10-binary.tar.gz", "cifar-10-batches-py",
     kTrain10, kTest10, kLabels10},
    {"cifar100", "CIFAR-100", "cifar-100-binary", "cifar-100-binary.tar.gz", "cifar-100-python",
     kTrain100, kTest100, kLabels100},
};

bool is_file(const fs::path& path) {
  std::error_code no;
  return fs::is_regular_file(path, no);
}

std::vector<DataDirectory> candidates(const fs::path& root, std::string_view wanted) {
  std::vector<DataDirectory> found;
  for (const Variant& v : kVariants) {
    if (wanted != "auto" && wanted != v.id) continue;
    for (const fs::path& place : {root, root / v.folder})
      if (is_file(place / v.train[0]) || is_file(place / v.test[0])) {
        found.push_back({place, &v});
        break;
      }
  }
  return found;
}

std::string how_to_fetch(const fs::path& root, std::string_view wanted) {
  std::string text;
  for (const Variant& v : kVariants)
    if (wanted == "auto" || wanted == v.id)
      text.append(text.empty() ? "" : "\n")
          .append(v.title)
          .append(": ")
          .append(how_to_fetch(root, v));
  return text;
}

bool is_archive(std::string_view name, std::string_view wanted) {
  const auto is_of = [&](const Variant& v) {
    const std::string_view prefix = v.archive.substr(0, v.archive.rfind('-') + 1);  // "cifar-10-"
    return (wanted == "auto" || wanted == v.id) && name.starts_with(prefix);
  };
  const auto ends = {".tar.gz"sv, ".tgz"sv, ".tar.xz"sv, ".tar"sv};
  return std::any_of(std::begin(kVariants), std::end(kVariants), is_of) &&
         std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); });
}

// The Python version is what most other tools download.
void refuse_pickles(const fs::path& root, std::string_view wanted) {
  const std::string fetch = how_to_fetch(root, wanted);
  std::vector<fs::path> places = {root};
  for (const Variant& v : kVariants) places.push_back(root / v.pickled_folder);
  for (const fs::path& place : places)
    for (const auto name : {"data_batch_1", "train", "meta", "batches.meta"})
      gh::require(!is_file(place / name), gh::ErrorCode::missing_data, (place / name).string(),
                  " belongs to the Python version of CIFAR (pickled); this plugin reads the binary "
                  "version:\n",
                  fetch);
}

void refuse_archives(const fs::path& root, std::string_view wanted) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(root, problem)) {
    const std::string name = entry.path().filename().string();
    if (!is_archive(name, wanted)) continue;
    gh::require(name.find("python") == name.npos, gh::ErrorCode::missing_data,
                entry.path().string(), " is the Python version of CIFAR (pickled); this plugin ",
                "reads the binary version:\n", how_to_fetch(root, wanted));
    gh::fail(gh::ErrorCode::missing_data, entry.path().string(),
             " is not unpacked; unpack it: tar -xf ", entry.path(), " -C ", root);
  }
  gh::require(!problem, gh::ErrorCode::io, "root ", root, " cannot be listed: ", problem.message());
}

[[noreturn]] void explain_absence(const fs::path& root, std::string_view wanted) {
  const std::string fetch = how_to_fetch(root, wanted);
  std::error_code unknown;
  gh::require(fs::exists(root, unknown), gh::ErrorCode::missing_data, "root ", root,
              " does not exist; fetch the data or change root.\n", fetch);
  if (is_file(root) && is_archive(root.filename().string(), "auto"))
    gh::fail(gh::ErrorCode::missing_data, "root ", root, " is an archive; unpack it: tar -xf ",
             root, " -C ", root.parent_path(), ", and set root = ", root.parent_path());
  gh::require(fs::is_directory(root, unknown), gh::ErrorCode::invalid_param, "root ", root,
              " is a file; expected the directory that holds the .bin files");
  refuse_pickles(root, wanted);
  refuse_archives(root, wanted);
  for (const DataDirectory& other : candidates(root, "auto"))
    gh::fail(gh::ErrorCode::missing_data, "variant = \"", wanted, "\", but ", other.path, " holds ",
             other.variant->title, "; change variant, or fetch the other.\n", fetch);
  gh::fail(gh::ErrorCode::missing_data, "root ", root,
           " holds no CIFAR files (data_batch_1.bin …, or train.bin); fetch the data or change "
           "root.\n",
           fetch);
}

}  // namespace

std::string how_to_fetch(const fs::path& root, const Variant& variant) {
  const fs::path into = root.filename() == variant.folder ? root.parent_path() : root;
  return "fetch the binary version: mkdir -p '" + into.string() +
         "' && curl -fL https://www.cs.toronto.edu/~kriz/" + std::string(variant.archive) +
         " | tar -xz -C '" + into.string() + "'";
}

DataDirectory find_data(const fs::path& root, std::string_view wanted) {
  const std::vector<DataDirectory> found = candidates(root, wanted);
  if (found.empty()) explain_absence(root, wanted);
  gh::require(found.size() == 1, gh::ErrorCode::invalid_param, root,
              " holds both CIFAR-10 and CIFAR-100; set variant to one of them");
  return found.front();
}
