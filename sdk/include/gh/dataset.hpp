// The contract of a data set: samples as they lie on disk or in memory. Decoding, thinning,
// augmentation, batching and threads are the host's.
#pragma once

#include "gh/error.hpp"
#include "gh/params.hpp"
#include "gh/severity.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {

// Takes one sample. The memory handed over needs to live only until the call returns.
class GH_API SampleSink {
 public:
  virtual ~SampleSink();
  virtual void vector(std::span<const float> values) = 0;
  // Bytes of a picture, rows of pixels with their channels innermost.
  virtual void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
                      int64_t channels) = 0;
  // A compressed image file (JPEG, PNG); `origin` names it in messages.
  virtual void encoded(std::span<const uint8_t> bytes, std::string_view origin) = 0;
};

enum class TargetKind : int {
  none = 0,
  classes = 1,  // targets() is [N] int64
  multi = 2,    // [N, L] uint8, several labels each
  real = 3      // [N] float64
};

// All const functions may be called from any number of threads.
class GH_API Split {
 public:
  virtual ~Split();
  virtual int64_t size() const = 0;
  virtual TargetKind target_kind() const = 0;
  // Undefined for TargetKind::none.
  virtual at::Tensor targets() const = 0;
  // May be empty.
  virtual std::vector<std::string> class_names() const;
  // Shape of every sample as a tensor, [D] or [C,H,W], or empty when samples differ in size.
  virtual std::vector<int64_t> sample_shape() const = 0;
  // Hands exactly one sample to the sink.
  virtual void read(int64_t index, SampleSink& sink) const = 0;
  // Changes when the content does; recorded with every result.
  virtual std::string fingerprint() const = 0;
  virtual void* query(const char* interface_id);
};

#if GH_SDK_MINOR >= 1
// Optional, found by Split::query(NamedSplit::kId): what samples are called, such as the path of a
// file below the root, for previews and messages. Since 1.1.
class GH_API NamedSplit {
 public:
  static constexpr const char* kId = "gh.named_split.v1";
  virtual ~NamedSplit();
  // Any thread.
  virtual std::string name(int64_t index) const = 0;
};
#endif

class GH_API Dataset {
 public:
  virtual ~Dataset();
  // "train" and usually "test".
  virtual std::vector<std::string> splits() const = 0;
  // Opens a split. `seed` is for generated data. Throws Error missing_data, which says what to
  // fetch from where.
  virtual std::unique_ptr<Split> open(std::string_view split, uint64_t seed) const = 0;
  virtual void* query(const char* interface_id);
};

#if GH_SDK_MINOR >= 1
// Takes what a data set has to say while it opens.
class GH_API Notices {
 public:
  virtual ~Notices();
  virtual void say(Severity severity, std::string_view message) = 0;
  // Some samples are listed and not there. Returns where others are to stand in for them
  // (loader.on_error = "skip"): the split is then opened with them, and reading one fails.
  // Otherwise throws Error missing_data with `message`.
  virtual void missing(std::string_view message);
};

// Optional, found by Dataset::query(SpeakingDataset::kId): a data set that says what it left out or
// stumbled over. The host then calls this in place of Dataset::open(), with the same meaning. Since
// 1.1.
class GH_API SpeakingDataset {
 public:
  static constexpr const char* kId = "gh.speaking_dataset.v1";
  virtual ~SpeakingDataset();
  virtual std::unique_ptr<Split> open(std::string_view split, uint64_t seed,
                                      Notices& notices) const = 0;
};
#endif

}  // namespace v1
}  // namespace gh
