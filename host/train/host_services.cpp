#include "train/host_services.hpp"

#include "eval/evaluation_mode.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <algorithm>

namespace gh::host {

HostServices::HostServices(RunFacts facts, SslMethod& method, const Backbone& backbone,
                           const SampleTable& train, const ViewMaker& views, Console& console)
    : facts_(std::move(facts)),
      method_(method),
      backbone_(backbone),
      train_(train),
      views_(views),
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
  const std::vector<int64_t> shape = train_.sample_shape();
  BackboneRequest request;
  request.sample_shape = shape;
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
  const at::Tensor order =
      stage_samples_.defined() ? stage_samples_ : at::arange(train_.size(), at::kLong);
  const ViewMaker plain(train_, ViewPlan{.count = 1, .noise = 0}, facts_.seed);
  const ViewMaker& maker = views == "train" ? views_ : plain;
  const EvaluationMode evaluation(method_);
  std::vector<at::Tensor> rows;
  for (int64_t begin = 0; begin < order.size(0); begin += facts_.batch) {
    const at::Tensor indices = order.slice(0, begin, std::min(order.size(0), begin + facts_.batch));
    rows.push_back(embed(maker.make(indices, progress_.epoch, 0).to(facts_.device, facts_.dtype))
                       .to(at::kCPU));
  }
  return at::cat(rows);
}

void HostServices::publish_per_sample(std::string_view name, const at::Tensor&) {
  fail(ErrorCode::unsupported, "no view operation of this recipe reads the per-sample value '",
       name, "'");
}

}  // namespace gh::host
