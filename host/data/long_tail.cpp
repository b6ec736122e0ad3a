#include "data/long_tail.hpp"

#include "data/index_file.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <span>

namespace gh::host {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fingerprints are of little-endian bytes");

using Members = std::vector<std::vector<int64_t>>;  // positions of each class, ascending

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

Members members_of(const at::Tensor& labels) {
  require(labels.dim() == 1 && labels.scalar_type() == at::kLong, ErrorCode::unsupported,
          "a long tail needs one class label a sample");
  Members members;
  const auto label = labels.accessor<int64_t, 1>();
  for (int64_t i = 0; i < labels.size(0); ++i) {
    require(label[i] >= 0, ErrorCode::io, "sample ", i, " has the negative label ", label[i]);
    if (static_cast<std::size_t>(label[i]) >= members.size()) members.resize(label[i] + 1);
    members[label[i]].push_back(i);
  }
  return members;
}

// The size of class c before rounding down, when the largest has n.
double size_by_law(const LongTail& law, std::size_t c, std::size_t classes, double n) {
  if (law.law == "step") return c < (classes + 1) / 2 ? n : n / law.ratio;
  if (c == 0) return n;
  const double last = static_cast<double>(classes - 1);
  if (law.law == "exp") return n * std::pow(1 / law.ratio, static_cast<double>(c) / last);
  if (c + 1 == classes) return n / law.ratio;  // what the power below misses by a rounding
  const double range = std::pow(law.ratio, law.alpha) - 1;
  return n / std::pow(1 + range * static_cast<double>(c) / last, 1 / law.alpha);
}

std::vector<int64_t> sizes_by_law(const LongTail& law, const Members& members) {
  require(law.law == "exp" || law.law == "step" || law.law == "pareto", ErrorCode::invalid_param,
          "longtail.law must be exp, step, pareto, counts or file, got \"", law.law, "\"");
  require(std::isfinite(law.ratio) && law.ratio >= 1, ErrorCode::invalid_param,
          "longtail.ratio must be at least 1, got ", law.ratio);
  if (law.law == "pareto")
    require(law.alpha > 0 && std::isfinite(std::pow(law.ratio, law.alpha)),
            ErrorCode::invalid_param,
            "longtail.alpha must be above 0 and ratio^alpha finite, got alpha = ", law.alpha,
            " and ratio = ", law.ratio);
  std::size_t largest = 0;
  for (const auto& m : members) largest = std::max(largest, m.size());
  std::vector<int64_t> sizes;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const auto wanted =
        static_cast<int64_t>(size_by_law(law, c, members.size(), static_cast<double>(largest)));
    require(wanted >= 1, ErrorCode::invalid_param, "longtail.ratio = ", law.ratio, " leaves class ",
            c, " without samples; the largest class has ", largest);
    sizes.push_back(std::min(wanted, static_cast<int64_t>(members[c].size())));
  }
  return sizes;
}

std::vector<int64_t> sizes_by_count(const LongTail& law, const Members& members) {
  require(law.counts.size() == members.size(), ErrorCode::invalid_param, "longtail.counts has ",
          law.counts.size(), " numbers; there are ", members.size(), " classes");
  for (std::size_t c = 0; c < members.size(); ++c)
    require(law.counts[c] >= 1 && law.counts[c] <= static_cast<int64_t>(members[c].size()),
            ErrorCode::invalid_param, "longtail.counts asks for ", law.counts[c],
            " samples of class ", c, ", which has ", members[c].size(), "; at least 1 is needed");
  return law.counts;
}

at::Tensor to_tensor(const std::vector<int64_t>& positions) {
  at::Tensor out = at::empty({static_cast<int64_t>(positions.size())}, at::kLong);
  std::copy(positions.begin(), positions.end(), out.data_ptr<int64_t>());
  return out;
}

}  // namespace

at::Tensor thin(const at::Tensor& labels, const LongTail& law) {
  if (law.law == "file") {
    require(labels.dim() >= 1, ErrorCode::shape, "expected labels of N samples, got a scalar");
    return to_tensor(read_index_file(law.file, labels.size(0)));
  }
  Members members = members_of(labels);
  const std::vector<int64_t> sizes =
      law.law == "counts" ? sizes_by_count(law, members) : sizes_by_law(law, members);
  std::mt19937 generator(law.seed);
  std::vector<int64_t> chosen;
  for (std::size_t c = 0; c < members.size(); ++c) {
    shuffle(members[c], generator);
    chosen.insert(chosen.end(), members[c].begin(), members[c].begin() + sizes[c]);
  }
  return to_tensor(chosen);
}

std::string fingerprint_of(const at::Tensor& chosen) {
  require(chosen.dim() == 1 && chosen.scalar_type() == at::kLong, ErrorCode::shape,
          "expected positions [n] int64, got ", chosen.dim(), " dimensions of ",
          c10::toString(chosen.scalar_type()));
  const at::Tensor flat = chosen.contiguous();
  const auto* bytes = reinterpret_cast<const uint8_t*>(flat.data_ptr<int64_t>());
  return "sha256:" + Digest().add(std::span(bytes, flat.nbytes())).hex();
}

std::string pattern_of(const at::Tensor& labels, const at::Tensor& chosen) {
  const auto label = labels.accessor<int64_t, 1>();
  std::vector<int64_t> seen, rank(labels.size(0));
  for (int64_t i = 0; i < labels.size(0); ++i) {
    if (label[i] >= static_cast<int64_t>(seen.size())) seen.resize(label[i] + 1);
    rank[i] = seen[label[i]]++;
  }
  const auto position = chosen.accessor<int64_t, 1>();
  const at::Tensor pairs = at::empty({2 * chosen.size(0)}, at::kLong);
  int64_t* out = pairs.data_ptr<int64_t>();
  for (int64_t i = 0; i < chosen.size(0); ++i) {
    *out++ = label[position[i]];
    *out++ = rank[position[i]];
  }
  return fingerprint_of(pairs);
}

}  // namespace gh::host
