// The calls of SslMethod::step that make one optimiser step: takes losses, hands out GH, reduces
// gradients over ranks.
#pragma once

#include "data/loader.hpp"
#include "harmonize/harmonizer.hpp"
#include "optimize/loss_scaler.hpp"
#include "optimize/optimizer.hpp"
#include "plan/plan.hpp"
#include "ranks/gradient_reducer.hpp"
#include "ranks/ranks.hpp"

#include "gh/ssl.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace gh::host {

// In place, over all ranks.
void sum_votes(Ranks& ranks, std::span<double> votes);

class StepRun final : public Step, private Projection {
 public:
  // All of it outlives the step.
  struct Parts {
    const TrainPlan& plan;
    const std::string& method;  // its name
    Harmonizer* harmonizer;     // null without [harmonize]
    Optimizer& optimizer;
    GradientReducer* reducer;  // null with one rank
    LossScaler& scaler;
    Ranks& ranks;
    int64_t epoch;                             // of the stage: GH counts these
    std::function<Random()> random = nullptr;  // for assignments of the call under way
  };
  StepRun(const Parts& parts, int64_t calls);

  // Around each call. The end throws gh::Error (internal) where there was no backward(), and
  // PlanRefused where the recipe wants GH to be a projector that the method does not ask for.
  void begin_call(const LoadedBatch& batch);
  void end_call() const;

  void backward(const at::Tensor& loss) override;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override;
  void reduce_gradients() override;
  void discard_gradients() override;
  void* query(const char* id) override;

  // Gradients become the unscaled mean over ranks; votes their sum.
  void finish(std::span<double> votes);
  double loss() const;                                  // NaN before the first backward()
  const LoadedBatch& batch() const { return *batch_; }  // of the last call

 private:
  at::Tensor project(const at::Tensor& z) override;
  bool projects() const;

  Parts parts_;
  int64_t calls_;
  const LoadedBatch* batch_ = nullptr;
  at::Tensor total_;
  bool called_ = false;
  bool projected_ = false;
  bool reduced_ = false;
};

}  // namespace gh::host
