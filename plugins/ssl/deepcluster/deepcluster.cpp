// DeepCluster (Caron et al. 2018): on schedule the embeddings of the whole set are put into
// clusters, and until the next time the network learns to tell these apart, with a new classifier.
#include "gh/component.hpp"
#include "gh/ops/kmeans.hpp"
#include "gh/parts/labelled_views.hpp"
#include "gh/parts/whitened_rows.hpp"
#include "gh/two_view.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/zeros.h>

#include <string>

namespace {

class DeepCluster final : public gh::parts::LabelledViews {
 public:
  explicit DeepCluster(const gh::Params& params)
      : LabelledViews(gh::projector_of(params)),
        clusters_(params.integer("clusters")),
        every_(params.integer("every")),
        iterations_(params.integer("iterations")),
        directions_(params.integer("directions")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    LabelledViews::check(facts, out);
    if (clusters_ > facts.samples)
      out.add("clusters", "at most the " + std::to_string(facts.samples) +
                              " training samples, got " + std::to_string(clusters_));
  }

  void build(gh::Host& host) override {
    LabelledViews::build(host);
    top_ = add("top", gh::parts::make_head(host, "top", embedding_width(), {.widths = {clusters_}}),
               gh::parts::Role::trained);
    set_labels(at::zeros({host.facts().samples}, at::kLong));
  }

  void begin_epoch(gh::Host& host) override {
    if (host.progress().epoch % every_ != 0) return;
    const auto metric = gh::ops::KMeansMetric::euclidean;
    const at::Tensor rows = gh::parts::whitened_rows(
        host.embed_all("plain", [this](const at::Tensor& x) { return embed(x); }), directions_);
    const at::Tensor start = gh::ops::kmeans_start(rows, clusters_, gh::ops::KMeansStart::random,
                                                   metric, host.random("kmeans"));
    const auto found = gh::ops::kmeans(rows, start, {.metric = metric, .iterations = iterations_});
    set_labels(of_first_rank(found.labels));
    host.log("clusters_objective", found.objective);
    host.log("clusters_iterations", static_cast<double>(found.iterations));
    reset_top(host);
  }

  at::Tensor loss(const gh::Batch& batch, const at::Tensor& z) override {
    const at::Tensor logits = top_->forward(z);
    const auto of_batch = [&](const at::Tensor& of_all) {
      return of_all.index_select(0, batch.indices.to(at::kCPU)).to(logits.device());
    };
    const at::Tensor each =
        at::nll_loss(at::log_softmax(logits, 1), of_batch(labels_), {}, at::Reduction::None);
    return (of_batch(weights_).to(each.scalar_type()) * each).mean();
  }

  void visit_state(gh::State& state) override {
    LabelledViews::visit_state(state);
    state.tensor("labels", labels_);
    if (state.loading()) set_labels(labels_);
  }

 private:
  // Weights stand for sampling evenly over clusters: a sample counts N/(K·n) where n samples share
  // its cluster, and K clusters have any.
  void set_labels(const at::Tensor& labels) {
    labels_ = labels;
    const at::Tensor sizes = at::bincount(labels, {}, clusters_).to(at::kDouble);
    const at::Tensor share = (sizes > 0).sum() * sizes / labels.size(0);
    weights_ = share.reciprocal().index_select(0, labels);
  }

  // Clusters have new numbers. In place: the optimiser holds the tensors.
  void reset_top(gh::Host& host) {
    const at::NoGradGuard no_grad;
    const auto parameters = top_->parameters();
    host.random("top").fill_normal(parameters.at(0).tensor, 0, 0.01);
    parameters.at(1).tensor.zero_();
  }

  int64_t clusters_, every_, iterations_, directions_;
  std::shared_ptr<gh::Sequential> top_;
  at::Tensor labels_;   // [samples] int64 on the CPU
  at::Tensor weights_;  // [samples] float64, of these labels
};

constexpr gh::Param kParams[] = {
    gh::integer("clusters", "100", "of the training set").at_least(2).at_most(1048576),
    gh::integer("every", "1", "between reassignments").at_least(1).at_most(1000000).in("epochs"),
    gh::integer("iterations", "20", "of K-means at most; it ends when no sample moves")
        .at_least(1)
        .at_most(100000),
    gh::integer("directions", "256",
                "principal ones of the embedding that are clustered; all, where there are fewer")
        .at_least(1)
        .at_most(65536),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<DeepCluster>("deepcluster", "DeepCluster: learns clusters of the whole set",
                              kParams)
        .with_facts({.paper = "Caron, Bojanowski, Joulin and Douze, ECCV 2018",
                     .views = "1 or more, with GH 2 or more",
                     .state = "encoder, projector, top, labels",
                     .ranks = "clusters: made of the embeddings of all samples, the same on all"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "DeepCluster (Caron et al., ECCV 2018): K-means labels of the whole set")
