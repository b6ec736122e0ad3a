#include "gh/testing/fake_host.hpp"

#include "gh/testing/compare.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gh::testing {
namespace {

constexpr int64_t kChannels = 8;
constexpr int64_t kFeatures = 16;
constexpr int64_t kRowsAtOnce = 1024;

// A convolution and a linear layer with normalisation between, so that a method's own factory
// (masked convolutions, doubled normalisation) is put to use; the mean over positions takes views
// of any size.
class FakeEncoder : public Encoder {
 public:
  FakeEncoder(LayerFactory& layers, Random random)
      : convolution_(add_child(
            "conv", layers.convolution({.in = 3, .out = kChannels, .stride = 2}, random))),
        norm_(add_child("bn", layers.normalization({.channels = kChannels, .relu = true}))),
        linear_(add_child("fc", layers.linear({.in = kChannels, .out = kFeatures}, random))) {}
  int64_t features() const override { return kFeatures; }
  at::Tensor forward(const at::Tensor& x) override {
    return linear_->forward(norm_->forward(convolution_->forward(x)).mean({2, 3}));
  }

 private:
  std::shared_ptr<Layer> convolution_;
  std::shared_ptr<Normalization> norm_;
  std::shared_ptr<Layer> linear_;
};

// Layers as they come, kept in mind.
class RememberedLayers final : public LayerFactory {
 public:
  using Made = std::vector<std::pair<std::string, std::weak_ptr<Module>>>;
  explicit RememberedLayers(Made& made) : made_(made), plain_(standard_layers()) {}
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return kept(fmt::format("a linear layer of {} to {}", spec.in, spec.out),
                plain_->linear(spec, random));
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    return kept(fmt::format("a convolution of {} to {}", spec.in, spec.out),
                plain_->convolution(spec, random));
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return kept(fmt::format("a normalisation of {} channels", spec.channels),
                plain_->normalization(spec));
  }

 private:
  template <class M>
  std::shared_ptr<M> kept(std::string name, std::shared_ptr<M> module) {
    made_.emplace_back(std::move(name), module);
    return module;
  }
  Made& made_;
  std::shared_ptr<LayerFactory> plain_;
};

bool is_state_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

}  // namespace

std::string fault_of_name(std::string_view name) {
  const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return good ? "" : fmt::format("expected a name of [a-z0-9_], found \"{}\"", name);
}

FakeHost::FakeHost(RunFacts facts)
    : facts_(std::move(facts)), layers_(std::make_shared<RememberedLayers>(made_)) {}

Random FakeHost::random(std::string_view purpose) const {
  return Random(stream_key(facts_.seed, purpose),
                static_cast<uint64_t>(progress_.stage_index << 32 | progress_.step));
}

std::shared_ptr<Encoder> FakeHost::make_backbone(std::string_view purpose, LayerFactory* layers) {
  const auto encoder = std::make_shared<FakeEncoder>(layers != nullptr ? *layers : *layers_,
                                                     Random(stream_key(facts_.seed, purpose), 1));
  encoder->to(facts_.device, facts_.dtype);
  made_.emplace_back(fmt::format("the encoder \"{}\"", purpose), encoder);
  return encoder;
}

std::vector<std::string> FakeHost::in_train_mode() const {
  std::vector<std::string> encoders, layers;
  for (const auto& [name, module] : made_)
    if (const auto alive = module.lock(); alive && alive->training())
      (std::dynamic_pointer_cast<Encoder>(alive) ? encoders : layers).push_back(name);
  return encoders.empty() ? layers : encoders;
}

std::vector<std::string> FakeHost::collects_gradients(const TrainableList& trained) const {
  const auto is_trained = [&](const NamedTensor& p) {
    return std::ranges::any_of(trained.parameters,
                               [&](const at::Tensor& t) { return t.is_same(p.tensor); });
  };
  std::vector<std::string> out;
  for (const auto& [name, module] : made_) {
    const auto encoder = std::dynamic_pointer_cast<Encoder>(module.lock());
    if (!encoder) continue;
    const auto parameters = encoder->parameters();
    if (std::ranges::none_of(parameters, is_trained) &&
        std::ranges::any_of(parameters, [](const auto& p) { return p.tensor.grad().defined(); }))
      out.push_back(name);
  }
  return out;
}

