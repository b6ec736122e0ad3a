// An evaluation that is just enough to try an evaluator: random features of four classes, no data.
// What the evaluator reports is kept; what it must not do are faults.
#pragma once

#include "gh/evaluator.hpp"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace gh::host {

// What the data set has.
struct FakeSplits {
  bool test = true;  // a split "test" beside "train"
  TargetKind targets = TargetKind::classes;
  bool harmonized = true;  // there are points and a prior
  int64_t embedding = 8;   // width of embeddings
};

class FakeEvaluation final : public Evaluation, private EvaluationServices {
 public:
  static constexpr int64_t kWidth = 16;  // of features
  static constexpr int64_t kPoints = 6;

  explicit FakeEvaluation(const FakeSplits& splits);
  static EvalFacts facts_of(const FakeSplits& splits);

  const RunFacts& facts() const override { return facts_; }
  Random random(std::string_view purpose) const override;
  const Features& features(const FeatureRequest& request) override;
  at::Tensor class_counts() override;
  at::Tensor points() override;
  at::Tensor prior() override;
  std::shared_ptr<Encoder> clone_encoder() override;
  void each_batch(
      const FeatureRequest& request, int64_t batch, int64_t epoch,
      const std::function<bool(const at::Tensor& x, const at::Tensor& targets)>& use) override;
  void metric(std::string_view name, double value, std::string_view definition) override;
  void table(std::string_view name, std::string_view caption, std::span<const std::string> columns,
             std::span<const std::vector<std::string>> rows) override;
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override;
  void say(Severity severity, std::string_view message) override;
  void* query(const char* id) override;

  // Once evaluate() has returned: faults that only now can be seen.
  void finish();
  // All that was reported, a line each.
  const std::string& reported() const { return reported_; }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::string png(std::string_view split, int64_t sample, int side) override;
  at::Tensor positions(std::string_view split, std::string_view file) override;
  std::shared_ptr<Encoder> fresh_encoder(std::string_view purpose) override;

  Features whole(std::string_view split, FeatureLevel level, int64_t draw) const;
  at::Tensor handed(const std::string& name, const at::Tensor& tensor);
  void named(std::string_view what, std::string_view name);

  struct Handed {
    std::string name;
    at::Tensor tensor, before;
  };

  FakeSplits splits_;
  RunFacts facts_;
  std::deque<Features> given_;  // callers hold references
  std::vector<Handed> handed_;
  std::map<std::string, int> names_;
  std::string reported_;
  std::vector<std::string> faults_;
};

}  // namespace gh::host
