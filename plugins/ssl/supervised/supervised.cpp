// What labels are worth: cross-entropy of a linear classifier, plain or with logits adjusted by
// class sizes (Menon et al. 2021). No self-supervised method, but the reference above them.
#include "gh/component.hpp"
#include "gh/parts/labelled_views.hpp"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/tensor.h>

namespace {

class Supervised final : public gh::parts::LabelledViews {
 public:
  explicit Supervised(const gh::Params& params) : LabelledViews({}), tau_(params.real("adjust")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    if (facts.class_counts.empty())
      out.add(".data", "supervised training needs class labels, and these data have none");
    LabelledViews::check(facts, out);
  }

  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    const auto& counts = host.facts().class_counts;
    classifier_ = add("classifier",
                      gh::parts::make_head(host, "classifier", embedding_width(),
                                           {.widths = {static_cast<int64_t>(counts.size())}}),
                      gh::parts::Role::trained);
    // log(π^τ + 10⁻¹²), as published: the floor stands outside the power.
    const at::Tensor sizes = at::tensor(counts, at::kDouble);
    adjustment_ = (sizes / sizes.sum())
                      .pow(tau_)
                      .add(1e-12)
                      .log()
                      .to(host.facts().device, host.facts().dtype);
  }

  at::Tensor loss(const gh::Batch& batch, const at::Tensor& z) override {
    const at::Tensor logits = classifier_->forward(z);
    const at::Tensor adjusted = tau_ > 0 ? logits + adjustment_ : logits;
    return at::nll_loss(at::log_softmax(adjusted, 1), batch.labels.to(logits.device()));
  }

 private:
  double tau_;
  std::shared_ptr<gh::Sequential> classifier_;
  at::Tensor adjustment_;  // [classes]
};

constexpr gh::Param kParams[] = {
    gh::real("adjust", "0.0", "logits get this times the logarithm of class shares; 0: plain")
        .at_least(0),
};

constexpr gh::Component kComponents[] = {
    gh::describe<Supervised>("supervised", "cross-entropy of labels, optionally logit-adjusted",
                             kParams)
        .with_flags(GH_SEES_LABELS)
        .with_facts({.paper = "adjusted: Menon et al., ICLR 2021",
                     .views = "1 or more, with GH 2 or more",
                     .state = "encoder, classifier",
                     .ranks = "nothing: a mean over samples"}),
};

}  // namespace

GH_PLUGIN(
    kComponents, .license = "MIT", .authors = "the ghhost authors",
    .doc = "Supervised reference: cross-entropy, and logit adjustment (Menon et al., ICLR 2021)")
