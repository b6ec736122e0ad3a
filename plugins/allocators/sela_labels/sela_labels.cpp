// Balanced labels of the whole training set, as SeLa has them (Asano et al. 2020): on schedule,
// Sinkhorn over all samples gives each one a point, hard, and each point its share. Until the next
// fit that point is the sample's target.
#include "gh/component.hpp"
#include "gh/parts/balanced_labels.hpp"
#include "gh/parts/fitted_labels.hpp"
#include "gh/rows.hpp"

#include <ATen/ops/log_softmax.h>

#include <string>

namespace {

class SelaLabels final : public gh::Allocator {
 public:
  explicit SelaLabels(const gh::Params& params)
      : temperature_(params.real("temperature")),
        balance_{.power = params.real("power"),
                 .tolerance = params.real("tolerance"),
                 .rounds = params.integer("rounds")},
        every_(params.integer("every")) {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    gh::parts::FittedLabels::check(facts, out, "sela_labels");
    if (!gh::parts::can_balance(balance_.power, facts.points))
      out.add("power", "power · ln(points) must be at most " +
                           std::to_string(static_cast<int>(gh::parts::kBalanceSpan)));
  }

  int64_t fit_every() const override { return every_; }

  at::Tensor fit(const gh::FitRequest& request, gh::AssignReport& report) override {
    // Logits as AssignRequest has them.
    const at::Tensor z = gh::unit_rows(request.embeddings.to(at::kDouble));
    const at::Tensor logits = gh::unit_rows(z.matmul(request.points.t()));
    at::Tensor log_p = at::log_softmax(logits / temperature_, 1);
    gh::parts::BalanceOptions options = balance_;
    if (request.prior.defined()) options.shares = request.prior.contiguous();
    const gh::parts::BalancedLabels found = gh::parts::balance(log_p, options);
    labels_.store(request.indices, found.labels);
    report.scalar("cost", found.cost);
    report.scalar("iterations", static_cast<double>(found.rounds));
    report.scalar("change", found.change);
    return {};
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    return labels_.targets(request);
  }

  void visit_state(gh::State& state) override { labels_.visit_state(state); }

 private:
  double temperature_;
  gh::parts::BalanceOptions balance_;
  int64_t every_;
  gh::parts::FittedLabels labels_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.1", "of the softmax whose probabilities are allocated").above(0),
    gh::real("power", "10.0", "of probabilities in the allocation; more is harder").above(0),
    gh::real("tolerance", "0.01", "sum of relative changes of the samples' scaling that ends it")
        .above(0),
    gh::integer("rounds", "10000", "of a fit at most").at_least(1).at_most(100000000),
    gh::integer("every", "1", "between fits").at_least(1).at_most(1000000).in("epochs"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<SelaLabels>("sela_labels", "balanced labels of the whole training set", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Whole-set labels by optimal transport, as in SeLa")
