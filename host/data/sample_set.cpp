#include "data/sample_set.hpp"

#include "data/targets.hpp"
#include "data/unreadable.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

namespace gh::host {
namespace {

// Pictures of one size stay in memory up to here: CIFAR does, ImageNet does not.
std::size_t memory_limit() {
  const std::size_t all =
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  return std::min<std::size_t>(std::size_t{4} << 30, all / 4);
}

constexpr int kLargestSide = 1 << 20;

void put_columns(const PixelRows& rows, const Box& box, uint8_t* out) {
  const std::size_t area = static_cast<std::size_t>(box.height) * box.width;
  uint8_t* const planes[3] = {out, out + area, out + 2 * area};
  const std::ptrdiff_t stride = std::ptrdiff_t{rows.width} * rows.channels;
  const uint8_t* first = rows.pixels + box.top * stride + std::ptrdiff_t{box.left} * rows.channels;
  if (rows.channels == 3) {
    kernels().transpose_rgb(first, stride, box.height, box.width, planes, box.height);
    return;
  }
  kernels().transpose(first, stride, box.height, box.width, planes[0], box.height);
  for (int c = 1; c < 3; ++c) std::copy_n(planes[0], area, planes[c]);
}

// Which of the three doors a sample comes through, and what it looks like.
class Probe final : public SampleSink {
 public:
  enum class Kind { nothing, vector, pixels, encoded };
  void vector(std::span<const float>) override { kind = Kind::vector; }
  void pixels(std::span<const uint8_t> values, int64_t h, int64_t w, int64_t c) override {
    expect_pixels(values, h, w, c);
    kind = Kind::pixels;
    height = static_cast<int>(h);
    width = static_cast<int>(w);
  }
  void encoded(std::span<const uint8_t>, std::string_view) override { kind = Kind::encoded; }
  Kind kind = Kind::nothing;
  int height = 0, width = 0;
};

// Looks at the first sample that can be read; what is wrong with others shows when they are wanted.
Probe probe_samples(const SampleSet& set) {
  constexpr int64_t kTries = 100;
  for (int64_t i = 0;; ++i) {
    try {
      Probe probe;
      set.read(i, probe);
      require(probe.kind != Probe::Kind::nothing, ErrorCode::internal,
              "the data set handed over no sample");
      return probe;
    } catch (const Error& error) {
      if (is_unreadable(error) && i + 1 < std::min(kTries, set.size())) continue;
      fail(error.code(), "split '", set.name(), "', ", set.label(i), ": ", error.what());
    }
  }
}

// Copies samples of one shape into rows of a table.
class RowSink final : public SampleSink {
 public:
  std::function<void(std::span<const float>)> on_vector;
  std::function<void(std::span<const uint8_t>, int64_t, int64_t, int64_t)> on_pixels;
  bool filled = false;

