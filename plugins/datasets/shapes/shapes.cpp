// Pictures of shapes, drawn when they are read: the way of an image from disk to network without a
// download.
#include "drawing.hpp"
#include "outlines.hpp"

#include "gh/component.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using shapes::kNames;

constexpr int64_t kShapes = static_cast<int64_t>(kNames.size());
constexpr int64_t kMostClasses = 2 * kShapes;  // solid, then outlined

// All pictures of a split, those of a class one after the other.
class Drawings : public gh::Split {
 public:
  Drawings(int64_t classes, int64_t per_class, int64_t side, std::string_view split, uint64_t seed)
      : per_class_(per_class),
        side_(side),
        key_(gh::stream_key(seed, split)),
        fingerprint_("shapes-" + std::to_string(shapes::kDrawingVersion) +
                     ":classes=" + std::to_string(classes) +
                     ",per_class=" + std::to_string(per_class) + ",size=" + std::to_string(side) +
                     ",split=" + std::string(split) + ",seed=" + std::to_string(seed)),
        targets_(at::empty({classes * per_class}, at::kLong)) {
    int64_t* label = targets_.data_ptr<int64_t>();
    for (int64_t c = 0; c < classes; ++c) label = std::fill_n(label, per_class, c);
  }

  int64_t size() const override { return targets_.size(0); }
  gh::TargetKind target_kind() const override { return gh::TargetKind::classes; }
  at::Tensor targets() const override { return targets_; }
  std::vector<std::string> class_names() const override {
    std::vector<std::string> names;
    for (int64_t c = 0; c < size() / per_class_; ++c)
      names.push_back((c < kShapes ? "" : "outlined ") +
                      std::string(kNames[static_cast<std::size_t>(c % kShapes)]));
    return names;
  }
  std::vector<int64_t> sample_shape() const override { return {3, side_, side_}; }

  void read(int64_t index, gh::SampleSink& sink) const override {
    const int64_t label = index / per_class_;
    std::vector<uint8_t> pixels(static_cast<std::size_t>(3 * side_ * side_));
    shapes::draw(static_cast<std::size_t>(label % kShapes),
                 label < kShapes ? shapes::Fill::solid : shapes::Fill::outlined, random_of(index),
                 side_, pixels);
    sink.pixels(pixels, side_, side_, 3);
  }

  std::string fingerprint() const override { return fingerprint_; }

 protected:
  // Numbered such that a sample stays the same when classes or samples are added.
  gh::Random random_of(int64_t index) const {
    const int64_t label = index / per_class_, which = index % per_class_;
    return gh::Random(key_, static_cast<uint64_t>(which * kMostClasses + label));
  }

 private:
  int64_t per_class_;
  int64_t side_;
  uint64_t key_;
  std::string fingerprint_;
  at::Tensor targets_;
};

// Those pictures again, with the radius of the shape in percent of the picture as target: a
// regression. For training, large shapes are left out until there are kRadiusRatio times as many of
// the smallest.
constexpr double kRadiusRatio = 20;

class Radii final : public Drawings {
 public:
  Radii(int64_t classes, int64_t per_class, int64_t side, std::string_view split, uint64_t seed)
      : Drawings(classes, per_class, side, split, seed) {
    std::vector<double> radii;
    for (int64_t i = 0; i < Drawings::size(); ++i) {
      const double radius = shapes::radius_of(random_of(i));
      const double share =
          (radius - shapes::kSmallestRadius) / (shapes::kLargestRadius - shapes::kSmallestRadius);
      if (split == "train" && random_of(i).fork("kept").uniform() >= std::pow(kRadiusRatio, -share))
        continue;
      kept_.push_back(i);
      radii.push_back(100 * radius);
    }
    radii_ = at::tensor(radii, at::kDouble);
  }

  int64_t size() const override { return radii_.size(0); }
  gh::TargetKind target_kind() const override { return gh::TargetKind::real; }
  at::Tensor targets() const override { return radii_; }
  std::vector<std::string> class_names() const override { return {}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    Drawings::read(kept_[static_cast<std::size_t>(index)], sink);
  }
  std::string fingerprint() const override { return Drawings::fingerprint() + ",targets=radius"; }

 private:
  std::vector<int64_t> kept_;  // in the order of Drawings
  at::Tensor radii_;
};

class Shapes final : public gh::Dataset {
 public:
  explicit Shapes(const gh::Params& params)
      : classes_(params.integer("classes")),
        per_class_(params.integer("per_class")),
        test_per_class_(params.integer("test_per_class")),
        size_(params.integer("size")),
        radii_(params.text("targets") == "radius") {}

  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed) const override {
    gh::require(split == "train" || split == "test", gh::ErrorCode::missing_data,
                "shapes has the splits train and test, not '", split, "'");
    const int64_t per_class = split == "train" ? per_class_ : test_per_class_;
    if (radii_) return std::make_unique<Radii>(classes_, per_class, size_, split, seed);
    return std::make_unique<Drawings>(classes_, per_class, size_, split, seed);
  }

 private:
  int64_t classes_;
  int64_t per_class_;
  int64_t test_per_class_;
  int64_t size_;
  bool radii_;
};

constexpr gh::Param kParams[] = {
    gh::integer("classes", "10", "12 solid shapes, then the same outlined")
        .at_least(2)
        .at_most(kMostClasses),
    gh::integer("per_class", "500", "training samples of each class before thinning")
        .at_least(1)
        .at_most(1000000),
    gh::integer("test_per_class", "100", "test samples of each class").at_least(1).at_most(1000000),
    gh::integer("size", "32", "height and width").at_least(16).at_most(256).in("pixels"),
    gh::choice("targets", "class", "class|radius",
               "radius: of the shape, in percent of the picture; large ones are rare in train"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Shapes>("shapes", "drawn shapes in 2 to 24 classes", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Pictures of shapes, drawn from the seed; nothing to download")
