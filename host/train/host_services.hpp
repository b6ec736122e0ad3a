// gh::Host for the method of a run.
#pragma once

#include "data/loader.hpp"
#include "ranks/ranks.hpp"
#include "run/run_directory.hpp"
#include "train/console.hpp"
#include "train/counted_layers.hpp"
#include "train/epoch_metrics.hpp"
#include "train/memory_budget.hpp"
#include "weights/safetensors.hpp"

#include "gh/backbone.hpp"
#include "gh/host.hpp"
#include "gh/ops/convolution.hpp"
#include "gh/ssl.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gh::host {

class HostServices final : public Host {
 public:
  // What the run trains on, and how; all of it outlives the services.
  struct Data {
    const SampleSet& train;
    const ViewPlan& views;
    const ViewPlan& plain_views;
    LoaderOptions loader;
  };
  // What an encoder starts with and how it lies in memory.
  struct EncoderPlan {
    std::filesystem::path weights;  // empty: initial weights of the backbone
    bool channels_last = false;
    ops::ConvolutionMode convolution = ops::ConvolutionMode::automatic;
    bool synced_norm = true;  // batch statistics over all ranks
  };
  HostServices(RunFacts facts, SslMethod& method, const Backbone& backbone, Data data,
               EncoderPlan encoders, Ranks& ranks, Console& console);

  // The trainer's side.
  Progress& progress_now() { return progress_; }
  void set_call(int64_t call) { call_ = call; }  // of step(), within an optimiser step
  void set_points(int64_t points) { facts_.harmonize_points = points; }  // of the structure
  Ranks& ranks() { return ranks_; }
  EpochMetrics& metrics() { return metrics_; }
  void set_stage_samples(at::Tensor samples) { stage_samples_ = std::move(samples); }
  void set_first_epoch(int64_t epoch) { first_epoch_ = epoch; }  // of the stage, in the run
  // A sample another one stood in for: said once in a run, whoever met it.
  void skipped(const std::string& reason);
  void set_log(RunDirectory& directory);  // which also gets what was said before
  std::vector<RunDirectory::Picture> pictures() const;
  // What was published for the views, per sample; null before that.
  const std::shared_ptr<const std::vector<float>>& weights() const { return weights_; }
  void visit_state(State& state);  // what was published and logged
  // Why the networks do not fit into memory; "": they do.
  const std::string& too_large() const { return weighed_->refusal(); }
  // After SslMethod::build(): hands the weights of the file to an encoder whose layers have other
  // names than the file, by EncoderLoader.
  void give_remaining_weights();
  // Why the file of weights was refused; empty: it was not.
  const std::string& weights_refused() const { return weights_refused_; }
  // As the backbone makes it, whatever file of weights the recipe names.
  std::shared_ptr<Encoder> fresh_encoder(std::string_view purpose);

  const RunFacts& facts() const override { return facts_; }
  const Progress& progress() const override { return progress_; }
  Random random(std::string_view purpose) const override;
  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* layers) override;
  LayerFactory& layers() override { return layers_; }
  void log(std::string_view name, double value) override { metrics_.add(name, value); }
  void log_tensor(std::string_view name, const at::Tensor& scalar) override {
    metrics_.add(name, scalar);
  }
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override;
  void say(Severity severity, std::string_view message) override;
  at::Tensor all_gather(const at::Tensor& rows) override { return ranks_.all_gather(rows); }
  at::Tensor all_reduce_sum(const at::Tensor& value) override {
    return ranks_.all_reduce_sum(value);
  }
  at::Tensor shuffle_rows(const at::Tensor& rows) override {
    return ranks_.shuffle_rows(rows, random("shuffle_rows"));
  }
  at::Tensor unshuffle_rows(const at::Tensor& rows) override {
    return ranks_.unshuffle_rows(rows, random("shuffle_rows"));
  }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override;
  void publish_per_sample(std::string_view name, const at::Tensor& values) override;
  void* query(const char*) override { return nullptr; }

 private:
  void visit_pictures(State& state);
  std::shared_ptr<Encoder> new_backbone_of(std::string_view purpose, LayerFactory& own);
  void start_from_weights(Encoder& encoder, bool own_layers);
  std::shared_ptr<Encoder> new_backbone(std::string_view purpose, LayerFactory* layers);
  std::shared_ptr<Encoder> placed(std::shared_ptr<Encoder> encoder) const;

  RunFacts facts_;
  SslMethod& method_;
  const Backbone& backbone_;
  Data data_;
  EncoderPlan encoders_;
  Ranks& ranks_;
  Console& console_;
  RunDirectory* directory_ = nullptr;
  std::vector<std::string> said_;  // before there was a directory
  std::shared_ptr<WeighedLayers> weighed_;
  CountedLayers layers_;  // the host's own
  bool convolution_told_ = false;
  std::optional<TensorFile> initial_weights_;  // of the file, once read
  bool weights_told_ = false;
  bool weights_wait_ = false;  // for give_remaining_weights()
  std::string weights_refused_;
  Progress progress_;
  int64_t call_ = 0;
  EpochMetrics metrics_;
  at::Tensor stage_samples_;
  int64_t first_epoch_ = 0;
  std::shared_ptr<const std::vector<float>> weights_;
  std::map<std::string, RunDirectory::Picture> pictures_;
  std::set<std::string> skipped_;  // reasons already told
};

}  // namespace gh::host
