// What an evaluator sees of a run: features of its splits, and a place for results.
#pragma once

#include "data/loader.hpp"
#include "run/run_directory.hpp"

#include "gh/evaluator.hpp"
#include "gh/ssl.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace gh::host {

// The splits of a run's data set. "train" is the thinned training set, "train:full" the same before
// thinning; others are read when first asked for.
class SplitStore {
 public:
  SplitStore(const Dataset& dataset, uint64_t seed, const SampleSet& train);
  const SampleSet& get(const std::string& name);
  std::vector<std::string> names() const;

 private:
  const Dataset& dataset_;
  uint64_t seed_;
  const SampleSet& train_;
  std::map<std::string, SampleSet> others_;
};

// Everything an evaluation reads; all of it outlives the evaluation.
struct EvaluationSource {
  SslMethod& method;
  Host& host;
  SplitStore& splits;
  const ViewPlan& views;  // what the method trains on
  const ViewPlan& plain_views;
  LoaderOptions loader;
  at::Tensor points;  // undefined without [harmonize]
  at::Tensor prior;
  std::function<void(Severity, std::string_view)> say;
};

class EvaluationRun final : public Evaluation {
 public:
  EvaluationRun(EvaluationSource source, std::string evaluator);

  const RunFacts& facts() const override;
  Random random(std::string_view purpose) const override;
  const Features& features(const FeatureRequest& request) override;
  at::Tensor class_counts() override;
  at::Tensor points() override { return source_.points; }
  at::Tensor prior() override { return source_.prior; }
  std::shared_ptr<Encoder> clone_encoder() override;
  void each_batch(const FeatureRequest& request, int64_t batch, int64_t epoch,
                  const std::function<bool(const at::Tensor&, const at::Tensor&)>& use) override;
  void metric(std::string_view name, double value, std::string_view definition) override;
  void table(std::string_view name, std::string_view caption, std::span<const std::string> columns,
             std::span<const std::vector<std::string>> rows) override;
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override;
  void say(Severity severity, std::string_view message) override;
  void* query(const char*) override { return nullptr; }

  // Results so far: {"metrics": […], "tables": […]} and pictures.
  const nlohmann::ordered_json& results() const { return results_; }
  const std::vector<RunDirectory::Picture>& pictures() const { return pictures_; }

 private:
  ViewPlan views_named(std::string_view name) const;

  EvaluationSource source_;
  std::string evaluator_;
  std::map<std::tuple<int, std::string, std::string>, Features> cache_;
  nlohmann::ordered_json results_;
  std::vector<RunDirectory::Picture> pictures_;
};

}  // namespace gh::host
