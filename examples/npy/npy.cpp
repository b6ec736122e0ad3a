// Feature vectors in NumPy's .npy files: float32 [N, D], with labels int64 [N] or without.
#include "gh/component.hpp"
#include "gh/digest.hpp"
#include "gh/regular_file.hpp"

#include <ATen/ops/empty.h>

#include <cstring>
#include <regex>
#include <string>

namespace {

// An array in C order as a tensor; `pattern` is what its header must say, with the sizes as groups.
template <class T>
at::Tensor read_npy(const std::string& path, const char* pattern, gh::Digest& digest) {
  const std::string file = gh::read_regular_file(path);
  digest.add(file);
  const std::size_t start = file.starts_with("\x93NUMPY\x01") ? 10 : 12, end = file.find('\n');
  std::smatch sizes;
  const std::string header = end == file.npos || end < start ? "" : file.substr(start, end - start);
  gh::require(
      file.starts_with("\x93NUMPY") && std::regex_search(header, sizes, std::regex(pattern)),
      gh::ErrorCode::io, path, ": expected a .npy file with ", pattern, ", found ", header);
  std::vector<int64_t> shape;
  std::size_t bytes = sizeof(T);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    shape.push_back(std::stoll(sizes[i]));
    bytes *= static_cast<std::size_t>(shape.back());
  }
  gh::require(bytes > 0 && file.size() - end - 1 == bytes, gh::ErrorCode::io, path, ": expected ",
              bytes, " bytes after the header, found ", file.size() - end - 1);
  at::Tensor out = at::empty(shape, c10::CppTypeToScalarType<T>::value);
  std::memcpy(out.mutable_data_ptr<T>(), file.data() + end + 1, bytes);
  return out;
}

class Vectors final : public gh::Split {
 public:
  Vectors(const std::string& features, const std::string& labels) {
    gh::Digest digest;
    x_ = read_npy<float>(features, "'<f4'.*False.*\\((\\d{1,9}), (\\d{1,9})\\)", digest);
    if (!labels.empty())
      targets_ = read_npy<int64_t>(labels, "'<i8'.*False.*\\((\\d{1,9}),\\)", digest);
    gh::require(labels.empty() || targets_.size(0) == x_.size(0), gh::ErrorCode::shape, labels,
                ": expected ", x_.size(0), " labels");
    fingerprint_ = digest.hex();
  }
  int64_t size() const override { return x_.size(0); }
  gh::TargetKind target_kind() const override {
    return targets_.defined() ? gh::TargetKind::classes : gh::TargetKind::none;
  }
  at::Tensor targets() const override { return targets_; }
  std::vector<int64_t> sample_shape() const override { return {x_.size(1)}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    const std::size_t width = static_cast<std::size_t>(x_.size(1));
    sink.vector({x_.const_data_ptr<float>() + static_cast<std::size_t>(index) * width, width});
  }
  std::string fingerprint() const override { return fingerprint_; }

 private:
  at::Tensor x_, targets_;
  std::string fingerprint_;
};

class Npy final : public gh::Dataset {
 public:
  explicit Npy(const gh::Params& params) : params_(params) {}
  std::vector<std::string> splits() const override {
    return params_.has("test") ? std::vector<std::string>{"train", "test"}
                               : std::vector<std::string>{"train"};
  }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t) const override {
    const auto file = [&](const std::string& key) {
      return params_.has(key) ? std::string(params_.text(key)) : std::string();
    };
    const std::string name(split);
    gh::require(!file(name).empty(), gh::ErrorCode::missing_data, "set data.", name);
    return std::make_unique<Vectors>(file(name), file(name + "_labels"));
  }

 private:
  const gh::Params& params_;
};

constexpr gh::Param kParams[] = {
    gh::path("train", nullptr, "features of the training split: float32 [N, D]"),
    gh::path("train_labels", nullptr, "their classes: int64 [N]").optional(),
    gh::path("test", nullptr, "features of the test split").optional(),
    gh::path("test_labels", nullptr, "their classes").optional(),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Npy>("npy_vectors", "feature vectors in NumPy files", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors", .doc = "Vectors of .npy")
