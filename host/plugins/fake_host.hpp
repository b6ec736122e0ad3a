// A host that is just enough to try an SSL method: one rank, a two-layer encoder, random views, no
// data.
#pragma once

#include "gh/component.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace gh::host {

class FakeHost : public Host {
 public:
  explicit FakeHost(RunFacts facts);

  const RunFacts& facts() const override { return facts_; }
  const gh::Progress& progress() const override { return progress_; }
  Random random(std::string_view purpose) const override;
  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* layers) override;
  LayerFactory& layers() override { return *layers_; }
  void log(std::string_view name, double value) override;
  void log_tensor(std::string_view name, const at::Tensor& scalar) override;
  void picture(std::string_view, std::string_view, std::string_view, std::string_view) override {}
  void say(Severity, std::string_view) override {}
  at::Tensor all_gather(const at::Tensor& rows) override { return rows; }
  at::Tensor all_reduce_sum(const at::Tensor& value) override { return value; }
  at::Tensor shuffle_rows(const at::Tensor& rows) override { return rows; }
  at::Tensor unshuffle_rows(const at::Tensor& rows) override { return rows; }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override;
  void publish_per_sample(std::string_view name, const at::Tensor& values) override;
  void* query(const char*) override { return nullptr; }

  gh::Progress& progress() { return progress_; }
  // Whose mode embed_all() changes.
  void serve(SslMethod& method) { method_ = &method; }
  // [count, …shape of view `view`], keyed by seed, view and `key`.
  at::Tensor views_of(std::size_t view, int64_t count, int64_t key) const;
  const std::set<std::string, std::less<>>& logged() const { return logged_; }  // names
  // What the method did to the host that it must not.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  RunFacts facts_;
  gh::Progress progress_;
  SslMethod* method_ = nullptr;
  std::shared_ptr<LayerFactory> layers_;
  std::set<std::string, std::less<>> logged_;
  std::vector<std::string> faults_;
};

// What the optimiser would train.
class TrainableList : public Trainables {
 public:
  void add(const at::Tensor& parameter, Policy policy, double rate) override;
  std::vector<at::Tensor> parameters;
  std::vector<std::string> faults;
};

class StageList : public Stages {
 public:
  void add(std::string_view name, int64_t epochs) override { stages.emplace_back(name, epochs); }
  std::vector<std::pair<std::string, int64_t>> stages;
};

// Backward without scaling; GH is off, and as a projector leaves embeddings as they are.
class FakeStep : public Step, private Projection {
 public:
  explicit FakeStep(const TrainableList& trainables) : trainables_(trainables) {}
  void backward(const at::Tensor& loss) override;
  using Step::harmonize;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override;
  void reduce_gradients() override { reduced_ = true; }
  void discard_gradients() override;
  void* query(const char* id) override {
    return std::string_view(id) == Projection::kId ? static_cast<Projection*>(this) : nullptr;
  }

  std::vector<double> losses;
  std::vector<std::string> faults;
  int64_t width = 0;       // of what came to harmonize(), 0: never called
  bool projected = false;  // project() was asked for

 private:
  at::Tensor project(const at::Tensor& z) override {
    projected = true;
    return z;
  }

  const TrainableList& trainables_;
  bool reduced_ = false;
};

// Named state in memory: saves, or loads what another one saved.
class StateMap : public State {
 public:
  using Item = std::variant<at::Tensor, int64_t, double, std::string>;
  StateMap() = default;
  static StateMap loader_of(const StateMap& saved);

  bool loading() const override { return loading_; }
  void tensor(std::string_view name, at::Tensor& value) override;
  void integer(std::string_view name, int64_t& value) override;
  void real(std::string_view name, double& value) override;
  void text(std::string_view name, std::string& value) override;

  // The first difference in words, or "".
  std::string difference(const StateMap& other) const;
  bool visited(const at::Tensor& tensor) const {
    return visited_.contains(tensor.unsafeGetTensorImpl());
  }
  std::vector<std::string> faults;

 private:
  Item* item(std::string_view name);
  template <class T>
  void plain(std::string_view name, T& value);

  bool loading_ = false;
  std::map<std::string, Item, std::less<>> items_;
  std::set<std::string, std::less<>> named_;
  std::set<const void*> visited_;
};

}  // namespace gh::host
