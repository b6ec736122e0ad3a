// Labels of a whole set that give every label its share of the samples (SeLa, Asano et al. 2020):
// with probabilities p [N, K], P = p^power and shares π, start from c = 1/N and repeat
//
//   r ← π ⊘ (Pᵀ c),   c ← (1/N) ⊘ (P r)
//
// until Σ |c/c' − 1|, looked at in every tenth round from the first on, is within the tolerance; a
// sample's label is the largest entry of its row in diag(c) P diag(r).
//
// In float64: margins between the two best labels of a sample are small. The sums are made in
// blocks of rows, so that the number of threads changes no bit. Needs LIBRARIES ghsdk::ghops.
#pragma once

#include "gh/error.hpp"
#include "gh/interrupt.hpp"
#include "gh/ops/parallel.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gh::parts {

struct BalanceOptions {
  double power = 10;
  double tolerance = 0.01;
  int64_t rounds = 10000;  // at most
  at::Tensor shares = {};  // [K], sums to 1, zeros are allowed; undefined: uniform
};

struct BalancedLabels {
  at::Tensor labels;     // [N] int64
  double cost = 0;       // mean of −log p of the labels
  int64_t rounds = 0;    // how many were done
  double change = 0;     // Σ |c/c' − 1| where it was looked at last
  bool settled = false;  // that is within the tolerance
};

// Of logarithms, within a column of P: what float64 holds with room for r and c.
inline constexpr double kBalanceSpan = 600;
// Whether a row's largest entry of P always lies within it.
inline bool can_balance(double power, int64_t labels) {
  return power * std::log(static_cast<double>(labels)) <= kBalanceSpan;
}

// The scaling of a matrix [N, K] without negative entries, each column with a largest one of 1.
class Balancing {
 public:
  Balancing(const at::Tensor& matrix, const at::Tensor& shares)
      : matrix_(matrix.const_data_ptr<double>()),
        rows_(matrix.size(0)),
        columns_(matrix.size(1)),
        blocks_((rows_ + kBlock - 1) / kBlock),
        shares_(shares.defined()
                    ? std::vector<double>(shares.const_data_ptr<double>(),
                                          shares.const_data_ptr<double>() + shares.numel())
                    : std::vector<double>(columns_, 1.0 / static_cast<double>(columns_))),
        r_(columns_),
        c_(rows_, 1.0 / static_cast<double>(rows_)),
        sums_(columns_),
        parts_(blocks_ * columns_),
        changes_(blocks_) {
    sweep(/*scale_rows=*/false);
  }

  // Σ |c/c' − 1|
  double round() {
    for (std::size_t k = 0; k < r_.size(); ++k) r_[k] = shares_[k] / sums_[k];
    return sweep(/*scale_rows=*/true);
  }
  // Views of r [K] and c [N].
  at::Tensor columns() { return at::from_blob(r_.data(), {columns_}, at::kDouble); }
  at::Tensor rows() { return at::from_blob(c_.data(), {rows_}, at::kDouble); }

 private:
  static constexpr int64_t kBlock = 256;

  // c where it is asked for, and the sums of the columns of diag(c) matrix, in one go.
  double sweep(bool scale_rows) {
    ops::parallel_indices(blocks_, [&](int64_t b) { block(b, scale_rows); });
    std::fill(sums_.begin(), sums_.end(), 0.0);
    double change = 0;
    for (int64_t b = 0; b < blocks_; ++b) {
      change += changes_[b];
      for (int64_t k = 0; k < columns_; ++k) sums_[k] += parts_[b * columns_ + k];
    }
    return change;
  }

  void block(int64_t b, bool scale_rows) {
    double* const sums = parts_.data() + b * columns_;
    std::fill(sums, sums + columns_, 0.0);
    double change = 0;
    for (int64_t n = b * kBlock; n < std::min(rows_, (b + 1) * kBlock); ++n) {
      const double* const row = matrix_ + n * columns_;
      if (scale_rows) {
        const double before = c_[n];
        c_[n] = 1 / (static_cast<double>(rows_) * product(row));
        change += std::abs(before / c_[n] - 1);
      }
      for (int64_t k = 0; k < columns_; ++k) sums[k] += c_[n] * row[k];
    }
    changes_[b] = change;
  }

  // Of a row and r.
  double product(const double* row) const {
    constexpr int64_t kLanes = 8;
    double lanes[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= columns_; k += kLanes)
      for (int64_t i = 0; i < kLanes; ++i) lanes[i] += row[k + i] * r_[k + i];
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    for (; k < columns_; ++k) sum += row[k] * r_[k];
    return sum;
  }

  const double* matrix_;
  int64_t rows_, columns_, blocks_;
  std::vector<double> shares_, r_, c_, sums_, parts_, changes_;
};

// `log_p` [N, K] float64 on the CPU, logarithms of probabilities, finite; N ≥ K. It is overwritten
// by the plan diag(c) P diag(r), whose rows sum to 1/N.
inline BalancedLabels balance(at::Tensor& log_p, const BalanceOptions& options) {
  const at::NoGradGuard no_grad;
  require(log_p.dim() == 2 && log_p.scalar_type() == at::kDouble && log_p.is_contiguous() &&
              log_p.size(0) >= log_p.size(1) && log_p.size(1) > 0,
          ErrorCode::shape,
          "balanced labels need a sample for each of the labels and float64, got ", log_p.sizes(),
          " of ", log_p.scalar_type());
  require(can_balance(options.power, log_p.size(1)), ErrorCode::invalid_param, "the power ",
          options.power, " is too high for ", log_p.size(1), " labels");
  require(std::isfinite(log_p.sum().item<double>()), ErrorCode::numeric,
          "probabilities are not finite, or zero");

  // Scaling columns changes no c. Entries that float64 cannot hold beside the largest of their
  // column are kept above zero, so that every label can be given to somebody.
  log_p.mul_(options.power);
  const at::Tensor tops = log_p.amax({0});
  log_p.sub_(tops).clamp_min_(-kBalanceSpan).exp_();
  Balancing balancing(log_p, options.shares);
  BalancedLabels out;
  while (!out.settled && out.rounds < options.rounds) {
    throw_if_interrupted();
    const double change = balancing.round();
    if (out.rounds++ % 10 != 0) continue;
    out.change = change;
    out.settled = change <= options.tolerance;
  }

  const at::Tensor r = balancing.columns(), c = balancing.rows();
  log_p.mul_(r).mul_(c.unsqueeze(1));
  out.labels = log_p.argmax(1);
  const at::Tensor chosen = log_p.gather(1, out.labels.unsqueeze(1)).squeeze(1);
  const at::Tensor powers = chosen.log() - c.log() - (r.log() - tops).index_select(0, out.labels);
  out.cost = -powers.mean().item<double>() / options.power;
  return out;
}

}  // namespace gh::parts
