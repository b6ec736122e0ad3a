#include "data/long_tail.hpp"

#include "gh/error.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace gh::host {
namespace {

// NumPy's legacy shuffle: from the end, partner drawn from 0…i by masked rejection of 32-bit
// outputs.
void shuffle(std::vector<int64_t>& values, std::mt19937& generator) {
  for (std::size_t i = values.size(); i-- > 1;) {
    const uint32_t limit = static_cast<uint32_t>(i);
    const uint32_t mask = std::bit_ceil(uint64_t{limit} + 1) - 1;
    uint32_t j = static_cast<uint32_t>(generator()) & mask;
    while (j > limit) j = static_cast<uint32_t>(generator()) & mask;
    std::swap(values[i], values[j]);
  }
}

int64_t kept(const LongTail& law, std::size_t c, std::size_t classes, std::size_t largest) {
  const double n = static_cast<double>(largest);
  if (law.law == "step") return static_cast<int64_t>(c < (classes + 1) / 2 ? n : n / law.ratio);
  if (classes == 1) return static_cast<int64_t>(largest);
  const double exponent = static_cast<double>(c) / static_cast<double>(classes - 1);
  return static_cast<int64_t>(n * std::pow(1 / law.ratio, exponent));
}

}  // namespace

at::Tensor thin(const at::Tensor& labels, const LongTail& law) {
  require(labels.dim() == 1 && labels.scalar_type() == at::kLong, ErrorCode::unsupported,
          "a long tail needs one class label a sample");
  require(law.ratio >= 1, ErrorCode::invalid_param, "longtail.ratio must be at least 1, got ",
          law.ratio);
  std::vector<std::vector<int64_t>> members;
  const auto label = labels.accessor<int64_t, 1>();
  for (int64_t i = 0; i < labels.size(0); ++i) {
    require(label[i] >= 0, ErrorCode::io, "sample ", i, " has the negative label ", label[i]);
    if (static_cast<std::size_t>(label[i]) >= members.size()) members.resize(label[i] + 1);
    members[label[i]].push_back(i);
  }
  std::size_t largest = 0;
  for (const auto& m : members) largest = std::max(largest, m.size());

  std::mt19937 generator(law.seed);
  std::vector<int64_t> chosen;
  for (std::size_t c = 0; c < members.size(); ++c) {
    shuffle(members[c], generator);
    const int64_t wanted = kept(law, c, members.size(), largest);
    require(wanted >= 1, ErrorCode::invalid_param, "longtail.ratio = ", law.ratio, " leaves class ",
            c, " without samples; the largest class has ", largest);
    const std::size_t n = std::min<std::size_t>(members[c].size(), wanted);
    chosen.insert(chosen.end(), members[c].begin(), members[c].begin() + n);
  }
  at::Tensor out = at::empty({static_cast<int64_t>(chosen.size())}, at::kLong);
  std::copy(chosen.begin(), chosen.end(), out.data_ptr<int64_t>());
  return out;
}

}  // namespace gh::host
