// The contract of a self-supervised method. Most methods with two views derive from
// gh::TwoViewMethod (gh/two_view.hpp), which leaves them one function to write; this is the whole
// of it. Order of calls, all on the training thread:
//
//   construct(params) → check → plan_stages → build → embedding_width
//   for each stage:
//     begin_stage → trainable → stage_samples
//     for each epoch:
//       begin_epoch
//       for each step of the optimiser:
//         step            RunFacts::accumulate times, or what is left of the epoch
//                         (gradients are reduced over ranks and unscaled)
//         before_update
//                         (gradients are clipped, the optimiser moves the weights)
//         after_update    then Progress::step counts up
//       end_epoch
//     end_stage
//
//   visit_state           to save: any time after build, between steps; to load: once, after the
//                         first trainable of a resumed run
//   train                 on before each stage, off and on again around evaluations and embed_all()
//   encoder, embed,       whenever an evaluator asks, after build and between steps
//   clone_encoder
//
// On resume only the checkpoint's stage is begun: earlier ones are not begun or ended again, and
// begin_epoch is not repeated when the checkpoint lies inside an epoch. So begin_stage makes the
// same tensors every time, and whatever begin_epoch or an earlier stage computed is state.
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/params.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace gh {
inline namespace v1 {

// Host to plugin; later minors append.
struct Batch {
  // Each [B, …view shape].
  std::span<const at::Tensor> views;
  // [B] int64, position in the training set.
  at::Tensor indices;
  // Rows of Split::targets(); undefined unless the component declares GH_SEES_LABELS.
  at::Tensor labels;
  // Samples of this call over all ranks: world·B, since B is the same on every rank.
  int64_t global_size = 0;
};

// Plugin to host: carries its size, so that later minors can append.
struct HarmonizeOptions {
  uint32_t struct_size = sizeof(HarmonizeOptions);
  // 0: leave momentum table and prior alone (second branch of SDCLR).
  uint32_t track = 1;
};

// What GH makes of an embedding where it is a projector (harmonize.apply = "projector"); asked for
// by Step::project().
class GH_API Projection {
 public:
  static constexpr const char* kId = "gh.projection.v1";
  virtual ~Projection();
  // The logits [B, points] of embeddings [B, width].
  virtual at::Tensor project(const at::Tensor& z) = 0;
};

// One call of step(). `backward` may be called several times: gradients add up, each loss scaled by
// the host (loss scaling, accumulation). What is trained is the mean over ranks of the sum of the
// losses given here; ranks are reduced once, before before_update(), unless reduce_gradients() did
// so earlier. The gradients of a trained parameter are the method's to read only after
// reduce_gradients() and in before_update(); there, an undefined gradient makes the optimiser leave
// the parameter alone.
class GH_API Step {
 public:
  virtual ~Step();
  // `loss` is a scalar.
  virtual void backward(const at::Tensor& loss) = 0;
  // w·L_GH of the two embeddings [B, width], weight included; an exact zero while GH is off or
  // warming up. Add it to the loss.
  virtual at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                               const HarmonizeOptions& options) = 0;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2) {
    return harmonize(z1, z2, HarmonizeOptions{});
  }
  // What the method's own loss compares: the embedding [B, width] itself or, where the recipe makes
  // the structure a projector, its logits [B, points].
  at::Tensor project(const at::Tensor& z) {
    auto* const projection = static_cast<Projection*>(query(Projection::kId));
    return projection ? projection->project(z) : z;
  }
  // For sharpness-aware steps: makes .grad the unscaled mean over ranks now; then throws it away.
  // Between the two, backward() is an error (internal); with accumulation both are (unsupported),
  // so check() should refuse it.
  virtual void reduce_gradients() = 0;
  virtual void discard_gradients() = 0;
  virtual void* query(const char* interface_id) = 0;
};

// Receives the stages of a run. A method that adds none has one stage, "train", of train.epochs.
class GH_API Stages {
 public:
  virtual ~Stages();
  // With 0 epochs only begin_stage() and end_stage() run.
  virtual void add(std::string_view name, int64_t epochs) = 0;
};

// Receives what the optimiser trains in the stage that begins.
enum class Policy : int {
  normal = 0,
  no_decay = 1,   // no weight decay, no layer-wise scaling: bias and normalisation
  fixed_rate = 2  // its learning rate ignores the schedule (SimSiam's predictor)
};
class GH_API Trainables {
 public:
  virtual ~Trainables();
  // `rate` multiplies the learning rate.
  virtual void add(const at::Tensor& parameter, Policy policy, double rate) = 0;
};
// Every parameter of a module with Policy::normal; the recipe decides whether bias and norm decay.
GH_API void add_all(Trainables& out, const Module& module);

// Optional: SslMethod::query(kProjects) is not null when step() compares what Step::project()
// gives, so that harmonize.apply = "projector" means something. Since 1.1.
inline constexpr const char* kProjects = "gh.projects.v1";

// Optional, found by SslMethod::query(EncoderLoader::kId), for methods that override
// clone_encoder(): its inverse. Since 1.1.
#if GH_SDK_MINOR >= 1
class GH_API EncoderLoader {
 public:
  static constexpr const char* kId = "gh.encoder_loader.v1";
  virtual ~EncoderLoader();
  // Takes over the values of an encoder as the host builds it, initial weights of a file; once,
  // after build().
  virtual void load_encoder(const Encoder& plain) = 0;
};
#endif

class GH_API SslMethod {
 public:
  virtual ~SslMethod();

  // Complains about what cannot work (number of views, batch, queue longer than the data). After
  // the data is opened, before anything is built.
  virtual void check(const RunFacts& facts, Complaints& out) const;
  virtual void plan_stages(const RunFacts& facts, Stages& out) const;

  // Makes networks and buffers. `host` stays valid for the life of the method.
  virtual void build(Host& host) = 0;
  // Width of what step() passes to harmonize(). After build().
  virtual int64_t embedding_width() const = 0;

  virtual void begin_stage(Host& host);
  // Samples of the stage as positions in the training set [n] int64, or undefined for all. After
  // begin_stage() and, on resume, after the state was loaded; Progress::steps is known from here
  // on.
  virtual at::Tensor stage_samples() const;
  virtual void trainable(Trainables& out) = 0;
  virtual void end_stage(Host& host);

  virtual void begin_epoch(Host& host);
  virtual void step(const Batch& batch, Step& step) = 0;
  // Gradients are reduced over ranks and unscaled; the optimiser is next.
  virtual void before_update(Host& host);
  virtual void after_update(Host& host);
  virtual void end_epoch(Host& host);

  // Train or evaluation mode of every network it owns.
  virtual void train(bool on) = 0;
  // What evaluators probe (dense branch, online encoder, student, …).
  virtual std::shared_ptr<Encoder> encoder() = 0;
  // A copy of it that an evaluator may train and an export may name: by default a new backbone with
  // the host's layers and the same values. A method with layers of its own (SDCLR) or another
  // encoder than the recipe's overrides it.
  virtual std::shared_ptr<Encoder> clone_encoder(Host& host);
  // The embedding that harmonize() sees, [B, embedding_width()].
  virtual at::Tensor embed(const at::Tensor& x) = 0;

  virtual void visit_state(State& state) = 0;
  virtual void* query(const char* interface_id);
};

}  // namespace v1
}  // namespace gh
