// SwAV (Caron et al. 2020): each crop predicts to which prototypes the two large crops of the
// sample are assigned, where every prototype gets its share of the batch.
#include "gh/component.hpp"
#include "gh/ops/sinkhorn.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/multi_crop.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/parts/row_queue.hpp"
#include "gh/parts/unit_prototypes.hpp"
#include "gh/rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>

#include <array>

namespace {

using gh::unit_rows;
using gh::parts::HeadSpec;

constexpr std::size_t kCodeCrops = 2;

class Swav final : public gh::parts::OnlineMethod {
 public:
  explicit Swav(const gh::Params& params)
      : OnlineMethod(
            params.text("projector") == "none"
                ? HeadSpec{}
                : HeadSpec{.widths = {params.integer("hidden"), params.integer("embedding")}},
            "A smaller epsilon, prototypes that are frozen for longer or a queue that "
            "starts later may help"),
        temperature_(params.real("temperature")),
        epsilon_(params.real("epsilon")),
        iterations_(params.integer("iterations")),
        prototype_count_(params.integer("prototypes")),
        frozen_steps_(params.integer("freeze")),
        queue_length_(params.integer("queue")),
        queue_from_(params.integer("queue_from")) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_crops(facts, out);
    if (queue_length_ > 0 && queue_length_ < facts.batch / facts.accumulate)
      gh::warn(out, "queue", "shorter than a batch, so it repeats a part of the last one");
  }

  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    prototypes_.make(host, prototype_count_, embedding_width(), frozen_steps_);
    for (gh::parts::RowQueue& queue : queues_)
      if (queue_length_ > 0) queue.make(host.facts(), queue_length_, embedding_width());
  }
  void trainable(gh::Trainables& out) override {
    OnlineMethod::trainable(out);
    prototypes_.trainable(out);
  }

  // Mean over the code crops of the mean over all other crops of the cross-entropy.
  void step(const gh::Batch& batch, gh::Step& step) override {
    const std::vector<at::Tensor> z = gh::parts::embed_crops(network(), batch.views);
    std::vector<at::Tensor> scores;
    for (const at::Tensor& crop : z) scores.push_back(prototypes_.scores(unit_rows(crop)));
    at::Tensor sum = at::zeros({}, z[0].options());
    for (std::size_t a = 0; a < kCodeCrops; ++a) {
      const at::Tensor target = codes(a, unit_rows(z[a].detach()), scores[a].detach());
      for (std::size_t v = 0; v < z.size(); ++v)
        if (v != a)
          sum = sum - (target * at::log_softmax(scores[v] / temperature_, 1)).sum(1).mean();
    }
    learn(step, sum / static_cast<double>(kCodeCrops * (z.size() - 1)), z[0], z[1]);
  }

  void before_update(gh::Host& host) override { prototypes_.before_update(host.progress()); }
  void after_update(gh::Host& host) override { prototypes_.after_update(host.progress()); }

  void visit_state(gh::State& state) override {
    OnlineMethod::visit_state(state);
    prototypes_.visit_state(state, "prototypes");
    for (std::size_t a = 0; a < kCodeCrops; ++a)
      if (queue_length_ > 0) queues_[a].visit_state(state, "queue_" + std::to_string(a));
  }

 private:
  // Assignments of this rank's rows [B, K], made of the rows of all ranks and the crop's queue.
  at::Tensor codes(std::size_t crop, const at::Tensor& rows, const at::Tensor& scores) {
    const at::NoGradGuard no_grad;
    const int64_t own = host().facts().rank * rows.size(0);
    at::Tensor all = host().all_gather(scores);
    if (queue_length_ > 0 && queues_[crop].full())
      all = at::cat({all, prototypes_.scores(queues_[crop].rows())});
    const gh::ops::SinkhornProblem problem[] = {{all, {}}};
    const auto solved =
        gh::ops::sinkhorn(problem, {.epsilon = epsilon_, .iterations = iterations_});
    if (queue_length_ > 0 && host().progress().epoch >= queue_from_)
      queues_[crop].push(host(), rows);
    return solved[0].targets.narrow(0, own, rows.size(0));
  }

  double temperature_, epsilon_;
  int64_t iterations_, prototype_count_, frozen_steps_, queue_length_, queue_from_;
  gh::parts::UnitPrototypes prototypes_;
  std::array<gh::parts::RowQueue, kCodeCrops> queues_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.1", "softmax temperature of predictions").above(0),
    gh::real("epsilon", "0.05", "entropy of the assignments").above(0),
    gh::integer("iterations", "3", "of Sinkhorn").at_least(1).at_most(100000),
    gh::integer("prototypes", "100", "points that samples are assigned to")
        .at_least(2)
        .at_most(1048576),
    gh::integer("freeze", "313", "at the start, in which prototypes stay as drawn")
        .at_least(0)
        .at_most(1000000000)
        .in("steps"),
    gh::integer("queue", "0", "earlier embeddings that assignments are made with; 0: none")
        .at_least(0)
        .at_most(16777216)
        .in("samples"),
    gh::integer("queue_from", "15", "before the queue begins to fill; it is used once full")
        .at_least(0)
        .at_most(1000000000)
        .in("epochs"),
    gh::parts::projector_param(
        "head between backbone and loss: linear, BN, ReLU, linear; or nothing"),
    gh::parts::hidden_param("2048", "width inside the projector; 0: that of the features"),
    gh::parts::width_param("embedding", "128", "width of the projector's output"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<Swav>("swav", "SwAV: crops predict each other's balanced assignments", kParams)
        .with_facts({.paper = "Caron et al., NeurIPS 2020",
                     .views = "2 of one size, and any number of further ones of any size",
                     .state = "encoder, projector, prototypes; queue_0, queue_1",
                     .ranks = "assignments of all ranks' rows; queues hold the rows of all"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "SwAV (Caron et al., NeurIPS 2020): multi-crop, prototypes, Sinkhorn codes, queue")
