// Whether a method learns: what every bundled one logs, under the same names.
//
//   loss_base       what the method itself minimises, without GH, of every step
//   unit_std        spread of unit embeddings: the root of their variances' sum; 1 even, 0 a point
//   effective_rank  dimensions they use: exp of the entropy of the singular values of centred rows
//   alignment       mean squared distance of a sample's two unit embeddings
//   uniformity      log of the mean of exp(−2·distance²) over pairs of samples
//
// All but the first are taken twice an epoch from a few rows, the same ones on any number of ranks.
// A collapse is said in words while it happens. Keeps nothing that a resumed run would miss.
#pragma once

#include "gh/host.hpp"
#include "gh/rows.hpp"
#include "gh/severity.hpp"
#include "gh/tensor.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_eigvalsh.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace gh::parts {

class LearningWatch {
 public:
  // `advice`: what users may try when this method collapses, a sentence.
  explicit LearningWatch(std::string advice) : advice_(std::move(advice)) {}

  // Once in each call of step(), behind the backward pass. Embeddings [B, width], not normalised;
  // where there is one view only, z2 is z1. A collective.
  void see(Host& host, const at::Tensor& base_loss, const at::Tensor& z1, const at::Tensor& z2) {
    const at::NoGradGuard no_grad;
    host.log_tensor("loss_base", base_loss.detach());
    if (!due(host.progress())) return;
    // The parts of an accumulated batch are one look.
    const std::pair now(host.progress().stage_index, host.progress().step);
    if (std::exchange(last_look_, now) == now) return;
    const at::Tensor a = some_unit_rows(host, z1);
    if (a.size(0) < 2) return;
    const at::Tensor products = a.matmul(a.t());
    if (!std::isfinite(products.sum().item<double>())) return;  // the host tells that better
    if (!z2.is_same(z1))
      host.log_tensor("alignment", (a - some_unit_rows(host, z2)).square().sum(1).mean());
    host.log("uniformity", uniformity(products));
    const double n = static_cast<double>(a.size(0));
    const double spread = std::sqrt(std::max(0.0, 1 - products.mean().item<double>()));
    const double rank = effective_rank(a);
    host.log("unit_std", spread);
    host.log("effective_rank", rank);
    // Few rows of few dimensions are never spread evenly.
    tell(host, spread, rank, std::min(n - 1, static_cast<double>(a.size(1))));
  }

 private:
  static constexpr int64_t kRows = 128;
  static constexpr int64_t kLooks = 2;  // an epoch

  static bool due(const Progress& now) {
    const int64_t per_epoch = std::max<int64_t>(1, now.epochs > 0 ? now.steps / now.epochs : 1);
    return now.step % per_epoch % std::max<int64_t>(1, per_epoch / kLooks) == 0;
  }

  // Of the first rows of the batch of all ranks, [≤ kRows, width] float64 on the CPU.
  static at::Tensor some_unit_rows(Host& host, const at::Tensor& z) {
    const at::Tensor all = host.all_gather(z.detach().narrow(0, 0, std::min(kRows, z.size(0))));
    const at::Tensor first = all.narrow(0, 0, std::min(kRows, all.size(0)));
    return unit_rows(first.to(at::kCPU, at::kDouble));
  }

  static double uniformity(const at::Tensor& products) {
    const double n = static_cast<double>(products.size(0));
    const double all = (4 * products - 4).exp().sum().item<double>();
    const double self = (4 * products.diagonal() - 4).exp().sum().item<double>();
    return std::log(std::max((all - self) / (n * (n - 1)), 1e-300));
  }

  static double effective_rank(const at::Tensor& rows) {
    const at::Tensor x = rows - rows.mean(0, true);
    const bool tall = x.size(0) > x.size(1);
    const at::Tensor squares = at::linalg_eigvalsh(tall ? x.t().matmul(x) : x.matmul(x.t()));
    // What rounding leaves of zeros is not a dimension.
    const double least = 1e-12 * squares.max().item<double>();
    const at::Tensor values = squares.masked_select(squares > least).sqrt();
    if (values.numel() == 0) return 0;
    const at::Tensor shares = values / values.sum();
    return std::exp(-(shares * shares.log()).sum().item<double>());
  }

  // Networks start with embeddings that lie close together; only what lasts is a collapse.
  void tell(Host& host, double spread, double rank, double most) {
    const Progress& now = host.progress();
    const bool started = now.step * 10 >= now.steps;
    const bool point = spread < 0.1;
    const bool line = most > 4 && rank < 2;
    seen_ = started && (point || line) ? seen_ + 1 : 0;
    if (seen_ != 2) return;
    char text[160];
    if (point)
      std::snprintf(text, sizeof text,
                    "the embedding has collapsed: embeddings of different samples are almost the "
                    "same (unit_std %.3f, 1 would be even). ",
                    spread);
    else
      std::snprintf(text, sizeof text,
                    "the embedding has collapsed: embeddings lie on a line (effective_rank %.2f of "
                    "at most %.0f). ",
                    rank, most);
    host.say(Severity::warning, text + advice_);
  }

  std::string advice_;
  int64_t seen_ = 0;                                  // looks in a row that found a collapse
  std::pair<int64_t, int64_t> last_look_ = {-1, -1};  // stage and step
};

}  // namespace gh::parts
