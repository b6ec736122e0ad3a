#include "train/host_services.hpp"

#include "eval/evaluation_mode.hpp"
#include "ranks/synced_layers.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"
#include "train/initial_weights.hpp"
#include "weights/weight_file.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"
#include "gh/ops/layers.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gh::host {

namespace {

std::shared_ptr<LayerFactory> made_by(const HostServices::EncoderPlan& plan, Ranks& ranks) {
  std::shared_ptr<LayerFactory> layers = ops::fast_layers(plan.convolution);
  return plan.synced_norm ? synced_layers(ranks, std::move(layers)) : layers;
}

}  // namespace

HostServices::HostServices(RunFacts facts, SslMethod& method, const Backbone& backbone, Data data,
                           EncoderPlan encoders, Ranks& ranks, Console& console)
    : facts_(std::move(facts)),
      method_(method),
      backbone_(backbone),
      data_(data),
      encoders_(std::move(encoders)),
      ranks_(ranks),
      console_(console),
      // Layers are made in the machine's own memory, whatever device they move to.
      weighed_(std::make_shared<WeighedLayers>(made_by(encoders_, ranks), available_memory())),
      layers_(*weighed_) {}

std::vector<RunDirectory::Picture> HostServices::pictures() const {
  std::vector<RunDirectory::Picture> out;
  for (const auto& entry : pictures_) out.push_back(entry.second);
  return out;
}

Random HostServices::random(std::string_view purpose) const {
  const uint64_t key =
      stream_key(stream_key(facts_.seed, "method." + std::string(purpose)), progress_.stage);
  return Random(call_ == 0 ? key : stream_key(key, "call " + std::to_string(call_)),
                static_cast<uint64_t>(progress_.step));
}

std::shared_ptr<Encoder> HostServices::new_backbone(std::string_view purpose,
                                                    LayerFactory* layers) {
  BackboneRequest request;
  request.sample_shape = facts_.view_shapes.front();
  request.layers = layers ? layers : &layers_;
  request.random = Random(stream_key(facts_.seed, "backbone." + std::string(purpose)));
  std::shared_ptr<Encoder> encoder = backbone_.make(request);
  require(encoder != nullptr, ErrorCode::internal, "the backbone made no encoder");
  return encoder;
}

std::shared_ptr<Encoder> HostServices::make_backbone(std::string_view purpose,
                                                     LayerFactory* layers) {
  const std::shared_ptr<Encoder> encoder =
      layers ? new_backbone_of(purpose, *layers) : new_backbone(purpose, nullptr);
  if (!encoders_.weights.empty()) start_from_weights(*encoder, layers != nullptr);
  return placed(encoder);
}

std::shared_ptr<Encoder> HostServices::new_backbone_of(std::string_view purpose,
                                                       LayerFactory& own) {
  CountedLayers counted(own);
  const int64_t before = layers_.convolutions();
  std::shared_ptr<Encoder> encoder = new_backbone(purpose, &counted);
  const int64_t unheard = counted.convolutions() - (layers_.convolutions() - before);
  if (unheard > 0 && encoders_.convolution != ops::ConvolutionMode::automatic &&
      !own.query(kFollowsConvolution) && !std::exchange(convolution_told_, true))
    say(Severity::warning, "train.convolution = \"" + facts_.convolution + "\" does not reach " +
                               std::to_string(unheard) +
                               " convolutions which the method makes itself, unless it follows "
                               "RunFacts::convolution without saying so");
  return encoder;
}

void HostServices::start_from_weights(Encoder& encoder, bool own_layers) {
  if (!initial_weights_) initial_weights_ = read_weights(encoders_.weights);
  if (own_layers && !match_weights(encoder, *initial_weights_).complete()) {
    weights_wait_ = true;
    return;
  }
  try {
    const WeightReport report = load_weights(encoder, *initial_weights_);
    if (!std::exchange(weights_told_, true))
      say(Severity::info, describe(report, encoders_.weights));
  } catch (const Error& error) {
    weights_refused_ = encoders_.weights.string() + ": " + error.what();
    fail(error.code(), weights_refused_);
  }
}

void HostServices::give_remaining_weights() {
  if (!weights_wait_) return;
  const std::shared_ptr<Encoder> plain = make_backbone("weights", nullptr);
  auto* const loader = static_cast<EncoderLoader*>(method_.query(EncoderLoader::kId));
  if (loader) return loader->load_encoder(*plain);
  weights_refused_ = encoders_.weights.string() +
                     ": the method gives the backbone layers of its own, whose names are not those "
                     "of the file, and takes no weights of a plain one (gh::EncoderLoader)";
  fail(ErrorCode::unsupported, weights_refused_);
}

std::shared_ptr<Encoder> HostServices::fresh_encoder(std::string_view purpose) {
  return placed(new_backbone(purpose, nullptr));
}

