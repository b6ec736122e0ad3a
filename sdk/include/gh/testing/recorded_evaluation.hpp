// An Evaluation over features that a test gives, which keeps what an evaluator reports.
#pragma once

#include "gh/evaluator.hpp"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace gh::testing {

class RecordedEvaluation : public Evaluation {
 public:
  struct Table {
    std::string caption;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
  };

  // What features() and each_batch() give of a split, whatever the views and the level.
  void give(const std::string& split, at::Tensor x, at::Tensor targets,
            std::vector<std::string> class_names = {}) {
    splits_[split] = {std::move(x), std::move(targets), std::move(class_names)};
  }
  // Training samples of each class.
  at::Tensor counts;

  const RunFacts& facts() const override { return run; }
  Random random(std::string_view purpose) const override {
    return Random(stream_key(run.seed, "eval." + std::string(purpose)));
  }
  const Features& features(const FeatureRequest& request) override {
    const Features& all = splits_.at(std::string(request.split));
    asked.emplace_back(request.split, request.views, request.draw);
    if (!request.samples.defined()) return all;
    given_.push_back({all.x.index_select(0, request.samples),
                      all.targets.index_select(0, request.samples), all.class_names});
    return given_.back();
  }
  at::Tensor class_counts() override { return counts; }
  at::Tensor points() override { return {}; }
  at::Tensor prior() override { return {}; }
  std::shared_ptr<Encoder> clone_encoder() override { return encoder; }
  void each_batch(const FeatureRequest& request, int64_t batch, int64_t epoch,
                  const std::function<bool(const at::Tensor&, const at::Tensor&)>& use) override {
    const Features& all = features(request);
    const int64_t n = all.x.size(0);
    const at::Tensor order = epoch < 0 ? at::arange(n, at::kLong)
                                       : Random(7, static_cast<uint64_t>(epoch)).permutation(n);
    for (int64_t at = 0; at < n; at += batch) {
      const at::Tensor rows = order.narrow(0, at, std::min(batch, n - at));
      if (!use(all.x.index_select(0, rows), all.targets.index_select(0, rows))) return;
    }
  }
  void metric(std::string_view name, double value, std::string_view definition) override {
    metrics[std::string(name)] = value;
    definitions[std::string(name)] = definition;
  }
  void table(std::string_view name, std::string_view caption, std::span<const std::string> columns,
             std::span<const std::vector<std::string>> rows) override {
    tables[std::string(name)] = {
        std::string(caption), {columns.begin(), columns.end()}, {rows.begin(), rows.end()}};
  }
  void picture(std::string_view name, std::string_view, std::string_view,
               std::string_view bytes) override {
    pictures[std::string(name)] = bytes;
  }
  void say(Severity, std::string_view message) override { said += std::string(message) + "\n"; }
  void* query(const char* id) override {
    return services && std::string_view(id) == EvaluationServices::kId ? services : nullptr;
  }

  RunFacts run;
  std::shared_ptr<Encoder> encoder;
  EvaluationServices* services = nullptr;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> definitions, pictures;
  std::map<std::string, Table> tables;
  std::vector<std::tuple<std::string, std::string, int64_t>> asked;  // split, views, draw
  std::string said;

 private:
  std::map<std::string, Features> splits_;
  std::deque<Features> given_;  // callers hold references
};

}  // namespace gh::testing