void FakeHost::in_step(bool on) {
  in_step_ = on;
  if (!on && shuffled_ != 0)
    faults_.push_back(fmt::format("expected unshuffle_rows() for each shuffle_rows(), found {} {}",
                                  std::abs(shuffled_), shuffled_ > 0 ? "missing" : "too many"));
  shuffled_ = 0;
}

void FakeHost::collective(std::string_view name) {
  if (in_embed_)
    faults_.push_back(
        fmt::format("expected no collective within embed_all(), whose batches ranks "
                    "share out, found {}()",
                    name));
}

at::Tensor FakeHost::all_gather(const at::Tensor& rows) {
  collective("all_gather");
  return rows;
}

at::Tensor FakeHost::all_reduce_sum(const at::Tensor& value) {
  collective("all_reduce_sum");
  return value;
}

at::Tensor FakeHost::shuffle_rows(const at::Tensor& rows) {
  collective("shuffle_rows");
  ++shuffled_;
  if (rows.requires_grad())
    faults_.emplace_back(
        "expected rows without gradient for shuffle_rows(), which passes none back, found rows "
        "with one");
  return rows.detach();
}

at::Tensor FakeHost::unshuffle_rows(const at::Tensor& rows) {
  collective("unshuffle_rows");
  --shuffled_;
  if (rows.requires_grad())
    faults_.emplace_back(
        "expected rows without gradient for unshuffle_rows(), which passes none back, found rows "
        "with one: the network between the two would not be trained");
  return rows.detach();
}

void FakeHost::log(std::string_view name, double value) {
  logged_.emplace(name);
  if (const std::string fault = fault_of_name(name); !fault.empty())
    faults_.push_back(fault + " for log()");
  if (!std::isfinite(value))
    faults_.push_back(fmt::format("expected a finite {} to log, found {}", name, value));
}

void FakeHost::log_tensor(std::string_view name, const at::Tensor& scalar) {
  if (!scalar.defined() || scalar.numel() != 1)
    faults_.push_back(fmt::format("expected a scalar {} to log, found {}", name, describe(scalar)));
  else
    log(name, scalar.item<double>());
}

at::Tensor FakeHost::views_of(std::size_t view, int64_t count, int64_t key) const {
  std::vector<int64_t> sizes = {count};
  const auto& shape = facts_.view_shapes.at(view);
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  at::Tensor x = at::empty(sizes, at::kFloat);
  Random(stream_key(facts_.seed, fmt::format("view {}", view)), static_cast<uint64_t>(key))
      .fill_normal(x, 0, 1);
  return x.to(facts_.dtype);
}

at::Tensor FakeHost::embed_all(std::string_view views,
                               const std::function<at::Tensor(const at::Tensor&)>& embed) {
  if (in_step_)
    faults_.emplace_back(
        "expected embed_all() in begin_… or end_… only, found it called by step()");
  if (views != "plain" && views != "train")
    faults_.push_back(fmt::format(
        "expected the views \"plain\" or \"train\" for embed_all(), found \"{}\"", views));
  const at::NoGradGuard no_grad;
  in_embed_ = true;
  if (method_ != nullptr) method_->train(false);
  std::vector<at::Tensor> rows;
  for (int64_t at = 0; at < facts_.samples; at += kRowsAtOnce)
    rows.push_back(embed(views_of(0, std::min(kRowsAtOnce, facts_.samples - at), at)).detach());
  in_embed_ = false;
  if (method_ != nullptr) method_->train(true);
  return at::cat(rows);
}

