// A host that is just enough to try an SSL method: one rank, a two-layer encoder, random views, no
// data. It notices what the method does to it that it must not.
#pragma once

#include "gh/component.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gh::testing {

class TrainableList;

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
  at::Tensor all_gather(const at::Tensor& rows) override;
  at::Tensor all_reduce_sum(const at::Tensor& value) override;
  at::Tensor shuffle_rows(const at::Tensor& rows) override;
  at::Tensor unshuffle_rows(const at::Tensor& rows) override;
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
  // What the method did to the host that it must not, since the last time it was asked.
  std::vector<std::string> take_faults() { return std::exchange(faults_, {}); }

  // Whether step() runs: some services are not for it.
  void in_step(bool on);
  // Gradients become their mean over ranks.
  virtual void average_gradients(const TrainableList&) {}
  // What it made, still lives and is in train mode: encoders by purpose or, if none, layers.
  std::vector<std::string> in_train_mode() const;
  // Encoders that it made, of which parameters have gradients and none is trained.
  std::vector<std::string> collects_gradients(const TrainableList& trained) const;

 protected:
  // Every collective comes by here.
  virtual void collective(std::string_view name);

 private:
  RunFacts facts_;
  gh::Progress progress_;
  SslMethod* method_ = nullptr;
  std::shared_ptr<LayerFactory> layers_;
  std::set<std::string, std::less<>> logged_;
  std::vector<std::string> faults_;
  std::vector<std::pair<std::string, std::weak_ptr<Module>>> made_;
  bool in_step_ = false, in_embed_ = false;
  int64_t shuffled_ = 0;  // and not yet put back
};

// What the optimiser would train.
class TrainableList : public Trainables {
 public:
  void add(const at::Tensor& parameter, Policy policy, double rate) override;
  std::vector<at::Tensor> parameters;
  std::vector<std::string> faults;
};

// "", or what is wrong with a name of a metric, table or picture.
std::string fault_of_name(std::string_view name);

class StageList : public Stages {
 public:
  void add(std::string_view name, int64_t epochs) override { stages.emplace_back(name, epochs); }
  std::vector<std::pair<std::string, int64_t>> stages;
};

// GH is a term of value zero that notices what becomes of it; as a projector it leaves embeddings as
// they are, or multiplies them with `points`.
class FakeStep : public Step, private Projection {
 public:
  // `host` averages gradients; null: there is one rank.
  explicit FakeStep(const TrainableList& trainables, FakeHost* host = nullptr,
                    double loss_scale = 1, at::Tensor points = {})
      : trainables_(trainables), host_(host), loss_scale_(loss_scale), points_(std::move(points)) {}
  void backward(const at::Tensor& loss) override;
  using Step::harmonize;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override;
  void reduce_gradients() override;
  void discard_gradients() override;
  void* query(const char* id) override {
    return std::string_view(id) == Projection::kId ? static_cast<Projection*>(this) : nullptr;
  }
  // After step(): gradients as the optimiser meets them. Faults that only now can be seen.
  void finish(int64_t rows);

  std::vector<double> losses;
  std::vector<std::string> faults;
  int64_t width = 0;       // of what came to harmonize(), 0: never called
  bool projected = false;  // project() was asked for
  bool learns = false;     // set it where the encoder is trained: GH has something to move

 private:
  at::Tensor project(const at::Tensor& z) override;
  void unscale();
  void require_one_call() const;

  const TrainableList& trainables_;
  FakeHost* host_;
  double loss_scale_;
  at::Tensor points_;
  std::vector<at::Tensor> terms_;  // leaves of what harmonize() gave
  std::vector<int64_t> rows_;      // of what came to it
  int64_t tracked_ = 0;
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
  // Names with this ending.
  void leave_out(std::string_view ending) {
    std::erase_if(items_, [&](const auto& item) { return item.first.ends_with(ending); });
  }
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

}  // namespace gh::testing
