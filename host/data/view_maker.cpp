#include "data/view_maker.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <cstring>

namespace gh::host {

ViewMaker::ViewMaker(const SampleSet& set, const ViewPlan& plan, uint64_t seed, int64_t views,
                     ViewFormat format)
    : set_(set), plan_(plan), seed_(seed), format_(format), draws_(views) {
  for (int64_t v = 0; v < views; ++v) groups_.push_back(&plan.group_of(v));
}

Random ViewMaker::random_for(int64_t view) const {
  return Random(key_, static_cast<uint64_t>(index_ * plan_.count() + view));
}

void ViewMaker::make(int64_t index, int64_t epoch, double weight, std::span<void* const> out) {
  index_ = index;
  key_ = stream_key(seed_ ^ static_cast<uint64_t>(epoch) << 32, "data.views");
  weight_ = weight;
  out_ = out;
  made_ = false;
  try {
    if (const auto columns = set_.columns(index)) {
      draw({columns->height, columns->width});
      render(*columns, 0, 0);
    } else if (const float* values = set_.vector(index)) {
      std::size_t n = 1;
      for (const int64_t side : set_.vector_shape()) n *= static_cast<std::size_t>(side);
      add_noise(values, n);
    } else {
      set_.read(index, *this);
      require(made_, ErrorCode::internal, "the data set handed over no sample");
    }
  } catch (const Error& error) {
    fail(error.code(), "split '", set_.name(), "', ", set_.label(index), ": ", error.what());
  }
}

void ViewMaker::add_noise(const float* values, std::size_t n) {
  for (std::size_t v = 0; v < groups_.size(); ++v) {
    float* to = static_cast<float*>(out_[v]);
    std::copy_n(values, n, to);
    if (groups_[v]->noise == 0) continue;
    Random random = random_for(static_cast<int64_t>(v));
    for (std::size_t i = 0; i < n; ++i)
      to[i] += static_cast<float>(groups_[v]->noise * random.normal());
  }
}

void ViewMaker::vector(std::span<const float>) {
  fail(ErrorCode::shape, "a vector among pictures");
}

void ViewMaker::pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
                       int64_t channels) {
  expect_pixels(values, height, width, channels);
  const Box part = draw({static_cast<int>(height), static_cast<int>(width)});
  render(to_columns({values.data(), static_cast<int>(width), static_cast<int>(channels)}, part,
                    columns_),
         part.top, part.left);
}

void ViewMaker::encoded(std::span<const uint8_t> bytes, std::string_view origin) {
  try {
    const Box part = draw(decoder_.open(bytes));
    decoder_.read(part, decoded_);
    render(to_columns({decoded_.pixels.data(), decoded_.width, 3},
                      {0, 0, decoded_.height, decoded_.width}, columns_),
           part.top, part.left);
  } catch (const Error& error) {
    fail(error.code(), origin, ": ", error.what());
  }
}

// Returns what has to be decoded: the smallest box around all crops.
Box ViewMaker::draw(const ImageSize& picture) {
  Box all;
  for (std::size_t v = 0; v < groups_.size(); ++v) {
    Random random = random_for(static_cast<int64_t>(v));
    draws_[v] = draw_view(*groups_[v], picture, weight_, random);
    all = v == 0 ? draws_[v].crop : around(all, draws_[v].crop);
  }
  return all;
}

void ViewMaker::render(const Columns& part, int top, int left) {
  for (std::size_t v = 0; v < groups_.size(); ++v) {
    const PlanarImage& view = renderer_.render(part, top, left, *groups_[v], draws_[v]);
    if (format_ == ViewFormat::bytes) {
      std::memcpy(out_[v], view.plane(0), 3 * view.area());
      continue;
    }
    const NormalizePlan& normalize = groups_[v]->normalize;
    for (int c = 0; c < 3; ++c)
      kernels().normalize(view.plane(c), view.area(), normalize.scale(c), normalize.shift(c),
                          static_cast<float*>(out_[v]) + c * view.area());
  }
  made_ = true;
}

}  // namespace gh::host
