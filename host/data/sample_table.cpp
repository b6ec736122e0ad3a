#include "data/sample_table.hpp"

#include "gh/error.hpp"

#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace gh::host {
namespace {

// Copies vectors into their rows; images are refused until the host can decode them.
class RowSink final : public SampleSink {
 public:
  explicit RowSink(const at::Tensor& rows) : rows_(rows), width_(rows[0].numel()) {}
  void aim(int64_t row) {
    row_ = row;
    filled_ = false;
  }
  bool filled() const { return filled_; }

  void vector(std::span<const float> values) override {
    require(static_cast<int64_t>(values.size()) == width_, ErrorCode::shape, "a vector of ",
            values.size(), " values, the split announced ", width_);
    std::copy(values.begin(), values.end(), rows_.data_ptr<float>() + row_ * width_);
    filled_ = true;
  }
  void pixels(std::span<const uint8_t>, int64_t, int64_t, int64_t) override { refuse(); }
  void encoded(std::span<const uint8_t>, std::string_view) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    fail(ErrorCode::unsupported,
         "this version of ghhost trains on vectors; the data set gives images");
  }
  const at::Tensor& rows_;
  int64_t width_;
  int64_t row_ = 0;
  bool filled_ = false;
};

void check_targets(const Split& split, const at::Tensor& targets, std::string_view name) {
  if (split.target_kind() == TargetKind::none) return;
  require(targets.defined() && targets.dim() >= 1 && targets.size(0) == split.size(),
          ErrorCode::shape, "split '", name, "' has ", split.size(),
          " samples but targets of another number");
}

at::Tensor read_samples(const Split& split, const std::vector<int64_t>& shape,
                        std::string_view name) {
  std::vector<int64_t> full = {split.size()};
  full.insert(full.end(), shape.begin(), shape.end());
  const at::Tensor samples = at::empty(full, at::kFloat);
  RowSink sink(samples);
  for (int64_t i = 0; i < split.size(); ++i) {
    try {
      sink.aim(i);
      split.read(i, sink);
      require(sink.filled(), ErrorCode::internal, "the data set handed over no sample");
    } catch (const Error& error) {
      fail(error.code(), "split '", name, "', sample ", i, ": ", error.what());
    }
  }
  return samples;
}

}  // namespace

std::vector<int64_t> SampleTable::sample_shape() const { return samples.sizes().slice(1).vec(); }

at::Tensor SampleTable::class_counts() const {
  if (target_kind != TargetKind::classes) return {};
  return at::bincount(targets, {}, static_cast<int64_t>(class_names.size()));
}

SampleTable read_split(const Dataset& dataset, std::string_view name, uint64_t seed,
                       const std::optional<LongTail>& long_tail) {
  const auto split = dataset.open(name, seed);
  require(split != nullptr, ErrorCode::internal, "the data set opened nothing for split '", name,
          "'");
  require(split->size() > 0, ErrorCode::missing_data, "split '", name, "' is empty");
  const std::vector<int64_t> shape = split->sample_shape();
  require(!shape.empty(), ErrorCode::unsupported, "split '", name,
          "' has samples of different sizes");

  SampleTable table;
  table.split = name;
  table.samples = read_samples(*split, shape, name);
  table.targets = split->targets();
  table.target_kind = split->target_kind();
  table.class_names = split->class_names();
  table.fingerprint = split->fingerprint();
  check_targets(*split, table.targets, name);
  if (long_tail) {
    require(table.target_kind == TargetKind::classes, ErrorCode::unsupported,
            "data.longtail needs class labels, which split '", name, "' does not have");
    table.chosen = thin(table.targets, *long_tail);
    table.samples = table.samples.index_select(0, table.chosen);
    table.targets = table.targets.index_select(0, table.chosen);
  }
  return table;
}

ViewMaker::ViewMaker(const SampleTable& table, ViewPlan plan, uint64_t seed)
    : table_(table), plan_(plan), seed_(seed) {}

at::Tensor ViewMaker::order(int64_t epoch, const at::Tensor& subset) const {
  Random random(stream_key(seed_, "data.order"), static_cast<uint64_t>(epoch));
  const at::Tensor shuffled = random.permutation(subset.defined() ? subset.size(0) : table_.size());
  return subset.defined() ? subset.index_select(0, shuffled) : shuffled;
}

at::Tensor ViewMaker::make(const at::Tensor& indices, int64_t epoch, int64_t view) const {
  at::Tensor out = table_.samples.index_select(0, indices);
  if (plan_.noise == 0) return out;
  const uint64_t key = stream_key(seed_ ^ static_cast<uint64_t>(epoch) << 32, "data.views");
  const int64_t width = out[0].numel();
  const auto index = indices.accessor<int64_t, 1>();
  float* values = out.data_ptr<float>();
  for (int64_t i = 0; i < indices.size(0); ++i) {
    Random random(key, static_cast<uint64_t>(index[i] * plan_.count + view));
    for (int64_t j = 0; j < width; ++j)
      values[i * width + j] += static_cast<float>(plan_.noise * random.normal());
  }
  return out;
}

}  // namespace gh::host
