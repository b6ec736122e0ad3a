#include "gh/ops/agreement.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

template <class Counts>
double entropy(const Counts& counts, double total) {
  double sum = 0;
  for (const auto& [label, count] : counts) {
    const double p = static_cast<double>(count) / total;
    sum -= p * std::log(p);
  }
  return sum;
}

}  // namespace

Agreement agreement(const at::Tensor& clusters, const at::Tensor& classes) {
  require(clusters.dim() == 1 && classes.sizes() == clusters.sizes() &&
              clusters.scalar_type() == at::kLong && classes.scalar_type() == at::kLong,
          ErrorCode::shape, "two labelings [n] of int64 are compared, got ", clusters.sizes(),
          " and ", classes.sizes());
  const at::Tensor first = clusters.to(at::kCPU).contiguous();
  const at::Tensor second = classes.to(at::kCPU).contiguous();
  const int64_t* a = first.data_ptr<int64_t>();
  const int64_t* b = second.data_ptr<int64_t>();
  std::map<int64_t, int64_t> in_a, in_b;
  std::map<std::pair<int64_t, int64_t>, int64_t> in_both;
  Agreement out;
  for (int64_t i = 0; i < first.size(0); ++i) {
    if (a[i] < 0 || b[i] < 0) continue;
    ++in_a[a[i]];
    ++in_b[b[i]];
    ++in_both[{a[i], b[i]}];
    ++out.samples;
  }
  if (out.samples == 0) return out;

  const double total = static_cast<double>(out.samples);
  std::map<int64_t, int64_t> commonest;
  for (const auto& [pair, count] : in_both) {
    const double here = static_cast<double>(count);
    const double apart =
        static_cast<double>(in_a[pair.first]) * static_cast<double>(in_b[pair.second]);
    out.mutual_information += here / total * std::log(here * total / apart);
    commonest[pair.first] = std::max(commonest[pair.first], count);
  }
  out.mutual_information = std::max(out.mutual_information, 0.0);
  for (const auto& [cluster, count] : commonest) out.purity += static_cast<double>(count) / total;
  if (in_a.size() == 1 && in_b.size() == 1) {
    out.nmi_arithmetic = out.nmi_geometric = 1;
  } else if (in_a.size() > 1 && in_b.size() > 1) {
    const double of_a = entropy(in_a, total), of_b = entropy(in_b, total);
    out.nmi_arithmetic = out.mutual_information / (0.5 * (of_a + of_b));
    out.nmi_geometric = out.mutual_information / std::sqrt(of_a * of_b);
  }
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
