// Components that do as they are told by their parameters: what hosts must refuse before training,
// say, or hand over. Sound with their defaults.
#include "gh/component.hpp"
#include "gh/ops/convolution.hpp"
#include "gh/two_view.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>
#include <map>
#include <string>

namespace {

// Sixty numbers of three classes, and what may be wrong with them.
class Labels final : public gh::Split {
 public:
  Labels(std::string fault, bool train) : fault_(std::move(fault)), train_(train) {}
  int64_t size() const override { return train_ ? 60 : 12; }
  gh::TargetKind target_kind() const override {
    if (fault_ == "none" || (fault_ == "unlabelled-test" && !train_)) return gh::TargetKind::none;
    return fault_ == "not-finite" ? gh::TargetKind::real : gh::TargetKind::classes;
  }
  at::Tensor targets() const override {
    if (target_kind() == gh::TargetKind::none) return {};
    at::Tensor out = at::arange(size(), at::kLong).remainder(3);
    if (fault_ == "float") return out.to(at::kFloat);
    if (fault_ == "not-finite") return at::full({size()}, std::nan(""), at::kDouble);
    if (fault_ == "negative") out[5] = -1;
    if (fault_ == "absurd") out[5] = int64_t{1} << 50;
    if (fault_ == "absurd-test" && !train_) out[5] = int64_t{1} << 50;
    if (fault_ == "two-classes-in-test" && !train_) out = out.clamp_max(1);
    return out;
  }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, gh::SampleSink& sink) const override {
    const float angle = static_cast<float>(index % 3) * 2;
    const float values[] = {std::cos(angle) + 0.01F * static_cast<float>(index), std::sin(angle)};
    sink.vector(values);
  }
  std::string fingerprint() const override {
    return "labels-" + fault_ + (train_ ? "-train" : "-test");
  }

 private:
  std::string fault_;
  bool train_;
};

class LabelSet final : public gh::Dataset, public gh::SpeakingDataset {
 public:
  explicit LabelSet(const gh::Params& params) : fault_(params.text("fault")) {}
  std::vector<std::string> splits() const override { return {"train", "test"}; }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t) const override {
    gh::require(fault_ != "no-test" || split == "train", gh::ErrorCode::missing_data,
                "fetch the test from the zoo shop");
    return std::make_unique<Labels>(fault_, split == "train");
  }
  std::unique_ptr<gh::Split> open(std::string_view split, uint64_t seed,
                                  gh::Notices& notices) const override {
    notices.say(gh::Severity::warning, "left out 7 files of " + std::string(split));
    return open(split, seed);
  }
  void* query(const char* id) override {
    return std::string_view(id) == gh::SpeakingDataset::kId
               ? static_cast<gh::SpeakingDataset*>(this)
               : nullptr;
  }

 private:
  std::string fault_;
};

// Pulls two views together and never asks what GH makes of them. Says what it knows of the run.
class Aloof : public gh::TwoViewMethod {
 public:
  using TwoViewMethod::TwoViewMethod;
  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    if (!facts.drop_last) gh::warn(out, ".train.drop_last", "a last batch may be short");
  }
  void begin_stage(gh::Host& host) override {
    const gh::RunFacts& f = host.facts();
    host.say(gh::Severity::info,
             "facts: mode '" + f.harmonize_mode + "' apply '" + f.harmonize_apply + "' points " +
                 std::to_string(f.harmonize_points) + " drop_last " + std::to_string(f.drop_last) +
                 " sync_norm " + std::to_string(f.sync_norm) + " convolution " + f.convolution);
  }
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return (z1 - z2).pow(2).sum(1) + z1.pow(2).sum(1);
  }
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    host().log("distance", (z1 - z2).norm().item<double>());
    step.backward(losses(z1, z2).mean() + step.harmonize(z1, z2));
  }
  void* query(const char* id) override {
    return std::string_view(id) == gh::kProjects ? nullptr : TwoViewMethod::query(id);
  }
};

// Says that it projects, and does not.
class Boaster final : public Aloof {
 public:
  using Aloof::Aloof;
  void* query(const char* id) override { return TwoViewMethod::query(id); }
};

// Targets without gradient; says so only when asked for one.
class Blunt final : public gh::Allocator {
 public:
  explicit Blunt(const gh::Params&) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported, "no gradient");
    return at::full(request.logits.sizes(), 1.0 / static_cast<double>(request.logits.size(1)),
                    request.logits.options());
  }
};

// ---- a method whose encoder has layers and names of its own

class HalvedConvolution final : public gh::Layer {
 public:
  HalvedConvolution(const gh::ConvolutionSpec& spec, gh::Random& random,
                    gh::ops::ConvolutionMode mode)
      : arguments_{.stride = spec.stride,
                   .padding = spec.padding,
                   .dilation = spec.dilation,
                   .groups = spec.groups},
        mode_(mode) {
    const at::Tensor weight =
        at::empty({spec.out, spec.in / spec.groups, spec.kernel, spec.kernel});
    gh::initialize(weight, {}, spec.init, random);
    half_ = add_parameter("half", weight / 2);
  }
  at::Tensor forward(const at::Tensor& x) override {
    return gh::ops::convolution(x, half_ * 2, {}, arguments_, mode_);
  }

