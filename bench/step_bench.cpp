// What bench/step.py runs: training steps of a ResNet under simclr, with the plugins, layers,
// allocator and optimiser of the product.
//
//   step_bench FILE LAYOUT THREADS NETWORK WIDTH SIZE RATE BATCH CONVOLUTION
//
// LAYOUT is contiguous or channels-last, NETWORK a component like resnet18, SIZE that of the square
// pictures, RATE that of learning, CONVOLUTION a value of train.convolution. Writes initial weights
// and batches to FILE (safetensors), then reads numbers of steps from standard input, one a line,
// and answers each with a line of JSON: the seconds the steps took, and their losses.
#include "machine/busy_watch.hpp"
#include "machine/caching_allocator.hpp"
#include "optimize/optimizer.hpp"
#include "plugins/fake_host.hpp"
#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "train/state_archive.hpp"
#include "weights/safetensors.hpp"

#include "gh/ops/layers.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>

namespace {

using namespace gh;
using namespace gh::host;

constexpr int64_t kBatches = 3;

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

// One rank, and the backbone that is measured.
class BenchHost final : public FakeHost {
 public:
  BenchHost(RunFacts facts, const Backbone& backbone, at::MemoryFormat layout,
            ops::ConvolutionMode mode)
      : FakeHost(std::move(facts)),
        backbone_(backbone),
        layout_(layout),
        layers_(ops::fast_layers(mode)) {}

  LayerFactory& layers() override { return *layers_; }

  std::shared_ptr<Encoder> make_backbone(std::string_view purpose, LayerFactory* given) override {
    BackboneRequest request;
    request.sample_shape = facts().view_shapes[0];
    request.layers = given ? given : &layers();
    request.random = random(purpose);
    const auto encoder = backbone_.make(request);
    for (const NamedTensor& p : encoder->parameters())
      if (p.tensor.dim() == 4) p.tensor.set_data(p.tensor.detach().contiguous(layout_));
    return encoder;
  }
  void log_tensor(std::string_view, const at::Tensor&) override {}

 private:
  const Backbone& backbone_;
  at::MemoryFormat layout_;
  std::shared_ptr<LayerFactory> layers_;
};

struct Arguments {
  std::string file;
  at::MemoryFormat layout;
  int threads;
  std::string network;
  int64_t width, size;
  double rate;
  int64_t batch;
  ops::ConvolutionMode mode;
};

class Bench {
 public:
  explicit Bench(const Arguments& a)
      : registry_(default_search_path({})),
        backbone_(load<Backbone>(registry_, a.network,
                                 fmt::format("width = {}\nstem = \"{}\"", a.width,
                                             a.size < 100 ? "small" : "imagenet"))),
        method_(load<SslMethod>(registry_, "simclr", "")),
        host_(facts_of(a), *backbone_.component, a.layout, a.mode) {
    method_.component->build(host_);
    method_.component->train(true);
    method_.component->trainable(trainables_);
    std::vector<OptimizedParameter> parameters;
    for (const at::Tensor& t : trainables_.parameters) parameters.push_back({.tensor = t});
    optimizer_ = make_sgd(std::move(parameters), {.lr = a.rate, .weight_decay = 5e-4});
    TensorFile file;
    StateSaver saver(file, "method");
    method_.component->visit_state(saver);
    for (int64_t i = 0; i < kBatches; ++i)
      for (std::size_t v = 0; v < 2; ++v) {
        batches_.push_back(host_.views_of(v, a.batch, i).contiguous(a.layout));
        file.tensors.emplace_back(fmt::format("batch.{}.{}", i, v), batches_.back());
      }
    write_safetensors(a.file, file);
  }

  double step() {
    Batch batch;
    batch.views = std::span(batches_).subspan(2 * (steps_++ % kBatches), 2);
    batch.global_size = batches_[0].size(0);
    optimizer_->zero_grad();
    FakeStep step(trainables_);
    method_.component->step(batch, step);
    optimizer_->step(optimizer_->base_rate());
    return step.losses.at(0);
  }

 private:
  static RunFacts facts_of(const Arguments& a) {
    RunFacts facts;
    facts.samples = facts.batch = a.batch;
    facts.view_shapes = {{3, a.size, a.size}, {3, a.size, a.size}};
    return facts;
  }

  Registry registry_;
  Part<Backbone> backbone_;
  Part<SslMethod> method_;
  BenchHost host_;
  TrainableList trainables_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<at::Tensor> batches_;
  int64_t steps_ = 0;
};

int run(const Arguments& arguments) {
  install_caching_allocator();
  at::set_num_threads(arguments.threads);
  const BusyWatch busy_watch;
  Bench bench(arguments);
  std::cout << "{}" << std::endl;  // ready
  for (int steps = 0; std::cin >> steps;) {
    std::vector<double> losses;
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) losses.push_back(bench.step());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    std::cout << nlohmann::json{{"seconds", seconds.count()}, {"losses", losses}} << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 10)
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
                  .mode = ops::convolution_mode(argv[9])});
    std::cerr << "see the top of bench/step_bench.cpp\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
