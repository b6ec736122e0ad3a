#include "train/encoder_maker.hpp"

#include "machine/memory.hpp"
#include "ranks/synced_layers.hpp"
#include "train/initial_weights.hpp"
#include "weights/weight_file.hpp"

#include "gh/error.hpp"
#include "gh/ops/layers.hpp"

#include <utility>

namespace gh::host {
namespace {

std::shared_ptr<LayerFactory> made_by(const TrainPlan& plan, Ranks& ranks) {
  std::shared_ptr<LayerFactory> layers = ops::fast_layers(plan.convolution);
  return plan.norm == Norm::of_all_ranks ? synced_layers(ranks, std::move(layers)) : layers;
}

}  // namespace

EncoderMaker::EncoderMaker(const RunFacts& facts, const TrainPlan& plan, const Backbone& backbone,
                           Ranks& ranks, RunLog& log)
    : facts_(facts),
      plan_(plan),
      backbone_(backbone),
      log_(log),
      // Layers are made in the machine's own memory, whatever device they move to.
      weighed_(std::make_shared<WeighedLayers>(made_by(plan, ranks), available_memory())),
      layers_(*weighed_) {}

std::shared_ptr<Encoder> EncoderMaker::raw(std::string_view purpose, LayerFactory* layers) {
  BackboneRequest request;
  request.sample_shape = facts_.view_shapes.front();
  request.layers = layers ? layers : &layers_;
  request.random = Random(stream_key(facts_.seed, "backbone." + std::string(purpose)));
  std::shared_ptr<Encoder> encoder = backbone_.make(request);
  require(encoder != nullptr, ErrorCode::internal, "the backbone made no encoder");
  return encoder;
}

std::shared_ptr<Encoder> EncoderMaker::make(std::string_view purpose, LayerFactory* layers) {
  const std::shared_ptr<Encoder> encoder =
      layers ? raw_of(purpose, *layers) : raw(purpose, nullptr);
  if (!plan_.weights.empty()) start_from_weights(*encoder, layers != nullptr);
  return placed(encoder);
}

std::shared_ptr<Encoder> EncoderMaker::raw_of(std::string_view purpose, LayerFactory& own) {
  CountedLayers counted(own);
  const int64_t before = layers_.convolutions();
  std::shared_ptr<Encoder> encoder = raw(purpose, &counted);
  const int64_t unheard = counted.convolutions() - (layers_.convolutions() - before);
  if (unheard > 0 && plan_.convolution != ops::ConvolutionMode::automatic &&
      !own.query(kFollowsConvolution) && !std::exchange(convolution_told_, true))
    log_.say(Severity::warning, "train.convolution = \"" + plan_.convolution_name +
                                    "\" does not reach " + std::to_string(unheard) +
                                    " convolutions which the method makes itself, unless it "
                                    "follows RunFacts::convolution without saying so");
  return encoder;
}

void EncoderMaker::start_from_weights(Encoder& encoder, bool own_layers) {
  if (!initial_weights_) initial_weights_ = read_weights(plan_.weights);
  if (own_layers && !match_weights(encoder, *initial_weights_).complete()) {
    weights_wait_ = true;
    return;
  }
  try {
    const WeightReport report = load_weights(encoder, *initial_weights_);
    if (!std::exchange(weights_told_, true))
      log_.say(Severity::info, describe(report, plan_.weights));
  } catch (const Error& error) {
    weights_refused_ = plan_.weights.string() + ": " + error.what();
    fail(error.code(), weights_refused_);
  }
}

void EncoderMaker::give_remaining_weights(SslMethod& method) {
  if (!weights_wait_) return;
  const std::shared_ptr<Encoder> plain = make("weights", nullptr);
  auto* const loader = static_cast<EncoderLoader*>(method.query(EncoderLoader::kId));
  if (loader) return loader->load_encoder(*plain);
  weights_refused_ = plan_.weights.string() +
                     ": the method gives the backbone layers of its own, whose names are not those "
                     "of the file, and takes no weights of a plain one (gh::EncoderLoader)";
  fail(ErrorCode::unsupported, weights_refused_);
}

std::shared_ptr<Encoder> EncoderMaker::make_fresh(std::string_view purpose) {
  return placed(raw(purpose, nullptr));
}

std::shared_ptr<Encoder> EncoderMaker::placed(std::shared_ptr<Encoder> encoder) const {
  encoder->to(facts_.device, facts_.dtype);
  if (plan_.channels_last)
    for (NamedTensor& p : encoder->parameters())
      if (p.tensor.dim() == 4)
        p.tensor.set_data(p.tensor.detach().contiguous(at::MemoryFormat::ChannelsLast));
  return encoder;
}

}  // namespace gh::host
