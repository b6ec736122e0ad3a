// MoCo v2 (Chen et al. 2020): a query is told from keys of earlier steps, which a moving average of
// the network made.
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/head_params.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/parts/row_queue.hpp"
#include "gh/parts/twin.hpp"

#include <optional>

namespace {

using gh::parts::HeadSpec;

class MocoV2 final : public gh::parts::OnlineMethod {
 public:
  explicit MocoV2(const gh::Params& params)
      : OnlineMethod(
            params.text("projector") == "none"
                ? HeadSpec{}
                : HeadSpec{.widths = {params.integer("hidden"), params.integer("embedding")},
                           .hidden_norm = false}),
        temperature_(params.real("temperature")),
        momentum_(params.real("momentum")),
        queue_length_(params.integer("queue")),
        shuffle_(params.boolean("shuffle")),
        second_query_(params.text("harmonize_second") == "query") {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_two_views(facts, out);
    if (queue_length_ > facts.samples)
      gh::warn(out, "queue",
               "longer than the " + std::to_string(facts.samples) +
                   " training samples, so that negatives include earlier keys of "
                   "the same sample; got " +
                   std::to_string(queue_length_));
  }

  void build(gh::Host& host) override {
    OnlineMethod::build(host);
    twin_.emplace(host, network(), network_spec(),
                  gh::parts::TwinSpec{.momentum = momentum_,
                                      .last_momentum = momentum_,
                                      .update = gh::parts::TwinUpdate::before_forward});
    add("key", twin_->network(), gh::parts::Role::followed);
    queue_.make(host.facts(), queue_length_, embedding_width());
    queue_.fill(host.random("queue"));
    if (host.facts().world > 1 && host.facts().sync_norm && shuffle_) {
      shuffle_ = false;
      host.say(gh::Severity::info,
               "ranks.sync_norm = true: keys are normalised with the samples of all ranks, so "
               "there is nothing to shuffle");
    }
  }

  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z = embed(batch.views[0]);
    const at::Tensor z_key = key(batch.views[1]);
    const at::Tensor k = gh::parts::loss_rows(z_key);
    const at::Tensor base = gh::ops::info_nce_with_queue(gh::parts::loss_rows(z), k, queue_.rows(),
                                                         {.temperature = temperature_})
                                .mean();
    const bool twice = second_query_ && host().facts().harmonized;
    learn(step, base, z, twice ? embed(batch.views[1]) : z_key);
    queue_.push(host(), k);
  }

  void after_update(gh::Host& host) override { twin_->follow(host.progress()); }
  void visit_state(gh::State& state) override {
    OnlineMethod::visit_state(state);
    queue_.visit_state(state, "queue");
  }

 private:
  at::Tensor key(const at::Tensor& x) {
    return shuffle_ ? host().unshuffle_rows(twin_->embed(host().shuffle_rows(x))) : twin_->embed(x);
  }

  double temperature_, momentum_;
  int64_t queue_length_;
  bool shuffle_;
  bool second_query_;
  std::optional<gh::parts::Twin> twin_;
  gh::parts::RowQueue queue_;
};

constexpr gh::Param kParams[] = {
    gh::real("temperature", "0.2", "softmax temperature of InfoNCE").above(0),
    gh::real("momentum", "0.999", "of the key network").at_least(0).at_most(1),
    gh::integer("queue", "4096", "keys of earlier steps that are negatives")
        .at_least(1)
        .at_most(16777216)
        .in("samples"),
    gh::boolean("shuffle", "true",
                "keys are normalised with samples of other ranks than queries; without effect "
                "where ranks.sync_norm is on"),
    gh::choice("harmonize_second", "key", "key|query",
               "what GH sees of the second view: the key, without gradient, or a pass of the "
               "query network"),
    gh::parts::projector_param("head between backbone and loss: linear, ReLU, linear; or nothing"),
    gh::parts::hidden_param("0", "width inside the projector; 0: that of the features"),
    gh::parts::width_param("embedding", "128", "width of the projector's output"),
};

constexpr gh::Component kComponents[] = {
    gh::describe<MocoV2>("moco_v2", "MoCo v2: InfoNCE against a queue of momentum keys", kParams)
        .with_facts({.paper = "Chen, Fan, Girshick and He, 2020",
                     .views = "2",
                     .state = "encoder, projector, key, queue",
                     .ranks = "keys: every rank's queue holds those of all; shuffled where each "
                              "rank normalises by itself"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "MoCo v2 (Chen, Fan, Girshick and He, 2020): queue, momentum keys, shuffled BN")