void FakeHost::publish_per_sample(std::string_view name, const at::Tensor& values) {
  require(std::ranges::find(facts_.per_sample, name) != facts_.per_sample.end(),
          ErrorCode::unsupported, "no view reads ", name);
  if (!values.defined() || values.dim() != 1 || values.size(0) != facts_.samples ||
      !all_finite(values))
    faults_.push_back(fmt::format("expected {} finite values of {}, found {}", facts_.samples, name,
                                  describe(values)));
  else if (values.min().item<double>() < 0 || values.max().item<double>() > 1)
    faults_.push_back(fmt::format("expected values of {} in 0 … 1, found {:.3g} … {:.3g}", name,
                                  values.min().item<double>(), values.max().item<double>()));
}

void TrainableList::add(const at::Tensor& parameter, Policy, double rate) {
  if (!parameter.defined() || !parameter.is_leaf() || !parameter.requires_grad())
    return faults.push_back(
        fmt::format("expected a leaf that requires gradients, found {}", describe(parameter)));
  if (!std::isfinite(rate) || rate < 0)
    faults.push_back(fmt::format("expected a rate of 0 or more, found {}", rate));
  if (std::ranges::any_of(parameters, [&](const auto& p) { return p.is_same(parameter); }))
    return faults.push_back(
        fmt::format("expected each parameter once, found {} twice", describe(parameter)));
  parameters.push_back(parameter);
}

void FakeStep::backward(const at::Tensor& loss) {
  require(!reduced_, ErrorCode::internal,
          "backward() between reduce_gradients() and discard_gradients()");
  if (!loss.defined() || loss.numel() != 1)
    return faults.push_back(fmt::format("expected a scalar loss, found {}", describe(loss)));
  losses.push_back(loss.item<double>());
  if (!std::isfinite(losses.back()))
    faults.push_back(fmt::format("expected a finite loss, found {}", losses.back()));
  if (!loss.requires_grad()) {
    faults.emplace_back("expected a loss that carries gradients, found none");
    return;
  }
  (loss_scale_ == 1 ? loss : loss * loss_scale_).backward();
}

at::Tensor FakeStep::harmonize(const at::Tensor& z1, const at::Tensor& z2,
                               const HarmonizeOptions& options) {
  if (!z1.defined() || !z2.defined() || z1.dim() != 2 || z1.sizes() != z2.sizes()) {
    faults.push_back(
        fmt::format("expected two embeddings [B, width] for harmonize(), found {} and {}",
                    describe(z1), describe(z2)));
    return at::zeros(
        {}, z1.defined() ? z1.options().requires_grad(false) : at::TensorOptions(at::kFloat));
  }
  width = z1.size(1);
  rows_.push_back(z1.size(0));
  if (options.track != 0) ++tracked_;
  at::Tensor term = at::zeros({}, z1.options().requires_grad(false));
  if (!z1.requires_grad() && !z2.requires_grad()) return term;
  terms_.push_back(term.requires_grad_(true));
  return term * 1;
}

at::Tensor FakeStep::project(const at::Tensor& z) {
  projected = true;
  return points_.defined() ? z.matmul(points_) : z;
}

void FakeStep::unscale() {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& p : trainables_.parameters)
    if (p.grad().defined() && loss_scale_ != 1) p.mutable_grad().div_(loss_scale_);
  if (host_ != nullptr) host_->average_gradients(trainables_);
  reduced_ = true;
}

void FakeStep::require_one_call() const {
  require(host_ == nullptr || host_->facts().accumulate == 1, ErrorCode::unsupported,
          "reduce_gradients() and discard_gradients() with train.accumulate > 1");
}

void FakeStep::reduce_gradients() {
  require_one_call();
  unscale();
}

void FakeStep::discard_gradients() {
  require_one_call();
  reduced_ = false;
  for (const at::Tensor& p : trainables_.parameters) p.mutable_grad() = at::Tensor();
  terms_.clear();
  rows_.clear();
}

