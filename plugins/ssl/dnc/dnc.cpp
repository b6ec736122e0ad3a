// DnC, Divide and Contrast (Tian, Hénaff and van den Oord 2021): a base network learns from all
// samples, K-means divides them by what it sees, an expert learns from each group, and a student
// learns what base and experts know. Stages of one run; in which one it is, is seen by what there
// is: an expert that learns, a student, or neither.
#include "groups.hpp"
#include "student.hpp"

#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/parts/learning_watch.hpp"
#include "gh/parts/online_method.hpp"
#include "gh/two_view.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using gh::parts::Network;

// Stages by number: the base, its groups, an expert for each of them, the distillation.
constexpr int64_t kBase = 0, kCluster = 1, kFirstExpert = 2;

std::string expert_name(std::size_t number) { return "expert_" + std::to_string(number); }

// Who has learnt has no more use for them.
void drop_gradients(const gh::Module& module) {
  for (const gh::NamedTensor& p : module.parameters()) p.tensor.mutable_grad().reset();
}

struct Epochs {
  int64_t base, expert, distillation;
};

class Dnc final : public gh::parts::OnlineMethod {
 public:
  explicit Dnc(const gh::Params& params)
      : OnlineMethod(gh::projector_of(params)),
        temperature_(params.real("temperature")),
        groups_(params.integer("groups")) {
    if (params.has("expert_epochs")) expert_epochs_ = params.integer("expert_epochs");
    if (params.has("distillation_epochs"))
      distillation_epochs_ = params.integer("distillation_epochs");
  }

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override;
  void plan_stages(const gh::RunFacts& facts, gh::Stages& out) const override;

  void begin_stage(gh::Host& host) override;
  at::Tensor stage_samples() const override;
  void trainable(gh::Trainables& out) override;
  void end_stage(gh::Host& host) override;

  void step(const gh::Batch& batch, gh::Step& step) override;
  void train(bool on) override;
  std::shared_ptr<gh::Encoder> encoder() override {
    return student_ ? student_->encoder() : base().encoder();
  }
  at::Tensor embed(const at::Tensor& x) override;
  void visit_state(gh::State& state) override;

 private:
  Network& base() const { return network(); }
  Network& learner() const { return expert_ ? *expert_ : base(); }  // while there is no student
  Epochs epochs(const gh::RunFacts& facts) const;
  int64_t expert_number() const { return host().progress().stage_index - kFirstExpert; }

  void divide(gh::Host& host);
  void contrast(const gh::Batch& batch, gh::Step& step);
  void teach(const gh::Batch& batch, gh::Step& step);
  dnc::Lesson lesson(const at::Tensor& x, const at::Tensor& groups) const;

  double temperature_;
  std::optional<int64_t> expert_epochs_, distillation_epochs_;
  dnc::Groups groups_;
  double base_length_ = 0;                             // mean length of the base's representations
  std::vector<std::shared_ptr<gh::Encoder>> experts_;  // that have learnt
  std::shared_ptr<Network> expert_;                    // that learns
  std::optional<dnc::Student> student_;
  gh::parts::LearningWatch taught_{
      "A lower learning rate, or more epochs of base and experts, may help"};
};

// ---- stages ----

// Together train.epochs: the epochs of all experts, each over its group, are one pass over all.
Epochs Dnc::epochs(const gh::RunFacts& facts) const {
  const int64_t quarter = std::max<int64_t>(1, facts.epochs / 4);
  const int64_t expert = expert_epochs_.value_or(quarter);
  const int64_t distillation = distillation_epochs_.value_or(quarter);
  return {
      .base = facts.epochs - expert - distillation, .expert = expert, .distillation = distillation};
}

