// Four Gaussian classes at (±1, ±1): the paper's toy. Balanced; the recipe's longtail thins the
// training split.
#include "gh/component.hpp"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::array<std::array<double, 2>, 4> kCentres = {{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}};

class Points final : public gh::Split {
 public:
  Points(int64_t per_class, double spread, gh::Random random)
      : targets_(at::empty({4 * per_class}, at::kLong)), values_(8 * per_class) {
    int64_t* label = targets_.data_ptr<int64_t>();
    for (int64_t i = 0; i < 4 * per_class; ++i) {
      label[i] = i / per_class;
      for (int64_t d = 0; d < 2; ++d)
        values_[2 * i + d] = static_cast<float>(kCentres[label[i]][d] + spread * random.normal());
    }
  }

  int64_t size() const override { return targets_.size(0); }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return targets_; }
  std::vector<std::string> class_names() const override {
    return {"upper right", "upper left", "lower left", "lower right"};
  }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    sink.vector({values_.data() + 2 * index, 2});
  }
  std::string fingerprint() const override {
    const std::string_view bytes(reinterpret_cast<const char*>(values_.data()),
                                 values_.size() * sizeof(float));
    return "toy2d-" + std::to_string(gh::stream_key(0, bytes));
  }

 private:
  at::Tensor targets_;
  std::vector<float> values_;
};

class Toy2d final : public gh::Dataset {
 public:
  explicit Toy2d(const gh::Params& params)
      : per_class_(params.integer("per_class")), spread_(params.real("spread")) {}

  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override {
    gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
                "toy2d has the splits train and test, not '", split, "'");
    return std::make_unique<Points>(per_class_, spread_, gh::Random(gh::stream_key(seed, split)));
  }

 private:
  int64_t per_class_;
  double spread_;
};

constexpr gh::Param kParams[] = {
    gh::integer("per_class", "500", "samples of each class before thinning")
        .at_least(1)
        .at_most(10000000),
    gh::real("spread", "0.35", "standard deviation of a class").at_least(0),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Toy2d>("toy2d", "four Gaussian classes at (±1, ±1)", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The two-dimensional toy of the paper's first figure; nothing to download")
