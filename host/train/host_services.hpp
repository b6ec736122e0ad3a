// gh::Host for the method of a run.
#pragma once

#include "data/loader.hpp"
#include "run/run_directory.hpp"
#include "train/console.hpp"
#include "train/epoch_metrics.hpp"

#include "gh/backbone.hpp"
#include "gh/host.hpp"
#include "gh/ssl.hpp"

#include <map>
#include <memory>
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
  HostServices(RunFacts facts, SslMethod& method, const Backbone& backbone, Data data,
               Console& console);

  // The trainer's side.
  Progress& progress_now() { return progress_; }
  EpochMetrics& metrics() { return metrics_; }
  void set_stage_samples(at::Tensor samples) { stage_samples_ = std::move(samples); }
  void set_log(RunDirectory* directory) { directory_ = directory; }
  std::vector<RunDirectory::Picture> pictures() const;
  // What was published for the views, per sample; null before that.
  const std::shared_ptr<const std::vector<float>>& weights() const { return weights_; }

  const RunFacts& facts() const override { return facts_; }
  const Progress& progress() const override { return progress_; }
  Random random(std::string_view purpose) const override;
  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* layers) override;
  LayerFactory& layers() override { return *layers_; }
  void log(std::string_view name, double value) override { metrics_.add(name, value); }
  void log_tensor(std::string_view name, const at::Tensor& scalar) override {
    metrics_.add(name, scalar);
  }
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override;
  void say(Severity severity, std::string_view message) override;
  at::Tensor all_gather(const at::Tensor& rows) override { return rows; }
  at::Tensor all_reduce_sum(const at::Tensor& value) override { return value; }
  at::Tensor shuffle_rows(const at::Tensor& rows) override { return rows; }
  at::Tensor unshuffle_rows(const at::Tensor& rows) override { return rows; }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override;
  void publish_per_sample(std::string_view name, const at::Tensor& values) override;
  void* query(const char*) override { return nullptr; }

 private:
  RunFacts facts_;
  SslMethod& method_;
  const Backbone& backbone_;
  Data data_;
  Console& console_;
  RunDirectory* directory_ = nullptr;
  std::shared_ptr<LayerFactory> layers_ = standard_layers();
  Progress progress_;
  EpochMetrics metrics_;
  at::Tensor stage_samples_;
  std::shared_ptr<const std::vector<float>> weights_;
  std::map<std::string, RunDirectory::Picture> pictures_;
};

}  // namespace gh::host