void FakeStep::finish(int64_t rows) {
  if (!reduced_) unscale();
  for (const int64_t found : rows_)
    if (found != rows)
      faults.push_back(fmt::format(
          "expected the {} rows of this call's batch for harmonize(), found {}", rows, found));
  if (tracked_ > 1)
    faults.push_back(fmt::format(
        "expected one call of harmonize() a step that feeds the prior, found {}; the others pass "
        "{{.track = 0}}",
        tracked_));
  if (learns && !rows_.empty() && terms_.empty())
    faults.emplace_back("expected embeddings with gradients for harmonize(), found none with any");
  for (const at::Tensor& term : terms_)
    if (!term.grad().defined()) {
      faults.emplace_back(
          "expected what harmonize() returns to be added to a loss, found it dropped");
      break;
    }
  if (points_.defined() && !points_.grad().defined())
    faults.emplace_back(
        "expected a loss of what Step::project() gives, found one that does not depend on it");
}

StateMap StateMap::loader_of(const StateMap& saved) {
  StateMap loader;
  loader.loading_ = true;
  loader.items_ = saved.items_;
  return loader;
}

StateMap::Item* StateMap::item(std::string_view name) {
  if (!is_state_name(name))
    faults.push_back(fmt::format("expected a name of [a-z0-9_.], found \"{}\"", name));
  if (!named_.emplace(name).second)
    faults.push_back(fmt::format("expected each name once, found \"{}\" twice", name));
  if (!loading_) return &items_[std::string(name)];
  const auto found = items_.find(name);
  if (found != items_.end()) return &found->second;
  faults.push_back(fmt::format("expected the names that were saved, found \"{}\"", name));
  return nullptr;
}

template <class T>
void StateMap::plain(std::string_view name, T& value) {
  Item* kept = item(name);
  if (kept == nullptr) return;
  if (!loading_)
    *kept = value;
  else if (const T* saved = std::get_if<T>(kept))
    value = *saved;
  else
    faults.push_back(fmt::format("{}: saved and loaded as different kinds", name));
}

void StateMap::integer(std::string_view name, int64_t& value) { plain(name, value); }
void StateMap::real(std::string_view name, double& value) { plain(name, value); }
void StateMap::text(std::string_view name, std::string& value) { plain(name, value); }

void StateMap::tensor(std::string_view name, at::Tensor& value) {
  Item* kept = item(name);
  if (kept == nullptr) return;
  if (!loading_) {
    if (value.defined()) visited_.insert(value.unsafeGetTensorImpl());
    if (value.defined() && value.grad_fn())
      faults.push_back(
          fmt::format("expected a tensor without history, found \"{}\" holding on to the graph of "
                      "a step: detach() what is kept",
                      name));
    *kept = value.defined() ? value.detach().clone() : at::Tensor();
    return;
  }
  const at::Tensor* saved = std::get_if<at::Tensor>(kept);
  if (saved == nullptr)
    return faults.push_back(fmt::format("{}: saved and loaded as different kinds", name));
  const bool in_place = value.defined() && saved->defined() && value.sizes() == saved->sizes() &&
                        value.scalar_type() == saved->scalar_type();
  const at::NoGradGuard no_grad;
  if (in_place)
    value.copy_(*saved);
  else
    value = saved->defined() ? saved->clone() : at::Tensor();
}

std::string StateMap::difference(const StateMap& other) const {
  for (const auto& [name, ours] : items_) {
    const auto theirs = other.items_.find(name);
    if (theirs == other.items_.end()) return fmt::format("\"{}\" is missing", name);
    if (ours.index() != theirs->second.index()) return fmt::format("\"{}\" changed its kind", name);
    const bool same = std::visit(
        [&]<class T>(const T& value) {
          const T& there = std::get<T>(theirs->second);
          if constexpr (std::is_same_v<T, at::Tensor>)
            return identical(value, there);
          else if constexpr (std::is_same_v<T, double>)
            return std::memcmp(&value, &there, sizeof value) == 0;
          else
            return value == there;
        },
        ours);
    if (!same) return fmt::format("\"{}\" differs", name);
  }
  for (const auto& [name, theirs] : other.items_)
    if (!items_.contains(name)) return fmt::format("\"{}\" appeared", name);
  return {};
}

}  // namespace gh::testing
