// What bench/step.py and bench/methods.py run: training steps of a ResNet under a method, with the
// plugins, layers, allocator and optimiser of the product.
//
//   step_bench FILE LAYOUT THREADS NETWORK WIDTH SIZE RATE BATCH CONVOLUTION [METHOD]
//
// LAYOUT is contiguous or channels-last, NETWORK a component like resnet18, SIZE that of the square
// pictures, RATE that of learning, CONVOLUTION a value of train.convolution. Writes initial weights
// and batches to FILE (safetensors), then reads numbers of steps from standard input, one a line,
// and answers each with a line of JSON: the seconds the steps took, and their losses.
//
// With METHOD, which stands in for simclr, encoders are watched, and each answer has besides: how
// often views went forward and backward through an encoder (a view of half as many pixels counts
// half), calls of GH, and the width of what it saw. A line "forward N" is answered by the seconds
// of N forwards of a view through the encoder without gradient.
#include "machine/busy_watch.hpp"
#include "machine/caching_allocator.hpp"
#include "optimize/optimizer.hpp"
#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "train/state_archive.hpp"
#include "weights/safetensors.hpp"

#include "gh/ops/layers.hpp"
#include "gh/testing/fake_host.hpp"
#include "gh/testing/plugins.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

namespace {

using namespace gh;
using namespace gh::host;

constexpr int64_t kBatches = 3, kClasses = 10, kEpochs = 100;
constexpr std::size_t kViews = 2;

template <class Interface>
struct Part {
  std::unique_ptr<Params> params;
  ComponentPtr<Interface> component;
};

template <class Interface>
Part<Interface> load(Registry& registry, const std::string& id, const std::string& toml) {
  const auto found = registry.find(InterfaceOf<Interface>::kind, id);
  if (!found.schema) throw std::runtime_error(found.problem);
  const auto& schema = *found.schema;
  Diagnostics problems;
  const auto table = parse_toml(toml, id, problems);
  Part<Interface> out;
  out.params = make_params(schema, apply_schema(schema, *table, {}, id, {}, problems));
  if (problems.has_errors()) throw std::runtime_error(problems.text());
  out.component = registry.create<Interface>(id, *out.params);
  return out;
}

// Passes of views, in numbers of a tensor.
struct Passes {
  int64_t forward = 0, backward = 0;
};

// An encoder that counts what passes through it.
class WatchedEncoder final : public Encoder {
 public:
  WatchedEncoder(std::shared_ptr<Encoder> inner, std::shared_ptr<Passes> passes)
      : inner_(add_child("watched", std::move(inner))), passes_(std::move(passes)) {}
  int64_t features() const override { return inner_->features(); }
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor out = inner_->forward(x);
    passes_->forward += x.numel();
    if (out.requires_grad())
      out.register_hook(
          [passes = passes_, count = x.numel()](const at::Tensor&) { passes->backward += count; });
    return out;
  }
  void* query(const char* interface_id) override { return inner_->query(interface_id); }

 private:
  std::shared_ptr<Encoder> inner_;
  std::shared_ptr<Passes> passes_;
};

class WatchedStep final : public testing::FakeStep {
 public:
  using testing::FakeStep::FakeStep;
  using testing::FakeStep::harmonize;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override {
    ++harmonized;
    return testing::FakeStep::harmonize(z1, z2, options);
  }
  int64_t harmonized = 0;
};

// One rank, and the backbone that is measured.
class BenchHost final : public testing::FakeHost {
 public:
  BenchHost(RunFacts facts, const Backbone& backbone, at::MemoryFormat layout, bool watched)
      : testing::FakeHost(std::move(facts)),
        backbone_(backbone),
        layout_(layout),
        layers_(ops::fast_layers(ops::convolution_mode(this->facts().convolution))),
        passes_(watched ? std::make_shared<Passes>() : nullptr) {}

  LayerFactory& layers() override { return *layers_; }

  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* given) override {
    BackboneRequest request;
    request.sample_shape = facts().view_shapes[0];
    request.layers = given ? given : &layers();
    request.random = random(purpose);
    const auto encoder = backbone_.make(request);
    for (const NamedTensor& p : encoder->parameters())
      if (p.tensor.dim() == 4) p.tensor.set_data(p.tensor.detach().contiguous(layout_));
    if (passes_) return std::make_shared<WatchedEncoder>(encoder, passes_);
    return encoder;
  }
  void log_tensor(std::string_view, const at::Tensor&) override {}

  const std::shared_ptr<Passes>& passes() const { return passes_; }  // null: not watched

 private:
  const Backbone& backbone_;
  at::MemoryFormat layout_;
  std::shared_ptr<LayerFactory> layers_;
  std::shared_ptr<Passes> passes_;
};

struct Arguments {
  std::string file;
  at::MemoryFormat layout;
  int threads;
  std::string network;
  int64_t width, size;
  double rate;
  int64_t batch;
  std::string convolution;
  std::string method;  // "": simclr, not watched
};

