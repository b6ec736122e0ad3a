#include "harmonize/surrogate_statistics.hpp"

#include "gh/rows.hpp"

#include <ATen/ops/bincount.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace gh::host {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Divergence divergence(const std::vector<double>& p, const std::vector<double>& q) {
  Divergence out;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) out.kl += p[i] * std::log(p[i] / q[i]);
    out.total_variation += 0.5 * std::abs(p[i] - q[i]);
  }
  return out;
}

// Sorted from large to small, `size` entries, with half a sample of `samples` added to each.
std::vector<double> ranked(std::vector<double> shares, std::size_t size, double samples) {
  std::sort(shares.begin(), shares.end(), std::greater<>());
  shares.resize(size, 0);
  const double all = samples + 0.5 * static_cast<double>(size);
  for (double& share : shares) share = (share * samples + 0.5) / all;
  return shares;
}

std::vector<double> values(const at::Tensor& row) {
  const at::Tensor x = row.to(at::kDouble).contiguous();
  return {x.data_ptr<double>(), x.data_ptr<double>() + x.numel()};
}

std::vector<double> spread_of_classes(const at::Tensor& table, const at::Tensor& labels,
                                      const at::Tensor& classes, int64_t count) {
  const at::Tensor seen = labels.ge(0).nonzero().squeeze(1);
  const at::Tensor rows = table.index_select(0, seen);
  const at::Tensor unit = unit_rows(rows);
  const at::Tensor of = classes.index_select(0, seen);
  const at::Tensor sums = at::zeros({count, table.size(1)}).index_add_(0, of, unit);
  const at::Tensor sizes = at::bincount(of, {}, count);
  std::vector<double> out = values(1 - sums.norm(2, {1}).to(at::kDouble) / sizes.clamp_min(1));
  for (int64_t c = 0; c < count; ++c)
    if (sizes[c].item<int64_t>() < 2) out[static_cast<std::size_t>(c)] = kNaN;
  return out;
}

double mean_of(const std::vector<double>& spread, std::span<const std::size_t> classes) {
  double sum = 0;
  int64_t known = 0;
  for (const std::size_t c : classes)
    if (std::isfinite(spread[c])) sum += spread[c], ++known;
  return known == 0 ? kNaN : sum / static_cast<double>(known);
}

}  // namespace

std::vector<std::size_t> SurrogateStatistics::classes_by_size() const {
  std::vector<std::size_t> order(class_sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return class_sizes[a] > class_sizes[b]; });
  return order;
}

double SurrogateStatistics::head_spread() const {
  const auto order = classes_by_size();
  return mean_of(class_spread, std::span(order).first((order.size() + 2) / 3));
}

double SurrogateStatistics::tail_spread() const {
  const auto order = classes_by_size();
  return mean_of(class_spread, std::span(order).last((order.size() + 2) / 3));
}

SurrogateStatistics measure_surrogates(const at::Tensor& table, const at::Tensor& labels,
                                       const at::Tensor& counts, const at::Tensor& prior,
                                       const at::Tensor& classes) {
  SurrogateStatistics out;
  out.points = counts.size(0);
  const std::vector<double> shares = values(counts);
  const double seen = std::accumulate(shares.begin(), shares.end(), 0.0);
  double entropy = 0;
  for (const double n : shares) {
    if (n == 0) ++out.dead;
    if (n > 0) entropy -= n / seen * std::log(n / seen);
    if (seen > 0) out.largest_share = std::max(out.largest_share, n / seen);
  }
  out.effective = seen > 0 ? std::exp(entropy) : 0;
  const std::vector<double> pi = values(prior);
  out.prior_from_uniform =
      divergence(pi, std::vector<double>(pi.size(), 1.0 / static_cast<double>(pi.size())));
  if (!classes.defined()) return out;

  out.has_classes = true;
  out.agreement = ops::agreement(labels, classes);
  const at::Tensor sizes = at::bincount(classes);
  const int64_t* size = sizes.data_ptr<int64_t>();
  out.class_sizes.assign(size, size + sizes.numel());
  const auto samples = static_cast<double>(classes.numel());
  const std::size_t entries = std::max(pi.size(), out.class_sizes.size());
  out.prior_from_classes =
      divergence(ranked(pi, entries, samples),
                 ranked(values(sizes.to(at::kDouble) / samples), entries, samples));
  out.class_spread = spread_of_classes(table, labels, classes, sizes.numel());
  return out;
}

void log_statistics(const SurrogateStatistics& s,
                    const std::function<void(std::string_view, double)>& log) {
  log("points_dead", static_cast<double>(s.dead));
  log("points_effective", s.effective);
  log("points_largest_share", s.largest_share);
  log("prior_kl_uniform", s.prior_from_uniform.kl);
  log("prior_tv_uniform", s.prior_from_uniform.total_variation);
  if (!s.has_classes) return;
  log("prior_kl_classes", s.prior_from_classes.kl);
  log("prior_tv_classes", s.prior_from_classes.total_variation);
  log("surrogate_nmi", s.agreement.nmi_arithmetic);
  log("surrogate_nmi_geometric", s.agreement.nmi_geometric);
  log("surrogate_purity", s.agreement.purity);
  log("spread_head", s.head_spread());
  log("spread_tail", s.tail_spread());
}

}  // namespace gh::host
