// Encoders of a run: made by the recipe's backbone from layers of the host or of the method, with
// initial weights of a file where the recipe names one, on the run's device.
#pragma once

#include "plan/plan.hpp"
#include "ranks/ranks.hpp"
#include "train/counted_layers.hpp"
#include "train/run_log.hpp"
#include "train/weighed_layers.hpp"
#include "weights/safetensors.hpp"

#include "gh/backbone.hpp"
#include "gh/ssl.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

class EncoderMaker {
 public:
  // All of it outlives the maker.
  EncoderMaker(const RunFacts& facts, const TrainPlan& plan, const Backbone& backbone, Ranks& ranks,
               RunLog& log);

  // As Host::make_backbone().
  std::shared_ptr<Encoder> make(std::string_view purpose, LayerFactory* layers);
  // As the backbone makes it, whatever file of weights the recipe names.
  std::shared_ptr<Encoder> make_fresh(std::string_view purpose);
  LayerFactory& layers() { return layers_; }  // the host's own

  // After SslMethod::build(): hands the weights of the file to an encoder whose layers have other
  // names than the file, by EncoderLoader.
  void give_remaining_weights(SslMethod& method);

  // Why the networks do not fit into memory; "": they do.
  const std::string& too_large() const { return weighed_->refusal(); }
  // Why the file of weights was refused; empty: it was not.
  const std::string& weights_refused() const { return weights_refused_; }

 private:
  std::shared_ptr<Encoder> raw(std::string_view purpose, LayerFactory* layers);
  std::shared_ptr<Encoder> raw_of(std::string_view purpose, LayerFactory& own);
  void start_from_weights(Encoder& encoder, bool own_layers);
  std::shared_ptr<Encoder> placed(std::shared_ptr<Encoder> encoder) const;

  const RunFacts& facts_;
  const TrainPlan& plan_;
  const Backbone& backbone_;
  RunLog& log_;
  std::shared_ptr<WeighedLayers> weighed_;
  CountedLayers layers_;
  bool convolution_told_ = false;
  std::optional<TensorFile> initial_weights_;  // of the file, once read
  bool weights_told_ = false;
  bool weights_wait_ = false;  // for give_remaining_weights()
  std::string weights_refused_;
};

}  // namespace gh::host
