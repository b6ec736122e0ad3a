// @NAME@: Gaussian blobs around a circle, generated.
//
// Where to change what:
//   Blobs      one split: size, targets, shape and samples; called from many threads at once, so
//              that its functions are const and keep no caches
//   read()     hands one sample over: sink.vector(values), sink.pixels(values, height, width,
//              channels) or sink.encoded(bytes of a JPEG or PNG file, name)
//   open()     opens files; throws ErrorCode::missing_data, which says where to get them
//   kParams    what a recipe may set under [data]; for files gh::path("root", nullptr, "…")
//
// Decoding, thinning to a long tail, augmentation and batching are the host's.
#include "gh/component.hpp"

#include <ATen/ops/arange.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace {

class Blobs final : public gh::Split {
 public:
  Blobs(int64_t classes, int64_t per_class, double spread, gh::Random random)
      : targets_(at::arange(classes * per_class, at::kLong).floor_divide(per_class)) {
    for (int64_t i = 0; i < classes * per_class; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i / per_class) / classes;
      values_.push_back(static_cast<float>(std::cos(angle) + spread * random.normal()));
      values_.push_back(static_cast<float>(std::sin(angle) + spread * random.normal()));
    }
  }
  int64_t size() const override { return targets_.size(0); }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return targets_; }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    sink.vector({&values_[2 * index], 2});
  }
  std::string fingerprint() const override {
    const std::string_view bytes(reinterpret_cast<const char*>(values_.data()),
                                 values_.size() * sizeof(float));
    return "@NAME@-" + std::to_string(gh::stream_key(0, bytes));
  }

 private:
  at::Tensor targets_;
  std::vector<float> values_;  // x and y in turn
};

class @CLASS@ final : public gh::Dataset {
 public:
  explicit @CLASS@(const gh::Params& params)
      : classes_(params.integer("classes")),
        per_class_(params.integer("per_class")),
        spread_(params.real("spread")) {}

  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override {
    gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
                "@NAME@ has the splits train and test, not '", split, "'");
    return std::make_unique<Blobs>(classes_, per_class_, spread_,
                                   gh::Random(gh::stream_key(seed, split)));
  }

 private:
  int64_t classes_;
  int64_t per_class_;
  double spread_;
};

constexpr gh::Param kParams[] = {
    gh::integer("classes", "4", "number of blobs").at_least(2).at_most(10000),
    gh::integer("per_class", "300", "samples of each class before thinning")
        .at_least(1)
        .at_most(1000000),
    gh::real("spread", "0.25", "standard deviation of a blob").at_least(0),
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "Gaussian blobs around a circle", kParams)
        .on_threads(GH_THREADS_ANY),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
