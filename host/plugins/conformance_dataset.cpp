#include "plugins/conformance_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <exception>
#include <thread>

namespace gh::host {
namespace {

// Keeps one sample for comparison.
class Kept : public SampleSink {
 public:
  void vector(std::span<const float> values) override {
    keep({reinterpret_cast<const char*>(values.data()), values.size_bytes()},
         {static_cast<int64_t>(values.size())});
  }
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override {
    if (static_cast<int64_t>(values.size()) != height * width * channels)
      fault = fmt::format("expected {}x{}x{} pixels, found {} bytes", height, width, channels,
                          values.size());
    keep({reinterpret_cast<const char*>(values.data()), values.size()}, {channels, height, width});
  }
  void encoded(std::span<const uint8_t> bytes, std::string_view) override {
    if (bytes.empty()) fault = "expected an image file, found no bytes";
    keep({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {});
  }

  int samples = 0;
  std::string bytes;
  std::vector<int64_t> shape;  // empty for encoded samples, whose size shows only when decoded
  std::string fault;

 private:
  void keep(std::string_view content, std::vector<int64_t> of_shape) {
    ++samples;
    bytes = content;
    shape = std::move(of_shape);
  }
};

std::string expected_targets(TargetKind kind, int64_t size) {
  switch (kind) {
    case TargetKind::none:
      return "undefined";
    case TargetKind::classes:
      return fmt::format("Long [{}]", size);
    case TargetKind::multi:
      return fmt::format("Byte [{}, L]", size);
    case TargetKind::real:
      return fmt::format("Double [{}]", size);
  }
  return fmt::format("a known kind of targets instead of {}", static_cast<int>(kind));
}

bool targets_fit(TargetKind kind, const at::Tensor& t, int64_t size) {
  if (kind == TargetKind::none) return !t.defined();
  if (!t.defined() || t.dim() < 1 || t.size(0) != size) return false;
  if (kind == TargetKind::classes) return t.dim() == 1 && t.scalar_type() == at::kLong;
  if (kind == TargetKind::multi) return t.dim() == 2 && t.scalar_type() == at::kByte;
  return kind == TargetKind::real && t.dim() == 1 && t.scalar_type() == at::kDouble;
}

void check_targets(const Split& split, Findings& out) {
  const TargetKind kind = split.target_kind();
  const at::Tensor t = split.targets();
  if (!out.expect(targets_fit(kind, t, split.size()),
                  fmt::format("expected targets {}, found {}", expected_targets(kind, split.size()),
                              describe(t))))
    return;
  if (kind != TargetKind::classes || t.numel() == 0) return;
  out.expect(t.min().item<int64_t>() >= 0, "expected classes from 0 on, found a negative one");
  const auto names = split.class_names();
  const int64_t largest = t.max().item<int64_t>();
  out.expect(names.empty() || largest < static_cast<int64_t>(names.size()),
             fmt::format("expected a name for class {}, found {} names", largest, names.size()));
}

void check_sample(const Split& split, int64_t index, const Kept& kept, Findings& out) {
  out.expect(kept.samples == 1,
             fmt::format("expected exactly one sample {}, found {}", index, kept.samples));
  if (!kept.fault.empty()) out.violation(fmt::format("sample {}: {}", index, kept.fault));
  const auto shape = split.sample_shape();
  if (!shape.empty() && !kept.shape.empty())
    out.expect(shape == kept.shape,
               fmt::format("expected sample {} of shape {}, found {}", index, shape, kept.shape));
}

// First and last sample, alone and from two threads at once.
void check_reading(const Split& split, Findings& out) {
  const std::array<int64_t, 2> indices = {0, split.size() - 1};
  std::array<Kept, 2> alone, together;
  for (int i = 0; i < 2; ++i) {
    split.read(indices[i], alone[i]);
    check_sample(split, indices[i], alone[i], out);
  }
  std::array<std::exception_ptr, 2> thrown;
  const auto read = [&](int i) {
    try {
      split.read(indices[i], together[i]);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  std::thread other(read, 1);
  read(0);
  other.join();
  for (const auto& e : thrown)
    if (e) std::rethrow_exception(e);
  for (int i = 0; i < 2; ++i)
    out.expect(alone[i].bytes == together[i].bytes && alone[i].shape == together[i].shape,
               fmt::format("expected sample {} to be the same from two threads, found another",
                           indices[i]));
}

}  // namespace

void check_dataset(const Make<Dataset>& make, Findings& out) {
  const auto dataset = make();
  out.part("splits");
  const auto splits = dataset->splits();
  out.expect(!splits.empty(), "expected splits, found none");
  for (const std::string& name : splits) {
    out.part(fmt::format("open({})", name));
    try {
      const auto split = dataset->open(name, 7);
      if (!out.expect(split != nullptr, "expected a split, found null")) continue;
      out.part(name);
      if (!out.expect(split->size() >= 0, fmt::format("expected a size, found {}", split->size())))
        continue;
      check_targets(*split, out);
      if (split->size() > 0) check_reading(*split, out);
      const std::string fingerprint = split->fingerprint();
      out.expect(!fingerprint.empty(), "expected a fingerprint, found none");
      out.expect(fingerprint == dataset->open(name, 7)->fingerprint(),
                 "expected the same fingerprint when opened again, found another");
    } catch (const Error& e) {
      if (e.code() != ErrorCode::missing_data) throw;
      out.remark(fmt::format("data not present: {}", e.what()));
    }
  }
}

}  // namespace gh::host