 private:
  gh::ops::ConvolutionArguments arguments_;
  gh::ops::ConvolutionMode mode_;
  at::Tensor half_;
};

class HalvedLayers final : public gh::LayerFactory {
 public:
  HalvedLayers(gh::Host& host, bool follows)
      : plain_(host.layers()),
        follows_(follows),
        mode_(follows ? gh::ops::convolution_mode(host.facts().convolution)
                      : gh::ops::ConvolutionMode::automatic) {}
  std::shared_ptr<gh::Layer> linear(const gh::LinearSpec& spec, gh::Random& random) override {
    return plain_.linear(spec, random);
  }
  std::shared_ptr<gh::Layer> convolution(const gh::ConvolutionSpec& spec,
                                         gh::Random& random) override {
    return std::make_shared<HalvedConvolution>(spec, random, mode_);
  }
  std::shared_ptr<gh::Normalization> normalization(const gh::NormalizationSpec& spec) override {
    return plain_.normalization(spec);
  }
  void* query(const char* id) override {
    return follows_ && std::string_view(id) == gh::kFollowsConvolution ? this : nullptr;
  }

 private:
  gh::LayerFactory& plain_;
  bool follows_;
  gh::ops::ConvolutionMode mode_;
};

class Halved final : public gh::SslMethod, public gh::EncoderLoader {
 public:
  explicit Halved(const gh::Params& params)
      : follows_(params.boolean("follows")), loads_(params.boolean("loads")) {}
  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    gh::parts::require_two_views(facts, out);
  }
  void build(gh::Host& host) override {
    HalvedLayers layers(host, follows_);
    encoder_ = host.make_backbone("encoder", &layers);
  }
  int64_t embedding_width() const override { return encoder_->features(); }
  void trainable(gh::Trainables& out) override { gh::add_all(out, *encoder_); }
  void step(const gh::Batch& batch, gh::Step& step) override {
    const at::Tensor z1 = embed(batch.views[0]), z2 = embed(batch.views[1]);
    step.backward((z1 - z2).pow(2).sum(1).mean() + step.harmonize(z1, z2));
  }
  void train(bool on) override { encoder_->train(on); }
  std::shared_ptr<gh::Encoder> encoder() override { return encoder_; }
  at::Tensor embed(const at::Tensor& x) override { return encoder_->forward(x); }
  void visit_state(gh::State& state) override { encoder_->visit_state(state, "encoder"); }

  std::shared_ptr<gh::Encoder> clone_encoder(gh::Host& host) override {
    auto copy = host.make_backbone("clone", nullptr);
    exchange(*copy, [](const at::Tensor& plain, const at::Tensor& own, double factor) {
      plain.copy_(own * factor);
    });
    return copy;
  }
  void load_encoder(const gh::Encoder& plain) override {
    exchange(plain, [](const at::Tensor& from, const at::Tensor& own, double factor) {
      own.copy_(from / factor);
    });
  }
  void* query(const char* id) override {
    return loads_ && std::string_view(id) == gh::EncoderLoader::kId
               ? static_cast<gh::EncoderLoader*>(this)
               : nullptr;
  }

 private:
  static std::vector<gh::NamedTensor> tensors(const gh::Module& module) {
    auto out = module.parameters();
    for (auto& buffer : module.buffers()) out.push_back(std::move(buffer));
    return out;
  }
  template <class Use>
  void exchange(const gh::Module& plain, Use use) {
    const at::NoGradGuard no_grad;
    std::map<std::string, at::Tensor> own;
    for (const gh::NamedTensor& t : tensors(*encoder_)) own[t.name] = t.tensor.detach();
    for (const gh::NamedTensor& t : tensors(plain)) {
      const std::string half = t.name.substr(0, t.name.rfind('.')) + ".half";
      const bool halved = t.tensor.dim() == 4;
      const at::Tensor other = own.at(halved ? half : t.name);
      if (t.tensor.is_floating_point()) use(t.tensor.detach(), other, halved ? 2 : 1);
    }
  }

  bool follows_, loads_;
  std::shared_ptr<gh::Encoder> encoder_;
};

constexpr gh::Param kLabels[] = {
    gh::choice("fault", "nothing",
               "nothing|none|float|not-finite|negative|absurd|absurd-test|"
               "unlabelled-test|two-classes-in-test|no-test",
               "what is wrong with the targets")};
constexpr gh::Param kPull[] = {GH_PROJECTOR_PARAMS};
constexpr gh::Param kHalved[] = {
    gh::boolean("follows", "true", "convolutions are computed as train.convolution says"),
    gh::boolean("loads", "true", "takes weights of a plain encoder")};

constexpr gh::Component kComponents[] = {
    gh::describe<LabelSet>("zoo_labels", "targets of every kind", kLabels),
    gh::describe<Aloof>("zoo_aloof", "never projects", kPull),
    gh::describe<Boaster>("zoo_boaster", "says that it projects", kPull),
    gh::describe<Blunt>("zoo_blunt", "targets without gradient"),
    gh::describe<Halved>("zoo_halved", "an encoder with names of its own", kHalved),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the keepers",
          .doc = "Components that do as they are told")
