// gh::Host for the method of a run: what plugins may ask and tell. Where training stands it reads
// from the notebook, which the trainer writes.
#pragma once

#include "data/sample_set.hpp"
#include "plan/plan.hpp"
#include "ranks/ranks.hpp"
#include "train/encoder_maker.hpp"
#include "train/notebook.hpp"
#include "train/run_log.hpp"

#include "gh/host.hpp"
#include "gh/ssl.hpp"

#include <functional>
#include <memory>
#include <string_view>

namespace gh::host {

class HostServices final : public Host {
 public:
  // All of it outlives the services.
  struct Parts {
    const TrainPlan& plan;
    const SampleSet& train;
    SslMethod& method;
    EncoderMaker& encoders;
    Notebook& notebook;
    Ranks& ranks;
    RunLog& log;
  };
  explicit HostServices(const Parts& parts) : parts_(parts) {}

  const RunFacts& facts() const override { return parts_.notebook.facts; }
  const Progress& progress() const override { return parts_.notebook.progress; }
  Random random(std::string_view purpose) const override;
  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* layers) override {
    return parts_.encoders.make(purpose, layers);
  }
  LayerFactory& layers() override { return parts_.encoders.layers(); }
  void log(std::string_view name, double value) override {
    parts_.notebook.metrics.add(name, value);
  }
  void log_tensor(std::string_view name, const at::Tensor& scalar) override {
    parts_.notebook.metrics.add(name, scalar);
  }
  void picture(std::string_view name, std::string_view caption, std::string_view mime,
               std::string_view bytes) override {
    parts_.notebook.draw(name, caption, mime, bytes);
  }
  void say(Severity severity, std::string_view message) override {
    parts_.log.say(severity, message);
  }
  at::Tensor all_gather(const at::Tensor& rows) override { return parts_.ranks.all_gather(rows); }
  at::Tensor all_reduce_sum(const at::Tensor& value) override {
    return parts_.ranks.all_reduce_sum(value);
  }
  at::Tensor shuffle_rows(const at::Tensor& rows) override {
    return parts_.ranks.shuffle_rows(rows, random("shuffle_rows"));
  }
  at::Tensor unshuffle_rows(const at::Tensor& rows) override {
    return parts_.ranks.unshuffle_rows(rows, random("shuffle_rows"));
  }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override;
  void publish_per_sample(std::string_view name, const at::Tensor& values) override;
  void* query(const char*) override { return nullptr; }

 private:
  Parts parts_;
};

}  // namespace gh::host
