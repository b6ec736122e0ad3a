// Hard targets under capacities: pairs of sample and point, closest first; a point takes no more
// than its share of the batch.
#include "gh/component.hpp"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

class Capacity final : public gh::Allocator {
 public:
  explicit Capacity(const gh::Params& params) : slack_(params.real("slack")) {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    if (facts.differentiable)
      out.add(".harmonize.targets", "capacity gives targets without gradient; use \"bi-level\"");
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported,
                "hard targets have no gradient");
    const at::Tensor logits = request.logits.detach().to(at::kCPU, at::kDouble).contiguous();
    const int64_t n = logits.size(0), k = logits.size(1);
    const double* const score = logits.const_data_ptr<double>();
    std::vector<int64_t> room = rooms(request.prior, n, k);
    std::vector<int64_t> pairs(static_cast<std::size_t>(n * k));
    std::iota(pairs.begin(), pairs.end(), 0);
    // Stable: of equal pairs the earlier row chooses first, on every rank alike.
    std::ranges::stable_sort(pairs, [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    at::Tensor targets = at::zeros_like(logits);
    double* const target = targets.mutable_data_ptr<double>();
    std::vector<bool> placed(static_cast<std::size_t>(n));
    int64_t first_choices = 0;
    std::vector<int64_t> tried(static_cast<std::size_t>(n));
    for (const int64_t pair : pairs) {
      const std::size_t row = static_cast<std::size_t>(pair / k);
      if (placed[row]) continue;
      int64_t& left = room[static_cast<std::size_t>(pair % k)];
      if (left-- <= 0) {
        ++tried[row];
        continue;
      }
      placed[row] = true;
      target[pair] = 1;
      if (tried[row] == 0) ++first_choices;
    }
    report.scalar("first_choices", static_cast<double>(first_choices) / static_cast<double>(n));
    return targets.to(request.logits.options().requires_grad(false));
  }

 private:
  // Samples each point may take: its share, more by the slack, rounded up. Together n or more.
  std::vector<int64_t> rooms(const at::Tensor& prior, int64_t n, int64_t k) const {
    std::vector<int64_t> out;
    const at::Tensor shares = prior.defined() ? prior.to(at::kCPU) : at::Tensor();
    for (int64_t j = 0; j < k; ++j) {
      const double share = shares.defined() ? shares[j].item<double>() : 1 / static_cast<double>(k);
      out.push_back(
          static_cast<int64_t>(std::ceil(share * (1 + slack_) * static_cast<double>(n) - 1e-9)));
    }
    return out;
  }

  double slack_;
};

constexpr gh::Param kParams[] = {
    gh::real("slack", "0.0", "what a point may take beyond its share, as a part of it").at_least(0),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Capacity>("capacity", "closest point with room left", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Hard targets under capacities")
