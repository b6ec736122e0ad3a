#include "data/preview.hpp"

#include "data/picture_reader.hpp"
#include "data/view_maker.hpp"
#include "image/png_writer.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gh::host {
namespace {

constexpr int kLargestOriginal = 320;

std::vector<int64_t> chosen_samples(const SampleSet& set, int64_t wanted) {
  std::vector<int64_t> candidates;
  const at::Tensor counts = set.class_counts();
  if (counts.defined()) {  // the first sample of each class, largest class first
    const int64_t* label = set.targets().data_ptr<int64_t>();
    std::vector<int64_t> first(counts.size(0), -1);
    for (int64_t i = set.size() - 1; i >= 0; --i) first[label[i]] = i;
    std::vector<int64_t> order(counts.size(0));
    std::iota(order.begin(), order.end(), 0);
    const int64_t* count = counts.data_ptr<int64_t>();
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return count[a] > count[b]; });
    for (const int64_t c : order)
      if (first[c] >= 0) candidates.push_back(first[c]);
  } else {
    candidates.resize(set.size());
    std::iota(candidates.begin(), candidates.end(), 0);
  }
  std::vector<int64_t> out;
  const auto available = static_cast<int64_t>(candidates.size());
  const int64_t n = std::min(wanted, available);
  for (int64_t i = 0; i < n; ++i)
    out.push_back(candidates[n == 1 ? 0 : i * (available - 1) / (n - 1)]);
  return out;
}

InterleavedImage interleaved(const uint8_t* planes, int height, int width) {
  InterleavedImage out{height, width, {}};
  const std::size_t area = static_cast<std::size_t>(height) * width;
  out.pixels.resize(3 * area);
  for (std::size_t i = 0; i < area; ++i)
    for (int c = 0; c < 3; ++c) out.pixels[3 * i + c] = planes[c * area + i];
  return out;
}

std::string caption_of(const SampleSet& set, int64_t index, const InterleavedImage& picture) {
  std::string text = set.label(index);
  if (set.target_kind() == TargetKind::classes) {
    const int64_t label = set.targets().data_ptr<int64_t>()[index];
    const int64_t count = set.class_counts().data_ptr<int64_t>()[label];
    const bool named = label < static_cast<int64_t>(set.class_names().size());
    text += fmt::format(", {} ({} samples)",
                        named ? set.class_names()[label] : fmt::format("class {}", label), count);
  } else if (set.target_kind() == TargetKind::real) {
    text += fmt::format(", target {:.4g}", set.targets().data_ptr<double>()[index]);
  }
  return text + fmt::format(", {} × {}", picture.width, picture.height);
}

}  // namespace

std::string png_within(const InterleavedImage& picture, int side) {
  const int longest = std::max(picture.height, picture.width);
  if (longest <= side) return encode_png(picture);
  const auto scaled = [&](int length) {
    return std::max(1, static_cast<int>(int64_t{length} * side / longest));
  };
  std::vector<uint8_t> memory;
  const Columns columns = to_columns({picture.pixels.data(), picture.width, 3},
                                     {0, 0, picture.height, picture.width}, memory);
  const int height = scaled(picture.height), width = scaled(picture.width);
  PlanarImage small;
  Resampler().run(columns,
                  {.box = {0, 0, picture.height, picture.width},
                   .height = height,
                   .width = width,
                   .window = {0, 0, height, width},
                   .filter = Filter::bicubic},
                  small);
  return encode_png(interleaved(small.plane(0), height, width));
}

std::vector<PreviewRow> preview_rows(const SampleSet& set, const ViewPlan& plan, uint64_t seed,
                                     const PreviewPlan& wanted) {
  require(set.pictures(), ErrorCode::unsupported,
          "the data are vectors; there is nothing to look at before training");
  const int64_t count = plan.count();
  ViewMaker maker(set, plan, seed, count, ViewFormat::bytes);
  std::vector<std::vector<uint8_t>> memory(count);
  std::vector<void*> out(count);
  for (int64_t v = 0; v < count; ++v) {
    const std::size_t size = static_cast<std::size_t>(plan.group_of(v).size);
    memory[v].resize(3 * size * size);
    out[v] = memory[v].data();
  }
  PictureReader reader;
  std::vector<PreviewRow> rows;
  for (int64_t index : chosen_samples(set, wanted.samples)) {
    const InterleavedImage& picture = reader.read_or_skip(set, index, wanted.skip_unreadable);
    PreviewRow& row = rows.emplace_back();
    row.caption = caption_of(set, index, picture);
    row.original = png_within(picture, kLargestOriginal);
    for (int64_t epoch = 0; epoch < wanted.epochs; ++epoch) {
      maker.make(index, epoch, wanted.weight, out);
      for (int64_t v = 0; v < count; ++v) {
        const int size = plan.group_of(v).size;
        row.views.push_back(encode_png(interleaved(memory[v].data(), size, size)));
      }
    }
  }
  return rows;
}

}  // namespace gh::host
