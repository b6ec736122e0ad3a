// One life of a method under a fake host: built, trained for two steps of each epoch of a stage.
// What it does against its contract on the way goes to Findings.
#pragma once

#include "plugins/conformance_checks.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace gh::host {

using testing::FakeHost;
using testing::FakeStep;
using testing::StageList;
using testing::TrainableList;

// How a trial differs from the plain one.
struct TrialWay {
  double loss_scale = 1;
  at::Tensor points = {};  // GH as a projector: [width, points], a leaf
};

class SslTrial {
  std::unique_ptr<FakeHost> own_host_;  // outlives all below

 public:
  static constexpr int64_t kBatch = 16;
  static constexpr int64_t kSteps = 2;
  static constexpr int64_t kClasses = 4;

  // `other`: a host of another make (ranks), which outlives it; null: a FakeHost of these facts.
  SslTrial(const RunFacts& facts, ComponentPtr<SslMethod> made, uint32_t flags, TrialWay way = {},
           FakeHost* other = nullptr);

  void build(Findings& out);
  // On resume, this is the first stage that begins.
  void begin_stage(std::size_t number, Findings& out);
  // Positions of the stage's samples are asked for, and Progress::steps is set.
  void set_length(Findings& out);
  // One step of the optimiser; `i` tells its samples. `rows` of each rank.
  void step(int64_t i, Findings& out, int64_t rows = kBatch);
  // Through all stages, the first two epochs of each. `look` is called in each that trains, between
  // the steps of its last epoch; then that epoch ends.
  void train(Findings& out, const std::function<void(std::size_t)>& look = {});
  StateMap save(Findings& out);
  void load(const StateMap& state, Findings& out);
  std::size_t stages() const { return plan_.stages.size(); }
  bool trains(std::size_t stage) const { return plan_.stages[stage].second > 0; }

  FakeHost* host;
  ComponentPtr<SslMethod> method;
  TrainableList trainables;
  std::vector<double> losses;
  bool harmonized = false;  // harmonize() was called

 private:
  void report_gradients(Findings& out);
  void call_step(int64_t number, int64_t rows, Findings& out);
  bool trains_encoder() const;
  Batch batch_of(int64_t i, int64_t rows);

  uint32_t flags_;
  TrialWay way_;
  StageList plan_;
  at::Tensor samples_;
  std::vector<bool> reached_;
  std::vector<at::Tensor> views_;
};

// A run the method has nothing against: two views if it may, and a data set larger than its queue.
std::optional<RunFacts> acceptable_facts(const SslMethod& method, uint32_t flags, Findings& out,
                                         std::string& refusal);

// What check() says against these facts: "" when nothing.
std::string complaints_of(const SslMethod& method, const RunFacts& facts, Findings& out);

// The trials beyond one rank and one go.
void check_ranks(const Make<SslMethod>& make, const RunFacts& facts, uint32_t flags, Findings& out);
// A state saved in the middle of an epoch: the trained method goes on, and so does one that loaded it.
void check_resuming(const Make<SslMethod>& make, const RunFacts& facts, uint32_t flags,
                    Findings& out);

}  // namespace gh::host