  void vector(std::span<const float> values) override {
    require(on_vector != nullptr, ErrorCode::shape, "a vector among pictures");
    on_vector(values);
    filled = true;
  }
  void pixels(std::span<const uint8_t> values, int64_t h, int64_t w, int64_t c) override {
    require(on_pixels != nullptr, ErrorCode::shape, "a picture among vectors");
    expect_pixels(values, h, w, c);
    on_pixels(values, h, w, c);
    filled = true;
  }
  void encoded(std::span<const uint8_t>, std::string_view) override {
    fail(ErrorCode::shape, "a file among samples of another kind");
  }
};

// Returns why samples cannot be read, where that is no reason to stop.
template <class Aim>
std::map<int64_t, std::string> read_all(const SampleSet& set, RowSink& sink, bool skip, Aim aim) {
  std::map<int64_t, std::string> unreadable;
  for (int64_t i = 0; i < set.size(); ++i) {
    try {
      aim(i);
      sink.filled = false;
      set.read(i, sink);
      require(sink.filled, ErrorCode::internal, "the data set handed over no sample");
    } catch (const Error& error) {
      if (is_unreadable(error) && skip)
        unreadable.emplace(i, error.what());
      else
        fail(error.code(), "split '", set.name(), "', ", set.label(i), ": ", error.what(),
             is_unreadable(error) ? kAboutUnreadable : "");
    }
  }
  return unreadable;
}

}  // namespace

void expect_pixels(std::span<const uint8_t> pixels, int64_t height, int64_t width,
                   int64_t channels) {
  require(channels == 1 || channels == 3, ErrorCode::shape,
          "a picture has 1 or 3 channels, the data set gives ", channels);
  require(height >= 1 && width >= 1 && height <= kLargestSide && width <= kLargestSide &&
              static_cast<int64_t>(pixels.size()) == height * width * channels,
          ErrorCode::shape, "a picture of ", height, " × ", width, " × ", channels, " came with ",
          pixels.size(), " bytes");
}

Columns to_columns(const PixelRows& rows, const Box& box, std::vector<uint8_t>& out) {
  Columns columns{box.height, box.width, box.height, {}};
  const std::size_t area = static_cast<std::size_t>(box.height) * box.width;
  if (out.size() < 3 * area + kBlock) out.resize(3 * area + kBlock);
  put_columns(rows, box, out.data());
  for (int c = 0; c < 3; ++c) columns.plane[c] = out.data() + c * area;
  return columns;
}

std::unique_ptr<Split> open_split(const Dataset& dataset, std::string_view split, uint64_t seed,
                                  bool skip_unreadable, const Say& say) {
  struct Listener final : Notices {
    Listener(bool skips, const Say& say) : skips_(skips), say_(say) {}
    void say(Severity severity, std::string_view message) override {
      if (say_) say_(severity, message);
    }
    void missing(std::string_view message) override {
      if (!skips_) fail(ErrorCode::missing_data, message, kAboutUnreadable);
      say(Severity::warning, message);
    }
    bool skips_;
    const Say& say_;
  } listener(skip_unreadable, say);
  // query() is not const, so that a component may make what it answers with; a data set is const
  // for its users.
  void* const speaking = const_cast<Dataset&>(dataset).query(SpeakingDataset::kId);
  return speaking ? static_cast<const SpeakingDataset*>(speaking)->open(split, seed, listener)
                  : dataset.open(split, seed);
}

SampleSet SampleSet::open(const Dataset& dataset, std::string_view name, uint64_t seed,
                          const std::optional<LongTail>& long_tail, bool skip_unreadable,
                          const Say& say) {
  return of(open_split(dataset, name, seed, skip_unreadable, say), name, long_tail,
            skip_unreadable);
}

SampleSet SampleSet::of(std::unique_ptr<Split> opened, std::string_view name,
                        const std::optional<LongTail>& long_tail, bool skip_unreadable) {
  SampleSet set;
  set.skip_unreadable_ = skip_unreadable;
  set.name_ = name;
  set.split_ = std::move(opened);
  require(set.split_ != nullptr, ErrorCode::internal, "the data set opened nothing for split '",
          name, "'");
  const Split& split = *set.split_;
  set.size_ = split.size();
  require(set.size_ > 0, ErrorCode::missing_data, "split '", name, "' is empty");
  set.target_kind_ = split.target_kind();
  for (const std::string& class_name : split.class_names())
    set.class_names_.push_back(valid_utf8(class_name));  // they are shown and saved
  set.fingerprint_ = split.fingerprint();
  const at::Tensor targets = split.targets();
  check_targets(name, split, targets, set.class_names_);
  if (set.target_kind_ != TargetKind::none) set.targets_ = targets.contiguous();
  if (long_tail) set.thin_by(*long_tail);

  const Probe probe = probe_samples(set);
  set.pictures_ = probe.kind != Probe::Kind::vector;
  if (!set.pictures_) set.load_vectors();
  const std::size_t bytes = std::size_t{3} * probe.height * probe.width * set.size_;
  if (probe.kind == Probe::Kind::pixels && !split.sample_shape().empty() && bytes <= memory_limit())
    set.load_pictures(probe.height, probe.width);
  return set;
}

void SampleSet::thin_by(const LongTail& law) {
  const bool classes = target_kind_ == TargetKind::classes;
  if (!classes && law.law != "file")
    throw DataRefused("data.longtail.law", ErrorCode::unsupported,
                      "law \"" + law.law + "\" needs class labels, which split '" + name_ +
                          "' does not have; thin it by law \"file\", or not at all");
  try {  // positions of a file need no target, only how many samples there are
    chosen_ = thin(targets_.defined() ? targets_ : at::empty({size_}, at::kByte), law);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_param) throw;
    const char* const key = law.law == "file" || law.law == "counts" ? law.law.c_str() : "ratio";
    throw DataRefused(std::string("data.longtail.") + key, error.code(), error.what());
  }
  if (classes) chosen_pattern_ = pattern_of(targets_, chosen_);
  if (targets_.defined()) targets_ = targets_.index_select(0, chosen_);
  size_ = chosen_.size(0);
}

