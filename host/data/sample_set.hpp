// A split of a data set, thinned: what is trained on or evaluated. Vectors and small pictures of
// one size live in memory; files are read each time they are wanted.
#pragma once

#include "data/long_tail.hpp"
#include "image/resample.hpp"

#include "gh/dataset.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// What is to be told to whoever watches; empty: nobody does.
using Say = std::function<void(Severity, std::string_view)>;

// Opens a split as it lies there; a data set that speaks (SpeakingDataset) is listened to. With
// `skip_unreadable`, samples that are listed and not there are no reason to stop.
std::unique_ptr<Split> open_split(const Dataset& dataset, std::string_view split, uint64_t seed,
                                  bool skip_unreadable, const Say& say);

class SampleSet {
 public:
  // Opens a split and reads what fits in memory. Throws gh::Error naming split and sample (with
  // `skip_unreadable`, not because of samples that cannot be read), and DataRefused
  // (data/targets.hpp) where targets are not what they should be or the long tail cannot be made of
  // them.
  static SampleSet open(const Dataset& dataset, std::string_view split, uint64_t seed,
                        const std::optional<LongTail>& long_tail, bool skip_unreadable = false,
                        const Say& say = {});
  // The same of a split that is open.
  static SampleSet of(std::unique_ptr<Split> split, std::string_view name,
                      const std::optional<LongTail>& long_tail, bool skip_unreadable);

  int64_t size() const { return size_; }
  const Split& whole() const { return *split_; }  // before thinning
  const std::string& name() const { return name_; }
  bool pictures() const { return pictures_; }
  // Shape of a vector; empty for pictures, whose size is a matter of views.
  const std::vector<int64_t>& vector_shape() const { return vector_shape_; }
  // As gh::Split::targets(), thinned; may be undefined.
  const at::Tensor& targets() const { return targets_; }
  TargetKind target_kind() const { return target_kind_; }
  const std::vector<std::string>& class_names() const { return class_names_; }
  at::Tensor class_counts() const;  // [C] int64; undefined without class targets
  // [size] int64, positions in the split; undefined: all, in order.
  const at::Tensor& chosen() const { return chosen_; }
  // Of the whole split, and of the choice ("" when everything is kept).
  const std::string& fingerprint() const { return fingerprint_; }
  std::string chosen_fingerprint() const;
  const std::string& chosen_pattern() const { return chosen_pattern_; }  // data/long_tail.hpp
  bool in_memory() const { return !bytes_.empty() || vectors_.defined(); }

  // Why samples that should be in memory are not, by index.
  const std::map<int64_t, std::string>& unreadable() const { return unreadable_; }

  // Any thread. A vector or picture in memory; null where read() has to be asked. Throws gh::Error
  // (io) for those of unreadable().
  const float* vector(int64_t index) const;
  std::optional<Columns> columns(int64_t index) const;
  void read(int64_t index, SampleSink& sink) const { split_->read(position(index), sink); }
  int64_t position(int64_t index) const;
  // Any thread. "sample 7", and what the data set calls it: "sample 7 (cats/12.png)".
  std::string label(int64_t index) const;

 private:
  void thin_by(const LongTail& law);
  void load_vectors();
  void load_pictures(int height, int width);
  void require_readable(int64_t index) const;

  std::string name_;
  std::unique_ptr<Split> split_;
  int64_t size_ = 0;
  bool pictures_ = false;
  std::vector<int64_t> vector_shape_;
  at::Tensor targets_, chosen_;
  TargetKind target_kind_ = TargetKind::none;
  std::vector<std::string> class_names_;
  std::string fingerprint_, chosen_pattern_;
  at::Tensor vectors_;          // [size, …] float32
  std::vector<uint8_t> bytes_;  // [size][3][width][height]
  int height_ = 0, width_ = 0;
  bool skip_unreadable_ = false;
  std::map<int64_t, std::string> unreadable_;
};

// Throws gh::Error (shape) unless the pixels are those of a grey or RGB picture of that size.
void expect_pixels(std::span<const uint8_t> pixels, int64_t height, int64_t width,
                   int64_t channels);

// `box` of rows of grey or RGB pixels as three planes of columns; `out` is filled and described.
struct PixelRows {
  const uint8_t* pixels;  // [height][width][channels]
  int width, channels;
};
Columns to_columns(const PixelRows& rows, const Box& box, std::vector<uint8_t>& out);

}  // namespace gh::host
