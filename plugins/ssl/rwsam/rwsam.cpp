// rwSAM (Liu et al. 2022): weights are moved to where the loss of rare samples is worst nearby, and
// trained with the gradient that the plain loss has there. How rare a sample is, its features say.
#include "gh/component.hpp"
#include "gh/parts/predicted_view.hpp"
#include "gh/parts/sample_density.hpp"
#include "gh/parts/sharpness.hpp"

#include <ATen/ops/ones.h>

namespace {

class RwSam final : public gh::parts::PredictedView {
 public:
  explicit RwSam(const gh::Params& params)
      : PredictedView(params),
        radius_(params.real("radius")),
        refresh_(params.integer("refresh")),
        density_{.bandwidth = params.real("bandwidth"),
                 .exponent = params.real("exponent"),
                 .floor = params.real("floor"),
                 .references = params.integer("references")} {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    PredictedView::check(facts, out);
    if (facts.accumulate > 1)
      out.add(".train.accumulate",
              "must be 1: the first pass moves the weights before the second, so that parts of a "
              "batch cannot be added up");
  }

  void build(gh::Host& host) override {
    PredictedView::build(host);
    const gh::RunFacts& facts = host.facts();
    weights_ = at::ones({facts.samples}, at::TensorOptions(facts.device).dtype(facts.dtype));
    for (const auto& module : trained_modules()) {
      for (const gh::NamedTensor& p : module->parameters()) parameters_.push_back(p.tensor);
      for (const gh::NamedTensor& b : module->buffers()) statistics_.push_back(b.tensor);
    }
  }

  // Not in the first epoch, whose features say nothing.
  void begin_epoch(gh::Host& host) override {
    if (const int64_t epoch = host.progress().epoch; epoch == 0 || epoch % refresh_ != 0) return;
    const at::Tensor features =
        host.embed_all("plain", [this](const at::Tensor& x) { return encoder()->forward(x); });
    weights_.copy_(gh::parts::inverse_density(features, density_, host.random("references")));
  }

  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor rarity = weights_.index_select(0, batch.indices.to(weights_.device()));
    const at::Tensor here = (rarity * losses(embed(batch.views[0]), embed(batch.views[1]))).mean();
    step.backward(here);
    step.reduce_gradients();
    // What the first pass has seen is what the weights give that are kept.
    const gh::parts::Snapshot weights(parameters_), statistics(statistics_);
    gh::parts::ascend(parameters_, radius_);
    step.discard_gradients();
    PredictedView::step(batch, step);
    weights.restore();
    statistics.restore();
    host().log_tensor("loss_weighted", here.detach());
    host().log_tensor("weight_most", weights_.max());
  }

  void visit_state(gh::State& state) override {
    PredictedView::visit_state(state);
    state.tensor("weights", weights_);
  }

 private:
  double radius_;
  int64_t refresh_;
  gh::parts::DensityOptions density_;
  at::Tensor weights_;  // [samples]
  std::vector<at::Tensor> parameters_, statistics_;
};

constexpr gh::Param kParams[] = {
    gh::real("radius", "7.0", "of the ascent, in lengths of weights that each count by their size")
        .at_least(0),
    gh::integer("refresh", "50", "between two estimates of densities; before the first all weigh 1")
        .at_least(1)
        .at_most(1000000000)
        .in("epochs"),
    gh::real("exponent", "1.0", "of density in a sample's weight; 0: all weigh the same")
        .at_least(0)
        .at_most(2),
    gh::real("bandwidth", "0.25",
             "of the Gaussian kernel, as a share of the root mean squared distance of features")
        .above(0),
    gh::real("floor", "0.1", "added to densities, as a share of their mean: bounds the weights")
        .above(0),
    gh::integer("references", "4096", "samples drawn to measure densities at")
        .at_least(2)
        .at_most(1048576)
        .in("samples"),
    GH_PREDICTED_VIEW_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<RwSam>("rwsam", "rwSAM: SimSiam with sharpness-aware steps that mind rare samples",
                        kParams)
        .with_facts({.paper = "Liu et al., ICLR 2022",
                     .views = "2",
                     .state = "encoder, projector, predictor, weights",
                     .ranks = "features: every rank weighs all samples"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc =
              "rwSAM (Liu et al., ICLR 2022): reweighted sharpness-aware minimisation, without "
              "labels")
