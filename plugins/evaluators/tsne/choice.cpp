#include "choice.hpp"

#include <algorithm>
#include <numeric>

namespace tsne {

std::vector<int64_t> draw_classes(const std::vector<int64_t>& from,
                                  const std::vector<int64_t>& samples, int64_t count,
                                  gh::Random random) {
  std::vector<int64_t> with_samples, out;
  for (const int64_t c : from)
    if (samples[static_cast<std::size_t>(c)] > 0) with_samples.push_back(c);
  const auto found = static_cast<int64_t>(with_samples.size());
  const at::Tensor order = random.permutation(found);
  for (int64_t i = 0; i < std::min(count, found); ++i)
    out.push_back(with_samples[static_cast<std::size_t>(order.data_ptr<int64_t>()[i])]);
  std::sort(out.begin(), out.end(), [&](int64_t a, int64_t b) {
    const int64_t na = samples[static_cast<std::size_t>(a)];
    const int64_t nb = samples[static_cast<std::size_t>(b)];
    return na > nb || (na == nb && a < b);
  });
  return out;
}

std::vector<int64_t> share_out(const std::vector<int64_t>& sizes, int64_t total) {
  std::vector<std::size_t> smallest_first(sizes.size());
  std::iota(smallest_first.begin(), smallest_first.end(), std::size_t{0});
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::vector<int64_t> out(sizes.size());
  auto waiting = static_cast<int64_t>(sizes.size());
  for (const std::size_t c : smallest_first) {
    out[c] = std::min(sizes[c], total / waiting--);
    total -= out[c];
  }
  return out;
}

}  // namespace tsne
