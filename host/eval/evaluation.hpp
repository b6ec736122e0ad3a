// What an evaluator sees of a run: features of its splits, and a place for results.
#pragma once

#include "data/loader.hpp"
#include "eval/split_store.hpp"
#include "eval/whole_set.hpp"
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

// Features at one moment of training, for all evaluators that ask for them. Keyed by level, split,
// views, draw and chosen samples.
using FeatureKey = std::tuple<int, std::string, std::string, int64_t, std::string>;
using FeatureCache = std::map<FeatureKey, Features>;

// Everything an evaluation reads; all of it outlives the evaluation.
struct EvaluationSource {
  SslMethod& method;
  Host& host;
  SplitStore& splits;
  const ViewPlan& views;  // what the method trains on
  const ViewPlan& plain_views;
  LoaderOptions loader;
  FeatureCache& cache;
  at::Tensor points;  // undefined without [harmonize]
  at::Tensor prior;
  bool embeds = true;  // false: only the encoder was loaded, what follows it knows nothing
  std::function<std::shared_ptr<Encoder>(std::string_view purpose)> fresh_encoder;
  std::function<void(Severity, std::string_view)> say;
  // Told of each sample another one stood in for; empty: that is said.
  std::function<void(const std::string& reason)> skipped = {};
};

// Tensors are handles that anybody can write through, so an evaluator gets copies of what others
// read: features, targets, class counts. They go with the EvaluationRun.
class EvaluationRun final : public Evaluation, private EvaluationServices, private EvaluationFiles {
 public:
  EvaluationRun(EvaluationSource source, std::string evaluator);

  // Does `work`, which hands this to the evaluator, and finds out with the other ranks how it went:
  // what was thrown on the first that failed; "" when all is well. Ranks that wait for features of
  // one that failed are told so instead of waiting for ever. Throws Error interrupted, on all
  // ranks, where one was asked to stop.
  std::string carry_out(const std::function<void()>& work);

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
  void* query(const char* interface_id) override;

  // Results so far: {"metrics": […], "tables": […]} and pictures.
  const nlohmann::ordered_json& results() const { return results_; }
  const std::vector<RunDirectory::Picture>& pictures() const { return pictures_; }
  const std::vector<RunDirectory::File>& files() const { return files_; }
  // Fingerprints of the splits that were asked for.
  const std::map<std::string, std::string>& splits() const { return used_; }

 private:
  std::string png(std::string_view split, int64_t sample, int side) override;
  at::Tensor positions(std::string_view split, std::string_view file) override;
  std::shared_ptr<Encoder> fresh_encoder(std::string_view purpose) override;
  void file(std::string_view name, std::string_view extension, std::string_view caption,
            std::string_view bytes) override;

  // What a rank tells the others before they do something together.
  enum class Going : int64_t { on, done, failed, stopped };
  bool all_say(Going going);
  void meet(Going going = Going::on);
  std::string first_reason(const std::string& own);

  ViewPlan views_named(std::string_view name) const;
  const Features& shared_features(const FeatureRequest& request, const SampleSet& set,
                                  const FeatureKey& key);
  const SampleSet& split_named(std::string_view name);
  at::Tensor samples_of(const FeatureRequest& request, const SampleSet& set) const;
  at::Tensor compute(const FeatureRequest& request, at::Tensor& order);
  void require_finite(const at::Tensor& x, std::string_view split) const;
  SetPass pass_over(const FeatureRequest& request, const ViewPlan& views, EpochPlan plan);
  std::function<void(const std::string& reason)> teller();

  EvaluationSource source_;
  std::string evaluator_;
  FeatureCache own_;      // copies of this evaluator, and samples as the network sees them
  bool over_ = false;     // ranks do not go the same way, and all know
  bool stopped_ = false;  // because one was asked to stop
  std::map<std::string, std::string> used_;
  nlohmann::ordered_json results_;
  std::vector<RunDirectory::Picture> pictures_;
  std::vector<RunDirectory::File> files_;
};

}  // namespace gh::host
