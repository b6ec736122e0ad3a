// CIFAR-10 and CIFAR-100 in their binary form: fixed-size records, each read where it lies.
#include "data_directory.hpp"
#include "record_file.hpp"

#include "gh/component.hpp"
#include "gh/digest.hpp"
#include "gh/regular_file.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPlane = 32 * 32;
constexpr std::size_t kPixels = 3 * kPlane;

// A record is its label bytes and then the planes R, G, B, row by row.
std::size_t record_size(const Variant& variant) { return variant.labels.size() + kPixels; }

// Calls visit(number, record) for every record of the file, many read at once.
template <class Visit>
void for_each_record(const RecordFile& file, std::size_t length, const Visit& visit) {
  constexpr std::size_t kAtOnce = 256;
  std::vector<uint8_t> bytes;
  for (std::size_t at = 0; at < file.size(); at += bytes.size()) {
    bytes.resize(std::min(kAtOnce * length, file.size() - at));
    file.read(at, bytes);
    for (std::size_t i = 0; i < bytes.size(); i += length)
      visit((at + i) / length, std::span<const uint8_t>(bytes).subspan(i, length));
  }
}

// Byte `target` of every label, once all of them are known to be possible.
std::vector<uint8_t> read_labels(const RecordFile& file, const Variant& variant,
                                 std::size_t target) {
  std::vector<uint8_t> out;
  for_each_record(file, record_size(variant), [&](std::size_t i, std::span<const uint8_t> record) {
    for (std::size_t k = 0; k < variant.labels.size(); ++k)
      if (record[k] >= variant.labels[k].classes)
        gh::fail(gh::ErrorCode::io, file.path(), ", record ", i, ": ", variant.labels[k].name, " ",
                 int{record[k]}, ", expected 0 … ", variant.labels[k].classes - 1,
                 "; the file is damaged or not ", variant.title);
    out.push_back(record[target]);
  });
  return out;
}

RecordFile open_records(const std::filesystem::path& path, const Variant& variant) {
  std::error_code unknown;
  gh::require(std::filesystem::exists(path, unknown), gh::ErrorCode::missing_data, path.string(),
              " is missing; ", how_to_fetch(path.parent_path(), variant));
  RecordFile file(path.string());
  const std::size_t size = file.size();
  gh::require(size > 0 && size % record_size(variant) == 0, gh::ErrorCode::io, file.path(), " has ",
              size, " bytes, expected a multiple of ", record_size(variant),
              ", the length of a record: it is truncated; delete it and ",
              how_to_fetch(path.parent_path(), variant));
  return file;
}

// One name a line; empty where the file is absent.
std::vector<std::string> read_names(const std::filesystem::path& path, int64_t expected) {
  std::vector<std::string> names;
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return names;
  std::istringstream lines(gh::read_regular_file(path.string()));
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
  }
  gh::require(static_cast<int64_t>(names.size()) == expected, gh::ErrorCode::io, path.string(),
              " has ", names.size(), " class names, expected ", expected);
  return names;
}

class Records final : public gh::Split {
 public:
  // `label` is which of the label bytes is the target.
  Records(std::vector<RecordFile> files, const Variant& variant, std::size_t label,
          std::vector<std::string> names)
      : files_(std::move(files)), variant_(variant), names_(std::move(names)) {
    std::vector<uint8_t> labels;
    for (const RecordFile& file : files_) {
      const std::vector<uint8_t> more = read_labels(file, variant, label);
      labels.insert(labels.end(), more.begin(), more.end());
      ends_.push_back(labels.size());
    }
    targets_ = at::empty({static_cast<int64_t>(labels.size())}, at::kLong);
    std::copy(labels.begin(), labels.end(), targets_.data_ptr<int64_t>());
  }

  int64_t size() const override { return static_cast<int64_t>(ends_.back()); }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return targets_; }
  std::vector<std::string> class_names() const override { return names_; }
  std::vector<int64_t> sample_shape() const override { return {3, 32, 32}; }

  void read(int64_t index, gh::SampleSink& sink) const override {
    const auto wanted = static_cast<std::size_t>(index);
    const auto file =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, wanted) - ends_.begin());
    const std::size_t number = wanted - (file == 0 ? 0 : ends_[file - 1]);
    std::array<uint8_t, kPixels> red, pixels;  // planes, the red one first
    files_[file].read(number * record_size(variant_) + variant_.labels.size(), red);
    for (std::size_t i = 0; i < kPlane; ++i)
      for (std::size_t c = 0; c < 3; ++c) pixels[3 * i + c] = red[c * kPlane + i];
    sink.pixels(pixels, 32, 32, 3);
  }

  std::string fingerprint() const override {
    std::call_once(digested_, [this] {
      gh::Digest digest;
      for (const RecordFile& file : files_)
        for_each_record(file, record_size(variant_),
                        [&](std::size_t, std::span<const uint8_t> record) { digest.add(record); });
      fingerprint_ = "sha256:" + digest.hex();
    });
    return fingerprint_;
  }

 private:
  std::vector<RecordFile> files_;
  const Variant& variant_;
  std::vector<std::size_t> ends_;  // of each file, in records counted over all files
  std::vector<std::string> names_;
  at::Tensor targets_;
  mutable std::once_flag digested_;
  mutable std::string fingerprint_;
};

class Cifar final : public gh::Dataset {
 public:
  explicit Cifar(const gh::Params& params)
      : root_(params.text("root")),
        variant_(params.text("variant")),
        coarse_(params.text("labels") == "coarse") {}

  static void validate(const gh::Params& params, gh::Complaints& out) {
    if (params.text("variant") == "cifar10" && params.text("labels") == "coarse")
      out.add("labels", "CIFAR-10 has no coarse labels");
  }

  std::vector<std::string> splits() const override { return {"train", "test"}; }

  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t) const override {
    gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
                "cifar has the splits train and test, not '", split, "'");
    const DataDirectory found = find_data(root_, variant_);
    const Variant& variant = *found.variant;
    gh::require(!coarse_ || variant.labels.size() == 2, gh::ErrorCode::invalid_param,
                "labels = \"coarse\" is for CIFAR-100, but ", found.path.string(), " holds ",
                variant.title);
    std::vector<RecordFile> files;
    for (const std::string_view name : split == "train" ? variant.train : variant.test)
      files.push_back(open_records(found.path / name, variant));
    // The coarse label comes first; the last one is the finest.
    const std::size_t label = coarse_ ? 0 : variant.labels.size() - 1;
    const LabelByte& target = variant.labels[label];
    return std::make_unique<Records>(std::move(files), variant, label,
                                     read_names(found.path / target.names_file, target.classes));
  }

 private:
  std::string root_;
  std::string variant_;
  bool coarse_;
};

constexpr gh::Param kParams[] = {
    gh::path("root", nullptr, "directory of the .bin files, or the one above it"),
    gh::choice("variant", "auto", "auto|cifar10|cifar100", "auto takes what is there"),
    gh::choice("labels", "fine", "fine|coarse", "coarse: the 20 superclasses of CIFAR-100"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Cifar>("cifar", "CIFAR-10 and CIFAR-100, binary version", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .url = "https://www.cs.toronto.edu/~kriz/cifar.html",
          .doc = "CIFAR-10 and CIFAR-100 from the files of their binary version")