void SampleSet::load_vectors() {
  vector_shape_ = split_->sample_shape();
  require(!vector_shape_.empty(), ErrorCode::unsupported, "split '", name_,
          "' has vectors of different lengths");
  std::vector<int64_t> full = {size_};
  full.insert(full.end(), vector_shape_.begin(), vector_shape_.end());
  vectors_ = at::empty(full, at::kFloat);
  const int64_t width = vectors_[0].numel();
  float* row = nullptr;
  RowSink sink;
  sink.on_vector = [&](std::span<const float> values) {
    require(static_cast<int64_t>(values.size()) == width, ErrorCode::shape, "a vector of ",
            values.size(), " values, the split announced ", width);
    std::copy(values.begin(), values.end(), row);
  };
  unreadable_ = read_all(*this, sink, skip_unreadable_,
                         [&](int64_t i) { row = vectors_.data_ptr<float>() + i * width; });
}

void SampleSet::load_pictures(int height, int width) {
  const std::size_t stride = std::size_t{3} * height * width;
  std::vector<uint8_t> bytes(stride * size_ + kBlock);
  uint8_t* row = nullptr;
  RowSink sink;
  sink.on_pixels = [&](std::span<const uint8_t> values, int64_t h, int64_t w, int64_t channels) {
    require(h == height && w == width, ErrorCode::shape, "a picture of ", h, " × ", w,
            " in a split that announced ", height, " × ", width);
    put_columns({values.data(), width, static_cast<int>(channels)}, {0, 0, height, width}, row);
  };
  unreadable_ =
      read_all(*this, sink, skip_unreadable_, [&](int64_t i) { row = bytes.data() + i * stride; });
  bytes_ = std::move(bytes);
  height_ = height;
  width_ = width;
}

at::Tensor SampleSet::class_counts() const {
  if (target_kind_ != TargetKind::classes) return {};
  return at::bincount(targets_, {}, static_cast<int64_t>(class_names_.size()));
}

std::string SampleSet::chosen_fingerprint() const {
  return chosen_.defined() ? fingerprint_of(chosen_) : "";
}

int64_t SampleSet::position(int64_t index) const {
  return chosen_.defined() ? chosen_.data_ptr<int64_t>()[index] : index;
}

std::string SampleSet::label(int64_t index) const {
  std::string text = fmt::format("sample {}", position(index));
  // Asked for here and not when the set is opened: few samples are ever spoken of.
  if (auto* named = static_cast<NamedSplit*>(split_->query(NamedSplit::kId)))
    text += fmt::format(" ({})", printable(named->name(position(index))));
  return text;
}

void SampleSet::require_readable(int64_t index) const {
  if (unreadable_.empty()) return;
  const auto found = unreadable_.find(index);
  if (found != unreadable_.end()) throw Error(ErrorCode::io, found->second);
}

const float* SampleSet::vector(int64_t index) const {
  require_readable(index);
  return vectors_.defined() ? vectors_.data_ptr<float>() + index * (vectors_.numel() / size_)
                            : nullptr;
}

std::optional<Columns> SampleSet::columns(int64_t index) const {
  require_readable(index);
  if (bytes_.empty()) return std::nullopt;
  const std::size_t area = static_cast<std::size_t>(height_) * width_;
  const uint8_t* first = bytes_.data() + 3 * area * index;
  return Columns{height_, width_, height_, {first, first + area, first + 2 * area}};
}

}  // namespace gh::host
