// A split whose samples are image files: what the three data sets of this plugin open.
#pragma once

#include "path_list.hpp"

#include "gh/dataset.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace image_files {

struct Samples {
  PathList paths;
  at::Tensor targets;  // [N] int64 (classes) or float64 (real)
  std::vector<std::string> class_names;
};

// What a fingerprint says about each sample.
enum class Listing {
  published,  // "path label\n": the digest of a clean list file is that of the file itself
  with_sizes  // "path\tlabel\tbytes\n"
};

// Whether it also says what is in them.
enum class Coverage { listing, content };
Coverage coverage_from(const gh::Params& params);

at::Tensor to_tensor(const std::vector<int64_t>& labels);
at::Tensor to_tensor(const std::vector<double>& targets);

class FileSplit final : public gh::Split, private gh::NamedSplit {
 public:
  FileSplit(std::string root, Samples samples, Listing listing, Coverage coverage);
  void tell_coverage(std::string_view split, gh::Notices& notices) const;

  int64_t size() const override { return samples_.paths.size(); }
  gh::TargetKind target_kind() const override;
  at::Tensor targets() const override { return samples_.targets; }
  std::vector<std::string> class_names() const override { return samples_.class_names; }
  std::vector<int64_t> sample_shape() const override { return {}; }
  void read(int64_t index, gh::SampleSink& sink) const override;
  std::string fingerprint() const override;
  void* query(const char* interface_id) override {
    return std::string_view(interface_id) == NamedSplit::kId ? static_cast<NamedSplit*>(this)
                                                             : nullptr;
  }

 private:
  // Relative to the root.
  std::string name(int64_t index) const override;
  std::string file(int64_t index) const;
  std::string target_text(int64_t index) const;

  std::string root_;
  Samples samples_;
  Listing listing_;
  Coverage coverage_;
  mutable std::once_flag digested_;
  mutable std::string fingerprint_;
};

}  // namespace image_files
