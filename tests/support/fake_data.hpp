// Data sets made up for tests of the data room.
#pragma once

#include "data/sample_set.hpp"
#include "image/png_writer.hpp"

#include "gh/dataset.hpp"
#include "gh/error.hpp"

#include <ATen/ops/arange.h>

#include <functional>
#include <string>
#include <vector>

namespace gh::test {

// `size` samples, each handed over by `give(index, sink)`; labels 0, 1, 2, 0, 1, …
struct FakeSet : Dataset {
  int64_t size = 10;
  int64_t classes = 3;
  std::vector<int64_t> shape = {};
  std::function<void(int64_t, SampleSink&)> give;
  TargetKind kind = TargetKind::classes;
  at::Tensor given_targets = {};  // in place of the labels
  std::vector<std::string> names = {};
  std::function<std::string(int64_t)> name = {};  // of a sample

  class FakeSplit final : public Split, private NamedSplit {
   public:
    explicit FakeSplit(const FakeSet& set) : set_(set) {}
    int64_t size() const override { return set_.size; }
    TargetKind target_kind() const override { return set_.kind; }
    at::Tensor targets() const override {
      if (set_.given_targets.defined() || set_.kind != TargetKind::classes)
        return set_.given_targets;
      return at::arange(set_.size, at::kLong).remainder(set_.classes);
    }
    std::vector<std::string> class_names() const override { return set_.names; }
    std::vector<int64_t> sample_shape() const override { return set_.shape; }
    void read(int64_t index, SampleSink& sink) const override { set_.give(index, sink); }
    std::string fingerprint() const override { return "fake"; }
    void* query(const char* id) override {
      return set_.name && std::string_view(id) == kId ? static_cast<NamedSplit*>(this) : nullptr;
    }

   private:
    std::string name(int64_t index) const override { return set_.name(index); }
    const FakeSet& set_;
  };
  std::vector<std::string> splits() const override { return {"train"}; }
  std::unique_ptr<Split> open(std::string_view, uint64_t) const override {
    return std::make_unique<FakeSplit>(*this);
  }
  host::SampleSet samples() const { return host::SampleSet::open(*this, "train", 0, std::nullopt); }
};

inline std::vector<uint8_t> pattern(int height, int width, int64_t key, int channels = 3) {
  std::vector<uint8_t> out(static_cast<std::size_t>(height) * width * channels);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<uint8_t>((i * 2654435761u + key * 40503u) >> 13 ^ i / 7);
  return out;
}

// Pictures of one size, which the host keeps in memory.
inline FakeSet small_pictures(int64_t n, int side = 32) {
  FakeSet set;
  set.size = n;
  set.shape = {3, side, side};
  set.give = [side](int64_t i, SampleSink& sink) {
    sink.pixels(pattern(side, side, i), side, side, 3);
  };
  return set;
}

// PNG files of differing sizes; those for which `broken` holds are cut short.
inline FakeSet files(int64_t n, std::function<bool(int64_t)> broken = {}) {
  FakeSet set;
  set.size = n;
  set.give = [broken](int64_t i, SampleSink& sink) {
    const int height = 40 + static_cast<int>(i % 5) * 9, width = 64 - static_cast<int>(i % 3) * 11;
    std::string png = host::encode_png({height, width, pattern(height, width, i)});
    if (broken && broken(i)) png.resize(png.size() / 2);
    sink.encoded({reinterpret_cast<const uint8_t*>(png.data()), png.size()},
                 "picture-" + std::to_string(i) + ".png");
  };
  return set;
}

inline FakeSet vectors(int64_t n, int64_t width = 3) {
  FakeSet set;
  set.size = n;
  set.shape = {width};
  set.give = [width](int64_t i, SampleSink& sink) {
    std::vector<float> values(width, static_cast<float>(i));
    sink.vector(values);
  };
  return set;
}

}  // namespace gh::test
