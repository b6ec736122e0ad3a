#include "plugins/conformance_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <thread>

namespace gh::host {
namespace {

constexpr int64_t kMostSamples = 24;       // read of each split
constexpr int kRereads = 32;               // of a sample by two threads
constexpr int64_t kMostClasses = 1 << 20;  // more is no number of classes

// Keeps one sample for comparison.
class Kept : public SampleSink {
 public:
  void vector(std::span<const float> values) override {
    for (const float value : values)
      if (!std::isfinite(value)) fault = "expected finite values, found NaN or infinity";
    keep({reinterpret_cast<const char*>(values.data()), values.size_bytes()},
         {static_cast<int64_t>(values.size())});
  }
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override {
    if (static_cast<int64_t>(values.size()) != height * width * channels)
      fault = fmt::format("expected {}x{}x{} pixels, found {} bytes", height, width, channels,
                          values.size());
    if (channels != 1 && channels != 3)
      fault = fmt::format("expected 1 or 3 channels, innermost, found {}", channels);
    keep({reinterpret_cast<const char*>(values.data()), values.size()}, {channels, height, width});
  }
  void encoded(std::span<const uint8_t> bytes, std::string_view) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with("\xff\xd8") && !text.starts_with("\x89PNG"))
      fault = fmt::format("expected a JPEG or PNG file, found {} bytes that begin like neither",
                          bytes.size());
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

void check_labels(const Split& split, const at::Tensor& t, Findings& out) {
  out.expect(t.min().item<int64_t>() >= 0, "expected classes from 0 on, found a negative one",
             "-1 for what has no label: leave such samples out");
  const auto names = split.class_names();
  const int64_t largest = t.max().item<int64_t>();
  out.expect(names.empty() || largest < static_cast<int64_t>(names.size()),
             fmt::format("expected a name for class {}, found {} names", largest, names.size()),
             "classes are counted from 1");
  out.expect(names.empty() ? largest < kMostClasses : true,
             fmt::format("expected classes from 0 up to their number, found {}", largest),
             "labels are ids of somebody else's; number them");
}

void check_targets(const Split& split, Findings& out) {
  const TargetKind kind = split.target_kind();
  const at::Tensor t = split.targets();
  if (!out.expect(targets_fit(kind, t, split.size()),
                  fmt::format("expected targets {}, found {}", expected_targets(kind, split.size()),
                              describe(t))))
    return;
  if (!t.defined() || t.numel() == 0) return;
  out.expect(t.is_cpu() && identical(t, split.targets()),
             "expected the same targets on the CPU at each call, found others");
  if (kind == TargetKind::classes) check_labels(split, t, out);
  if (kind == TargetKind::multi)
    out.expect(t.max().item<int64_t>() <= 1,
               fmt::format("expected labels 0 or 1, found {}", t.max().item<int64_t>()));
  if (kind == TargetKind::real)
    out.expect(all_finite(t), "expected finite targets, found NaN or infinity");
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

Kept read(const Split& split, int64_t index) {
  Kept kept;
  split.read(index, kept);
  return kept;
}

// What is handed over of a sample cannot be had; which one is part of the finding.
std::optional<Kept> try_reading(const Split& split, int64_t index, Findings& out) {
  try {
    return read(split, index);
  } catch (...) {
    out.violation(
        fmt::format("expected sample {}, found that read() threw {}", index, thrown_now()),
        "a file is broken, or open() does not look at what it lists");
    return std::nullopt;
  }
}

// First, last and some between them; the first and the last from two threads at once as well. Their
// bytes, for comparison with other splits; "" where they cannot be relied on.
std::string check_reading(const Split& split, Findings& out) {
  const int64_t n = split.size(), last = n - 1;
  std::string all;
  const int64_t tried = std::min(n, kMostSamples);
  for (int64_t k = 0; k < tried; ++k) {
    const int64_t index = tried > 1 ? k * last / (tried - 1) : 0;
    const auto kept = try_reading(split, index, out);
    if (!kept) return {};
    check_sample(split, index, *kept, out);
    all += kept->bytes;
  }
  const std::array<int64_t, 2> indices = {0, last};
  std::array<Kept, 2> together;
  std::array<std::string, 2> thrown;
  const auto read_into = [&](int i) {
    try {
      const Kept first = read(split, indices[i]);
      together[i] = first;
      for (int again = 0; again < kRereads && together[i].bytes == first.bytes; ++again)
        together[i] = read(split, indices[i]);
    } catch (...) {
      thrown[i] = thrown_now();
    }
  };
  std::thread other(read_into, 1);
  read_into(0);
  other.join();
  for (int i = 0; i < 2; ++i) {
    const Kept alone = read(split, indices[i]);
    if (!out.expect(
            thrown[i].empty() && alone.bytes == together[i].bytes &&
                alone.shape == together[i].shape,
            fmt::format("expected sample {} to be the same whenever and from whatever thread it "
                        "is read, found {}",
                        indices[i], thrown[i].empty() ? "another" : "that it threw " + thrown[i]),
            "read() draws, or shares a file position or a buffer between calls"))
      return {};
  }
  return all;
}

// What tells one content from another: samples and targets, and the name that they go by.
struct Content {
  std::string split, bytes, fingerprint;
  uint64_t seed;
};

// `again`: the same, opened by another instance.
void check_split(const Split& split, const Split& again, const std::string& name, uint64_t seed,
                 std::vector<Content>& contents, Findings& out) {
  const int64_t size = split.size();
  if (!out.expect(size > 0, fmt::format("expected samples, found a size of {}", size))) return;
  for (const int64_t n : split.sample_shape())
    out.expect(n > 0, fmt::format("expected a sample_shape() of positive sizes, found {}", n));
  const auto dims = split.sample_shape().size();
  out.expect(dims == 0 || dims == 1 || dims == 3,
             fmt::format("expected a sample_shape() of [D], [C, H, W] or {{}}, found {}",
                         split.sample_shape()));
  check_targets(split, out);
  Content content{name, check_reading(split, out), split.fingerprint(), seed};
  out.expect(content.fingerprint == again.fingerprint(),
             "expected the same fingerprint when opened again, found another");
  out.expect(!content.fingerprint.empty(), "expected a fingerprint, found none");
  if (content.bytes.empty()) return;
  out.expect(again.size() == size && read(again, 0).bytes == read(split, 0).bytes,
             "expected the same samples when opened again with the same seed, found others",
             "the order of a directory's files, or draws that are not of the seed");
  if (const at::Tensor t = split.targets(); t.defined())
    content.bytes.append(static_cast<const char*>(t.contiguous().const_data_ptr()), t.nbytes());
  for (const Content& other : contents) {
    out.expect(other.split == name || other.seed != seed || other.bytes != content.bytes,
               fmt::format("expected other samples than those of {}, found the same", other.split),
               "open() does not look at the name of the split");
    out.expect(other.bytes == content.bytes || other.fingerprint != content.fingerprint,
               fmt::format("expected another fingerprint than that of {}, seed {}, whose content "
                           "differs, found the same",
                           other.split, other.seed),
               "it is made of names or sizes, not of what decides the content (files, seed)");
  }
  contents.push_back(std::move(content));
}

class Ears final : public Notices {
 public:
  void say(Severity, std::string_view) override {}
};

std::unique_ptr<Split> open_as_hosts_do(Dataset& dataset, const std::string& name, uint64_t seed) {
  Ears ears;
  if (void* const speaking = dataset.query(SpeakingDataset::kId))
    return static_cast<SpeakingDataset*>(speaking)->open(name, seed, ears);
  return dataset.open(name, seed);
}

}  // namespace

void check_dataset(const Make<Dataset>& make, Findings& out) {
  const auto dataset = make(), another = make();
  out.part("splits");
  const auto splits = dataset->splits();
  out.expect(std::ranges::find(splits, "train") != splits.end(),
             "expected a split \"train\", found none");
  std::vector<Content> contents;
  std::string opened;
  for (const std::string& name : splits) {
    out.part(fmt::format("open({})", name));
    try {
      for (const uint64_t seed : {7, 8}) {
        const auto split = open_as_hosts_do(*dataset, name, seed),
                   again = open_as_hosts_do(*another, name, seed);
        if (!out.expect(split && again, "expected a split, found null")) break;
        out.part(name);
        check_split(*split, *again, name, seed, contents, out);
      }
      opened += (opened.empty() ? "" : ", ") + name;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::missing_data)
        out.violation("threw " + thrown_now());
      else if (out.recipe() != nullptr)
        out.violation(fmt::format("the recipe's data is not there: {}", e.what()));
      else
        out.remark(fmt::format("NOT TRIED: data not present: {}", e.what()));
    } catch (...) {
      out.violation("threw " + thrown_now());
    }
  }
  if (opened.empty()) return;
  out.part("");
  out.tried(
      fmt::format("{}: targets, {} samples, from two threads, opened again", opened, kMostSamples));
  out.part("");
  out.remark("not tried: whether pictures can be decoded, and all others (ghhost data check)");
}

}  // namespace gh::host