void Dnc::check(const gh::RunFacts& facts, gh::Complaints& out) const {
  gh::parts::require_two_views(facts, out);
  gh::parts::require_two_samples(facts, out, "NT-Xent needs negatives");
  const Epochs e = epochs(facts);
  if (e.base < 1) {
    const bool given = expert_epochs_ || distillation_epochs_;
    out.add(
        given ? (distillation_epochs_ ? "distillation_epochs" : "expert_epochs") : ".train.epochs",
        "train.epochs = " + std::to_string(facts.epochs) +
            " are those of base, experts and distillation together; " + std::to_string(e.expert) +
            " of the experts and " + std::to_string(e.distillation) +
            " of the distillation leave none for the base");
  }
  if (groups_.count() > facts.samples)
    out.add("groups", "at most the number of training samples, " + std::to_string(facts.samples));
  else if (facts.samples / groups_.count() < facts.batch)
    gh::warn(out, "groups",
             "groups have about " + std::to_string(facts.samples / groups_.count()) +
                 " samples, fewer than a batch; experts of small ones also learn from the nearest "
                 "samples of others");
}

void Dnc::plan_stages(const gh::RunFacts& facts, gh::Stages& out) const {
  const Epochs e = epochs(facts);
  out.add("base", e.base);
  out.add("cluster", 0);
  for (int64_t i = 0; i < groups_.count(); ++i)
    out.add(expert_name(static_cast<std::size_t>(i)), e.expert);
  out.add("distillation", e.distillation);
}

// On resume, this is called for the checkpoint's stage only, and what it makes is overwritten.
void Dnc::begin_stage(gh::Host& host) {
  const int64_t number = expert_number();
  if (number < 0) return;
  const auto learnt = static_cast<std::size_t>(std::min(number, groups_.count()));
  while (experts_.size() < learnt)
    experts_.push_back(host.make_backbone(expert_name(experts_.size()), nullptr));
  if (number < groups_.count()) {
    gh::parts::NetworkSpec spec = network_spec();
    spec.encoder_purpose = expert_name(learnt);
    spec.head_purpose = "expert.projector";
    expert_ = std::make_shared<Network>(host, spec);
    expert_->copy_from(base());
  } else {
    student_.emplace(host, *base().encoder(), groups_.count());
  }
  train(true);
}

at::Tensor Dnc::stage_samples() const {
  return expert_ ? groups_.samples(expert_number()) : at::Tensor();
}

void Dnc::trainable(gh::Trainables& out) {
  if (student_) return student_->trainable(out);
  if (expert_) return add_all(out, *expert_);
  OnlineMethod::trainable(out);
}

void Dnc::end_stage(gh::Host& host) {
  if (host.progress().stage_index == kBase) drop_gradients(base());
  if (host.progress().stage_index == kCluster) divide(host);
  if (!expert_) return;
  drop_gradients(*expert_);
  experts_.push_back(expert_->encoder());  // its projector has served
  expert_.reset();
}

void Dnc::divide(gh::Host& host) {
  const at::Tensor rows =
      host.embed_all("plain", [this](const at::Tensor& x) { return base().encoder()->forward(x); });
  groups_.make(host, rows);
  const at::Tensor length = rows.norm(2, {1}).mean().to(host.facts().device);
  base_length_ =
      host.all_reduce_sum(length).item<double>() / static_cast<double>(host.facts().world);
  std::string said = "samples by group:";
  for (int64_t i = 0; i < groups_.count(); ++i) {
    const int64_t all = groups_.samples(i).size(0), guests = groups_.guests(i);
    said += (i == 0 ? " " : ", ") + std::to_string(all - guests);
    if (guests > 0) said += " and " + std::to_string(guests) + " guests";
  }
  host.say(gh::Severity::info, said);
}

// ---- steps ----

void Dnc::step(const gh::Batch& batch, gh::Step& step) {
  if (student_)
    teach(batch, step);
  else
    contrast(batch, step);
}

// SimCLR, of all samples or of a group's.
void Dnc::contrast(const gh::Batch& batch, gh::Step& step) {
  const at::Tensor z1 = learner().forward(batch.views[0]);
  const at::Tensor z2 = learner().forward(batch.views[1]);
  const at::Tensor losses = gh::parts::nt_xent(host(), z1, z2, {.temperature = temperature_});
  learn(step, losses.mean(), z1, z2);
}

