#include "train/host_services.hpp"

#include "eval/evaluation_mode.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <algorithm>

namespace gh::host {

HostServices::HostServices(RunFacts facts, SslMethod& method, const Backbone& backbone, Data data,
                           Console& console)
    : facts_(std::move(facts)),
      method_(method),
      backbone_(backbone),
      data_(data),
      console_(console) {}

std::vector<RunDirectory::Picture> HostServices::pictures() const {
  std::vector<RunDirectory::Picture> out;
  for (const auto& entry : pictures_) out.push_back(entry.second);
  return out;
}

Random HostServices::random(std::string_view purpose) const {
  const uint64_t key =
      stream_key(stream_key(facts_.seed, "method." + std::string(purpose)), progress_.stage);
  return Random(key, static_cast<uint64_t>(progress_.step));
}

std::shared_ptr<Encoder> HostServices::make_backbone(std::string_view purpose,
                                                     LayerFactory* layers) {
  BackboneRequest request;
  request.sample_shape = facts_.view_shapes.front();
  request.layers = layers ? layers : layers_.get();
  request.random = Random(stream_key(facts_.seed, "backbone." + std::string(purpose)));
  std::shared_ptr<Encoder> encoder = backbone_.make(request);
  require(encoder != nullptr, ErrorCode::internal, "the backbone made no encoder");
  encoder->to(facts_.device, facts_.dtype);
  return encoder;
}

void HostServices::picture(std::string_view name, std::string_view caption, std::string_view mime,
                           std::string_view bytes) {
  pictures_[std::string(name)] = {std::string(name), std::string(caption), std::string(mime),
                                  std::string(bytes)};
}

void HostServices::say(Severity severity, std::string_view message) {
  if (directory_) directory_->log(message);
  if (severity == Severity::warning) console_.warn(message);
  if (severity == Severity::info) console_.say(message);
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
  loader.begin({.epoch = progress_.epoch,
                .order = stage_samples_.defined() ? stage_samples_
                                                  : at::arange(data_.train.size(), at::kLong),
                .batch = facts_.batch,
                .weights = weights_});
  const EvaluationMode evaluation(method_);
  std::vector<at::Tensor> rows;
  // A copy: `embed` may hand its argument back, whose memory is the loader's.
  while (const std::optional<LoadedBatch> batch = loader.next())
    rows.push_back(embed(batch->views[0]).to(at::kCPU).clone());
  return at::cat(rows);
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