std::shared_ptr<Encoder> HostServices::placed(std::shared_ptr<Encoder> encoder) const {
  encoder->to(facts_.device, facts_.dtype);
  if (encoders_.channels_last)
    for (NamedTensor& p : encoder->parameters())
      if (p.tensor.dim() == 4)
        p.tensor.set_data(p.tensor.detach().contiguous(at::MemoryFormat::ChannelsLast));
  return encoder;
}

void HostServices::picture(std::string_view name, std::string_view caption, std::string_view mime,
                           std::string_view bytes) {
  const std::string key = valid_utf8(name);  // it is saved and found again as JSON
  pictures_[key] = {key, std::string(caption), std::string(mime), std::string(bytes)};
}

void HostServices::set_log(RunDirectory& directory) {
  directory_ = &directory;
  for (const std::string& line : std::exchange(said_, {})) directory.log(line);
}

void HostServices::say(Severity severity, std::string_view message) {
  if (directory_)
    directory_->log(message);
  else
    said_.emplace_back(message);
  if (severity == Severity::warning) console_.warn(message);
  if (severity == Severity::info) console_.say(message);
}

void HostServices::skipped(const std::string& reason) {
  if (skipped_.insert(reason).second)
    say(Severity::warning, "skipped, and the next sample taken in its place: " + reason);
}

at::Tensor HostServices::embed_all(std::string_view views,
                                   const std::function<at::Tensor(const at::Tensor&)>& embed) {
  require(views == "plain" || views == "train", ErrorCode::invalid_param,
          "embed_all knows the views \"plain\" and "
          "\"train\", not '",
          views, "'");
  at::NoGradGuard no_grad;
  LoaderOptions options = data_.loader;
  options.views = 1;
  Loader loader(data_.train, views == "train" ? data_.views : data_.plain_views, facts_.seed,
                options);
  loader.begin({.epoch = first_epoch_ + progress_.epoch,
                .order = stage_samples_.defined() ? stage_samples_
                                                  : at::arange(data_.train.size(), at::kLong),
                .batch = facts_.batch,
                .weights = weights_});
  const EvaluationMode evaluation(method_);
  std::vector<at::Tensor> rows;
  // A copy: `embed` may hand its argument back, whose memory is the loader's.
  while (const std::optional<LoadedBatch> batch = loader.next()) {
    throw_if_interrupted();
    rows.push_back(embed(batch->views[0]).to(at::kCPU).clone());
  }
  return at::cat(rows);
}

void HostServices::visit_state(State& state) {
  at::Tensor strength;
  if (weights_) strength = at::tensor(*weights_, at::kFloat);
  state.tensor("strength", strength);
  if (state.loading() && strength.defined())
    weights_ = std::make_shared<const std::vector<float>>(
        strength.data_ptr<float>(), strength.data_ptr<float>() + strength.numel());
  metrics_.visit_state(state, ranks_);
  visit_pictures(state);
}

// Bytes as a tensor: a picture may hold anything.
void HostServices::visit_pictures(State& state) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, picture] : pictures_)
    list.push_back({{"name", name}, {"caption", picture.caption}, {"mime", picture.mime}});
  std::string text = json_text(list);
  state.text("pictures", text);
  if (state.loading()) pictures_.clear();
  const nlohmann::json stored = parse_json(text);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::string name = stored[i]["name"];
    RunDirectory::Picture& picture = pictures_[name];
    at::Tensor bytes = at::empty({static_cast<int64_t>(picture.bytes.size())}, at::kByte);
    std::memcpy(bytes.data_ptr(), picture.bytes.data(), picture.bytes.size());
    state.tensor("picture." + std::to_string(i), bytes);
    if (state.loading())
      picture = {name, stored[i]["caption"], stored[i]["mime"],
                 std::string(static_cast<const char*>(bytes.data_ptr()), bytes.nbytes())};
  }
}

void HostServices::publish_per_sample(std::string_view name, const at::Tensor& values) {
  require(std::find(facts_.per_sample.begin(), facts_.per_sample.end(), name) !=
              facts_.per_sample.end(),
          ErrorCode::unsupported, "no view operation of this recipe reads the per-sample value '",
          name, "'");
  require(values.dim() == 1 && values.size(0) == facts_.samples, ErrorCode::shape,
          "the per-sample value '", name, "' must be [", facts_.samples, "], got ", values.sizes());
  const at::Tensor row = values.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* first = row.data_ptr<float>();
  for (int64_t i = 0; i < facts_.samples; ++i)
    require(first[i] >= 0 && first[i] <= 1, ErrorCode::numeric, "the per-sample value '", name,
            "' must lie in 0 … 1, sample ", i, " has ", first[i]);
  weights_ = std::make_shared<const std::vector<float>>(first, first + facts_.samples);
}

}  // namespace gh::host