// Teachers see what the student sees. Without GH, which they have learnt with.
void Dnc::teach(const gh::Batch& batch, gh::Step& step) {
  const at::Tensor groups = groups_.of(batch.indices);
  const at::Tensor f1 = student_->encoder()->forward(batch.views[0]);
  const at::Tensor f2 = student_->encoder()->forward(batch.views[1]);
  const dnc::Student::Errors first = student_->errors(f1, lesson(batch.views[0], groups));
  const dnc::Student::Errors second = student_->errors(f2, lesson(batch.views[1], groups));
  const at::Tensor of_base = 0.5 * (first.base + second.base);
  const at::Tensor of_expert = 0.5 * (first.expert + second.expert);
  step.backward(of_base + of_expert);
  host().log_tensor("error_base", of_base.detach());
  host().log_tensor("error_expert", of_expert.detach());
  taught_.see(host(), of_base + of_expert, f1, f2);
}

dnc::Lesson Dnc::lesson(const at::Tensor& x, const at::Tensor& groups) const {
  const at::NoGradGuard no_grad;
  dnc::Lesson out{.groups = groups, .base = base().encoder()->forward(x), .expert = {}};
  out.expert = at::empty_like(out.base);
  for (int64_t i = 0; i < groups_.count(); ++i) {
    const at::Tensor rows = (groups == i).nonzero().squeeze(1).to(x.device());
    if (rows.numel() == 0) continue;
    const at::Tensor said = experts_[static_cast<std::size_t>(i)]->forward(x.index_select(0, rows));
    out.expert.index_copy_(0, rows, said);
  }
  return out;
}

// ---- what the host asks of networks ----

// Teachers are in evaluation mode.
void Dnc::train(bool on) {
  OnlineMethod::train(on && !expert_ && !student_);
  for (const auto& expert : experts_) expert->train(false);
  if (expert_) expert_->train(on);
  if (student_) student_->train(on);
}

// The student's is that of the base, as far as the student can tell it.
at::Tensor Dnc::embed(const at::Tensor& x) {
  if (!student_) return learner().forward(x);
  const at::Tensor direction = student_->as_base(student_->encoder()->forward(x));
  return base().project(direction * base_length_);
}

void Dnc::visit_state(gh::State& state) {
  OnlineMethod::visit_state(state);
  groups_.visit_state(state);
  state.real("base_length", base_length_);
  for (std::size_t i = 0; i < experts_.size(); ++i)
    experts_[i]->visit_state(state, "experts." + std::to_string(i));
  if (expert_) expert_->visit_state(state, "expert");
  if (student_) student_->visit_state(state);
}

constexpr gh::Param kParams[] = {
    gh::integer("groups", "5", "that K-means divides the samples into, each with an expert")
        .at_least(2)
        .at_most(1000),
    gh::integer("expert_epochs", nullptr,
                "of each expert over its group; absent: a quarter of train.epochs. The base has "
                "what experts and student leave")
        .at_least(1)
        .at_most(1000000)
        .in("epochs")
        .optional(),
    gh::integer("distillation_epochs", nullptr, "of the student; absent: a quarter of train.epochs")
        .at_least(1)
        .at_most(1000000)
        .in("epochs")
        .optional(),
    gh::real("temperature", "0.2", "softmax temperature of NT-Xent").above(0),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::Component kComponents[] = {
    gh::describe<Dnc>(
        "dnc", "DnC: SimCLR on all samples, then on groups of them, distilled into one", kParams)
        .with_facts({.paper = "Tian et al., ICCV 2021",
                     .views = "2",
                     .state = "encoder, projector, groups, base_length, experts, student, heads; "
                              "guests, expert",
                     .ranks = "embeddings: negatives are those of all ranks; groups are the first "
                              "rank's"}),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "DnC (Tian et al., ICCV 2021): base, experts on groups of samples, distillation")
