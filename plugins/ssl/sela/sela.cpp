// SeLa (Asano, Rupprecht and Vedaldi 2020): on schedule, Sinkhorn over the whole set gives every
// sample the label that classifiers on the embedding come closest to, each label to as many
// samples; in between, the classifiers and the network learn these labels.
#include "gh/component.hpp"
#include "gh/parts/balanced_labels.hpp"
#include "gh/parts/labelled_views.hpp"
#include "gh/two_view.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

class Sela final : public gh::parts::LabelledViews {
 public:
  explicit Sela(const gh::Params& params)
      : LabelledViews(gh::projector_of(params)),
        views_(params.text("views")),
        clusters_(params.integer("clusters")),
        heads_(params.integer("heads")),
        turns_(params.boolean("turns")),
        balance_{.power = params.real("power"),
                 .tolerance = params.real("tolerance"),
                 .rounds = params.integer("rounds")},
        refreshes_(params.integer("refreshes")),
        early_(params.text("spread") == "early") {}

  static void validate(const gh::Params& params, gh::Complaints& out) {
    if (!gh::parts::can_balance(params.real("power"), params.integer("clusters")))
      out.add("power", "power · ln(clusters) must be at most " +
                           std::to_string(static_cast<int>(gh::parts::kBalanceSpan)));
  }

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    LabelledViews::check(facts, out);
    if (clusters_ > facts.samples)
      out.add("clusters", "at most the " + std::to_string(facts.samples) +
                              " training samples, got " + std::to_string(clusters_));
    if (turns_ && std::min(refreshes_, facts.epochs) < heads_)
      gh::warn(out, "heads",
               "more heads than refreshes: those whose turn does not come learn random labels");
  }

  void build(gh::Host& host) override {
    LabelledViews::build(host);
    classifiers_ = add("classifiers",
                       gh::parts::make_head(host, "classifiers", embedding_width(),
                                            {.widths = {heads_ * clusters_}}),
                       gh::parts::Role::trained);
    const int64_t samples = host.facts().samples;
    gh::Random random = host.random("labels");
    labels_ = at::empty({samples, heads_}, at::kLong);
    for (int64_t h = 0; h < heads_; ++h)
      labels_.select(1, h).copy_(random.permutation(samples).remainder(clusters_));
  }

  void begin_epoch(gh::Host& host) override {
    const gh::Progress& now = host.progress();
    if (now.epoch > 0 && due(now.epoch, now.epochs) == due(now.epoch - 1, now.epochs)) return;
    const at::Tensor z =
        host.embed_all(views_, [this](const at::Tensor& x) { return embed(x); }).to(at::kDouble);
    const int64_t first = turns_ ? refreshed_ % heads_ : 0;
    for (int64_t h = first; h < (turns_ ? first + 1 : heads_); ++h) relabel(host, z, h);
    ++refreshed_;
  }

  // Mean cross-entropy of all heads.
  at::Tensor loss(const gh::Batch& batch, const at::Tensor& z) override {
    const at::Tensor logits = classifiers_->forward(z).view({-1, clusters_});
    const at::Tensor labels = labels_.index_select(0, batch.indices.to(at::kCPU)).flatten();
    return at::nll_loss(at::log_softmax(logits, 1), labels.to(logits.device()));
  }

  void visit_state(gh::State& state) override {
    LabelledViews::visit_state(state);
    state.tensor("labels", labels_);
    state.integer("refreshed", refreshed_);
  }

 private:
  // Refreshes that are due when this epoch begins. The published times lie evenly, or as squares
  // do, from the start to an epoch behind the end.
  int64_t due(int64_t epoch, int64_t epochs) const {
    const double part = static_cast<double>(epoch) / static_cast<double>(epochs + 1);
    const double last = static_cast<double>(refreshes_ - 1);
    return static_cast<int64_t>(std::floor(last * (early_ ? std::sqrt(part) : part) + 1e-9));
  }

  // z [samples, width] float64
  void relabel(gh::Host& host, const at::Tensor& z, int64_t head) {
    const auto of_head = [&](const gh::NamedTensor& all) {
      return all.tensor.detach().narrow(0, head * clusters_, clusters_).to(at::kCPU, at::kDouble);
    };
    const auto all = classifiers_->parameters();
    at::Tensor log_p = at::log_softmax(at::linear(z, of_head(all.at(0)), of_head(all.at(1))), 1);
    const gh::parts::BalancedLabels found = gh::parts::balance(log_p, balance_);
    const at::Tensor labels = of_first_rank(found.labels);
    const at::Tensor known = labels_.select(1, head);
    host.log("labels_changed", (labels != known).to(at::kDouble).mean().item<double>());
    host.log("labels_cost", found.cost);
    host.log("labels_rounds", static_cast<double>(found.rounds));
    if (!found.settled)
      host.say(gh::Severity::warning, "labels are not balanced after " +
                                          std::to_string(found.rounds) +
                                          " rounds; a smaller power balances them sooner");
    known.copy_(labels);
  }

  std::string views_;
  int64_t clusters_, heads_;
  bool turns_;
  gh::parts::BalanceOptions balance_;
  int64_t refreshes_;
  bool early_;
  std::shared_ptr<gh::Sequential> classifiers_;  // one layer, head after head
  at::Tensor labels_;                            // [samples, heads] int64 on the CPU
  int64_t refreshed_ = 0;
};

constexpr gh::Param kParams[] = {
    gh::integer("clusters", "128", "labels of a head").at_least(2).at_most(1048576),
    gh::integer("heads", "10", "classifiers, each with labels of its own")
        .at_least(1)
        .at_most(1024),
    gh::boolean("turns", "true", "a refresh makes the labels of one head; false: of all"),
    gh::integer("refreshes", "400",
                "that begin with new labels, spread over the training; the first does")
        .at_least(1)
        .at_most(1000000000)
        .in("epochs"),
    gh::choice("spread", "even", "even|early",
               "of the refreshes; early: as squares, close together at the start"),
    gh::choice("views", "train", "train|plain",
               "what labels are made of: the first training view, or samples as they are"),
    gh::real("power", "10.0", "of probabilities in the allocation; more is harder").above(0),
    gh::real("tolerance", "0.01", "sum of relative changes of the samples' scaling that ends it")
        .above(0),
    gh::integer("rounds", "10000", "of an allocation at most").at_least(1).at_most(100000000),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Sela>("sela", "SeLa: learns balanced labels of the whole set", kParams)
        .with_facts({.paper = "Asano, Rupprecht and Vedaldi, ICLR 2020",
                     .views = "1 or more, with GH 2 or more",
                     .state = "encoder, projector, classifiers, labels, refreshed",
                     .ranks = "labels: made of the embeddings of all samples, the same on all"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "SeLa (Asano et al., ICLR 2020): self-labelling by optimal transport")
