#pragma once

#include "tuned_network.hpp"

#include "gh/classification.hpp"
#include "gh/params.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tuning {

// Learns classes with SGD and tells how well they are told apart.
class Finetune final : public gh::Evaluator {
 public:
  explicit Finetune(const gh::Params& params);
  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override;
  void evaluate(gh::Evaluation& evaluation) override;

 private:
  std::string words() const;

  TuningSettings tuning_;
  gh::ClassificationSettings settings_;
  bool adjusted_;
  double tau_, head_factor_;
  bool nesterov_, cosine_;
};

// Learns a real number with L1 and Adam and tells its errors by how rare the number is.
class Regression final : public gh::Evaluator {
 public:
  explicit Regression(const gh::Params& params);
  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override;
  void evaluate(gh::Evaluation& evaluation) override;

 private:
  double rate_at(double epochs_done) const;
  std::string words() const;

  TuningSettings tuning_;
  std::string split_, validation_, groups_;
  double bin_;
  std::vector<int64_t> drops_;
  bool standardize_;
};

}  // namespace tuning
