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
#include <string_view>

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

// The size of class c of `classes` before rounding down, when the largest has n.
double by_exp(const LongTail& law, double c, double classes, double n) {
  return c == 0 ? n : n * std::pow(1 / law.ratio, c / (classes - 1));
}

double by_step(const LongTail& law, double c, double classes, double n) {
  return c < std::ceil(classes / 2) ? n : n / law.ratio;
}

double by_pareto(const LongTail& law, double c, double classes, double n) {
  if (c == 0) return n;
  if (c + 1 == classes) return n / law.ratio;  // what the power below misses by a rounding
  const double range = std::pow(law.ratio, law.alpha) - 1;
  return n / std::pow(1 + range * c / (classes - 1), 1 / law.alpha);
}

struct Law {
  std::string_view name;
  double (*size)(const LongTail& law, double c, double classes, double n);
};
constexpr Law kLaws[] = {{"exp", by_exp}, {"step", by_step}, {"pareto", by_pareto}};

const Law& law_of(const std::string& name) {
  std::string known;
  for (const Law& law : kLaws) {
    if (law.name == name) return law;
    known += std::string(law.name) + ", ";
  }
  fail(ErrorCode::invalid_param, "longtail.law must be ", known, "counts or file, got \"", name,
       "\"");
}

std::vector<int64_t> sizes_by_law(const LongTail& law, const Members& members) {
  const Law& by = law_of(law.law);
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
    const auto wanted = static_cast<int64_t>(by.size(law, static_cast<double>(c),
                                                     static_cast<double>(members.size()),
                                                     static_cast<double>(largest)));
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
  require(law.keep > 0 && law.keep <= 1, ErrorCode::invalid_param,
          "longtail.keep must be above 0 and at most 1, got ", law.keep);
  Members members = members_of(labels);
  std::vector<int64_t> sizes =
      law.law == "counts" ? sizes_by_count(law, members) : sizes_by_law(law, members);
  for (int64_t& size : sizes)
    if (size > 0)
      size = std::max<int64_t>(1, static_cast<int64_t>(law.keep * static_cast<double>(size)));
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