class Bench {
 public:
  explicit Bench(const Arguments& a)
      : registry_(default_search_path({})),
        backbone_(load<Backbone>(registry_, a.network,
                                 fmt::format("width = {}\nstem = \"{}\"", a.width,
                                             a.size < 100 ? "small" : "imagenet"))),
        method_(load<SslMethod>(registry_, a.method.empty() ? "simclr" : a.method, "")),
        labels_(!a.method.empty() &&
                (registry_.info(GH_KIND_SSL, a.method).flags & GH_SEES_LABELS) != 0),
        host_(facts_of(a), *backbone_.component, a.layout, !a.method.empty()) {
    host_.serve(*method_.component);
    start();
    std::vector<OptimizedParameter> parameters;
    for (const at::Tensor& t : trainables_.parameters) parameters.push_back({.tensor = t});
    optimizer_ = make_sgd(std::move(parameters), {.lr = a.rate, .weight_decay = 5e-4});
    TensorFile file;
    StateSaver saver(file, "method");
    method_.component->visit_state(saver);
    for (int64_t i = 0; i < kBatches; ++i)
      for (std::size_t v = 0; v < kViews; ++v) {
        batches_.push_back(host_.views_of(v, a.batch, i).contiguous(a.layout));
        file.tensors.emplace_back(fmt::format("batch.{}.{}", i, v), batches_.back());
      }
    write_safetensors(a.file, file);
  }

  double step() {
    gh::Progress& now = host_.progress();
    Batch batch;
    batch.views = std::span(batches_).subspan(kViews * (now.step % kBatches), kViews);
    batch.global_size = batches_[0].size(0);
    batch.indices = at::arange(batch.global_size, at::kLong);
    if (labels_) batch.labels = batch.indices.remainder(kClasses);
    optimizer_->zero_grad();
    WatchedStep step(trainables_);
    method_.component->step(batch, step);
    method_.component->before_update(host_);
    optimizer_->step(optimizer_->base_rate());
    method_.component->after_update(host_);
    ++now.step;
    harmonized_ += step.harmonized;
    width_ = step.width;
    return step.losses.at(0);
  }

  void forward() {
    const at::NoGradGuard no_grad;
    method_.component->encoder()->forward(batches_[0]);
  }

  bool watched() const { return host_.passes() != nullptr; }
  // What happened since it was last asked for.
  nlohmann::json watch() {
    const auto view = static_cast<double>(batches_[0].numel());
    const Passes passes = std::exchange(*host_.passes(), {});
    return {{"forwards", static_cast<double>(passes.forward) / view},
            {"backwards", static_cast<double>(passes.backward) / view},
            {"harmonized", std::exchange(harmonized_, 0)},
            {"width", width_}};
  }

 private:
  // The method's own complaints tell how many samples it wants.
  RunFacts facts_of(const Arguments& a) const {
    RunFacts facts;
    facts.samples = facts.batch = a.batch;
    facts.convolution = a.convolution;
    facts.view_shapes.assign(kViews, {3, a.size, a.size});
    if (a.method.empty()) return facts;
    facts.epochs = kEpochs;
    facts.per_sample = {"strength"};
    std::string refusal;
    for (facts.samples = 8 * a.batch; facts.samples <= 1 << 18; facts.samples *= 4) {
      facts.steps_per_epoch = facts.samples / facts.batch;
      if (labels_) facts.class_counts.assign(kClasses, facts.samples / kClasses);
      testing::HeardComplaints complaints;
      method_.component->check(facts, complaints);
      if (complaints.text.empty()) return facts;
      refusal = complaints.text;
    }
    throw std::runtime_error(a.method + " refuses: " + refusal);
  }

  // Up to the first stage that trains, and into its first epoch.
  void start() {
    SslMethod& method = *method_.component;
    testing::StageList plan;
    method.plan_stages(host_.facts(), plan);
    if (plan.stages.empty()) plan.stages.emplace_back("train", kEpochs);
    method.build(host_);
    method.train(true);
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
      const auto& [name, epochs] = plan.stages[i];
      host_.progress() = {name, static_cast<int64_t>(i), 0, epochs, 0, 0};
      method.begin_stage(host_);
      if (epochs > 0) break;
      method.end_stage(host_);
    }
    method.trainable(trainables_);
    host_.progress().steps = std::max<int64_t>(1, host_.facts().steps_per_epoch) * kEpochs;
    method.begin_epoch(host_);
  }

  Registry registry_;
  Part<Backbone> backbone_;
  Part<SslMethod> method_;
  bool labels_;  // whether the method may see them
  BenchHost host_;
  testing::TrainableList trainables_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<at::Tensor> batches_;
  int64_t harmonized_ = 0, width_ = 0;
};

int run(const Arguments& arguments) {
  install_caching_allocator();
  at::set_num_threads(arguments.threads);
  const BusyWatch busy_watch;
  Bench bench(arguments);
  std::cout << "{}" << std::endl;  // ready
  for (std::string word; std::cin >> word;) {
    const bool forward = word == "forward";
    if (forward) std::cin >> word;
    std::vector<double> losses;
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0, count = std::stoi(word); i < count; ++i)
      forward ? bench.forward() : losses.push_back(bench.step());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    nlohmann::json answer = {{"seconds", seconds.count()}, {"losses", losses}};
    if (bench.watched()) answer.update(bench.watch());
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 10 || argc == 11)
      return run({.file = argv[1],
                  .layout = std::string_view(argv[2]) == "channels-last"
                                ? at::MemoryFormat::ChannelsLast
                                : at::MemoryFormat::Contiguous,
                  .threads = std::stoi(argv[3]),
                  .network = argv[4],
                  .width = std::stoll(argv[5]),
                  .size = std::stoll(argv[6]),
                  .rate = std::stod(argv[7]),
                  .batch = std::stoll(argv[8]),
                  .convolution = argv[9],
                  .method = argc == 11 ? argv[10] : ""});
    std::cerr << "see the top of bench/step_bench.cpp\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
