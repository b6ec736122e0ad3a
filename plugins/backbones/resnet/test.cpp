#include "support/plugin_fixture.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

namespace {

using namespace gh;

std::shared_ptr<Encoder> make(const std::string& id, const std::string& toml,
                              LayerFactory* layers = nullptr, uint64_t key = 1) {
  const auto backbone = test::load<Backbone>(id, toml);
  const auto standard = standard_layers();
  const std::vector<int64_t> shape = {3, 32, 32};
  BackboneRequest request;
  request.sample_shape = shape;
  request.layers = layers ? layers : standard.get();
  request.random = Random(key);
  return backbone->make(request);
}

at::Tensor normal(std::vector<int64_t> shape, uint64_t key) {
  const at::Tensor x = at::empty(shape, at::kDouble);
  Random(key).fill_normal(x, 0, 1);
  return x;
}

// torchvision's ResNets as a list of what its state dictionary holds, from the rules of its
// constructor: convolutions without bias, and normalisations.
struct Reference {
  struct Convolution {
    std::string name;
    std::vector<int64_t> shape;
  };
  std::vector<Convolution> convolutions;
  std::vector<std::pair<std::string, int64_t>> norms;

  Reference(int depth, int64_t width, int64_t stem_kernel) {
    const bool bottleneck = depth == 50;
    const std::vector<int> counts =
        depth == 18 ? std::vector<int>{2, 2, 2, 2} : std::vector<int>{3, 4, 6, 3};
    add("conv1", "bn1", width, 3, stem_kernel);
    int64_t inplanes = width;
    for (int stage = 1; stage <= 4; ++stage) {
      const int64_t planes = width * (1 << (stage - 1)), out = bottleneck ? 4 * planes : planes;
      for (int block = 0; block < counts[stage - 1]; ++block) {
        const std::string at = "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
        if (bottleneck) {
          add(at + "conv1", at + "bn1", planes, inplanes, 1);
          add(at + "conv2", at + "bn2", planes, planes, 3);
          add(at + "conv3", at + "bn3", out, planes, 1);
        } else {
          add(at + "conv1", at + "bn1", planes, inplanes, 3);
          add(at + "conv2", at + "bn2", planes, planes, 3);
        }
        // torchvision: a first block whose stride or number of channels changes.
        if (block == 0 && (stage > 1 || inplanes != out))
          add(at + "downsample.0", at + "downsample.1", out, inplanes, 1);
        inplanes = out;
      }
    }
  }

  void add(const std::string& convolution, const std::string& norm, int64_t out, int64_t in,
           int64_t kernel) {
    convolutions.push_back({convolution, {out, in, kernel, kernel}});
    norms.emplace_back(norm, out);
  }
};

using Tensors = std::map<std::string, at::Tensor>;

Tensors tensors_of(const Module& module) {
  Tensors out;
  for (const auto& list : {module.parameters(), module.buffers()})
    for (const NamedTensor& t : list) out[t.name] = t.tensor.detach().clone();
  return out;
}

// The forward pass in plain operators, from tensors by name.
class PlainResnet {
 public:
  PlainResnet(int depth, bool small_stem, bool training, Tensors tensors)
      : depth_(depth), small_(small_stem), training_(training), tensors_(std::move(tensors)) {}

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = small_ ? conv("conv1", x, 1, 1) : conv("conv1", x, 2, 3);
    y = at::relu(norm("bn1", y));
    if (!small_) y = at::max_pool2d(y, 3, 2, 1);
    for (int stage = 1; stage <= 4; ++stage)
      for (int block = 0;; ++block) {
        const std::string at = "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
        if (!tensors_.contains(at + "conv1.weight")) break;
        y = residual_block(at, y, stage > 1 && block == 0 ? 2 : 1);
      }
    return y.flatten(2).mean(2);
  }
  const at::Tensor& tensor(const std::string& name) const { return tensors_.at(name); }

 private:
  at::Tensor residual_block(const std::string& at, const at::Tensor& x, int64_t stride) {
    at::Tensor y;
    if (depth_ == 50) {
      y = at::relu(norm(at + "bn1", conv(at + "conv1", x, 1, 0)));
      y = at::relu(norm(at + "bn2", conv(at + "conv2", y, stride, 1)));
      y = norm(at + "bn3", conv(at + "conv3", y, 1, 0));
    } else {
      y = at::relu(norm(at + "bn1", conv(at + "conv1", x, stride, 1)));
      y = norm(at + "bn2", conv(at + "conv2", y, 1, 1));
    }
    const bool projected = tensors_.contains(at + "downsample.0.weight");
    return at::relu(
        y + (projected ? norm(at + "downsample.1", conv(at + "downsample.0", x, stride, 0)) : x));
  }
  at::Tensor conv(const std::string& name, const at::Tensor& x, int64_t stride, int64_t padding) {
    return at::conv2d(x, tensors_.at(name + ".weight"), {}, stride, padding);
  }
  at::Tensor norm(const std::string& name, const at::Tensor& x) {
    return at::batch_norm(x, tensors_.at(name + ".weight"), tensors_.at(name + ".bias"),
                          tensors_.at(name + ".running_mean"), tensors_.at(name + ".running_var"),
                          training_, 0.1, 1e-5, false);
  }

  int depth_;
  bool small_, training_;
  Tensors tensors_;
};

// Hands out standard layers and counts them.
class CountingLayers final : public LayerFactory {
 public:
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    ++linears;
    return standard_->linear(spec, random);
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    convolutions.push_back(spec);
    return standard_->convolution(spec, random);
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    norms.push_back(spec);
    return standard_->normalization(spec);
  }
  int linears = 0;
  std::vector<ConvolutionSpec> convolutions;
  std::vector<NormalizationSpec> norms;

 private:
  std::shared_ptr<LayerFactory> standard_ = standard_layers();
};

TEST_CASE("resnet names, orders and shapes everything as torchvision does") {
  for (const int depth : {18, 34, 50})
    for (const auto& [stem, kernel] : {std::pair{"imagenet", 7}, std::pair{"small", 3}}) {
      INFO("resnet" << depth << ", stem " << stem);
      const auto encoder =
          make("resnet" + std::to_string(depth), "width = 6\nstem = \"" + std::string(stem) + "\"");
      const Reference reference(depth, 6, kernel);
      const auto parameters = encoder->parameters(), buffers = encoder->buffers();
      REQUIRE(parameters.size() == 3 * reference.convolutions.size());
      REQUIRE(buffers.size() == 3 * reference.convolutions.size());
      for (std::size_t i = 0; i < reference.convolutions.size(); ++i) {
        const auto& [name, shape] = reference.convolutions[i];
        const auto& [norm, channels] = reference.norms[i];
        CHECK(parameters[3 * i].name == name + ".weight");
        CHECK(parameters[3 * i].tensor.sizes() == at::IntArrayRef(shape));
        CHECK(parameters[3 * i + 1].name == norm + ".weight");
        CHECK(parameters[3 * i + 2].name == norm + ".bias");
        CHECK(buffers[3 * i].name == norm + ".running_mean");
        CHECK(buffers[3 * i + 1].name == norm + ".running_var");
        CHECK(buffers[3 * i + 2].name == norm + ".num_batches_tracked");
        for (const auto& t :
             {parameters[3 * i + 1], parameters[3 * i + 2], buffers[3 * i], buffers[3 * i + 1]})
          CHECK(t.tensor.sizes() == at::IntArrayRef({channels}));
      }
    }
}

TEST_CASE("resnet has the published number of parameters and features") {
  for (const auto& [id, parameters, features] :
       {std::tuple{"resnet18", 11'176'512, 512}, std::tuple{"resnet34", 21'284'672, 512},
        std::tuple{"resnet50", 23'508'032, 2048}}) {
    const auto encoder = make(id, "");
    int64_t count = 0;
    for (const NamedTensor& p : encoder->parameters()) count += p.tensor.numel();
    CHECK(count == parameters);
    CHECK(encoder->features() == features);
  }
}

TEST_CASE("resnet projects its shortcut exactly where the shape changes") {
  const auto projected = [](const std::string& id) {
    std::set<std::string> out;
    for (const NamedTensor& p : make(id, "width = 2")->parameters())
      if (p.name.ends_with("downsample.0.weight")) out.insert(p.name.substr(0, 8));
    return out;
  };
  const std::set<std::string> last = {"layer2.0", "layer3.0", "layer4.0"};
  CHECK(projected("resnet18") == last);
  CHECK(projected("resnet34") == last);
  std::set<std::string> all = last;
  all.insert("layer1.0");
  CHECK(projected("resnet50") == all);
}

TEST_CASE("resnet computes what its equation says, in training and in evaluation") {
  for (const int depth : {18, 34, 50})
    for (const char* stem : {"imagenet", "small"})
      for (const bool training : {true, false}) {
        INFO("resnet" << depth << ", stem " << stem << (training ? ", training" : ", evaluation"));
        const auto encoder = make("resnet" + std::to_string(depth),
                                  "width = 2\nstem = \"" + std::string(stem) + "\"");
        encoder->to(at::kCPU, at::kDouble);
        encoder->train(training);
        at::NoGradGuard no_grad;
        // Scales, shifts and statistics that a mix-up would show.
        uint64_t key = 100;
        for (const auto& list : {encoder->parameters(), encoder->buffers()})
          for (const NamedTensor& t : list)
            if (t.tensor.dim() == 1) t.tensor.copy_(normal({t.tensor.size(0)}, key++).abs() + 0.5);
        const std::string image_stem = stem;
        const int64_t size = image_stem == "small" ? 11 : 40;
        const at::Tensor x = normal({3, 3, size, size + 3}, 7);
        PlainResnet plain(depth, image_stem == "small", training, tensors_of(*encoder));
        const at::Tensor expected = plain.forward(x), y = encoder->forward(x);
        REQUIRE(y.sizes() == at::IntArrayRef({3, encoder->features()}));
        CHECK(y.allclose(expected, 1e-9, 1e-9));
        CHECK(expected.std().item<double>() > 1e-3);
        for (const NamedTensor& b : encoder->buffers())
          if (b.tensor.is_floating_point()) {
            INFO(b.name);
            CHECK(b.tensor.allclose(plain.tensor(b.name), 1e-9, 1e-9));
          }
      }
}

TEST_CASE("resnet starts as its parameter init says") {
  const auto check = [](const std::string& init, const auto& expect) {
    for (const NamedTensor& p :
         make("resnet18", "width = 32\ninit = \"" + init + "\"")->parameters()) {
      INFO(p.name);
      if (p.tensor.dim() == 4)
        expect(p.tensor);
      else if (p.name.ends_with(".bias"))
        CHECK(p.tensor.equal(at::zeros(p.tensor.sizes())));
      else
        CHECK(p.tensor.equal(at::ones(p.tensor.sizes())));
    }
  };
  check("torch", [](const at::Tensor& w) {
    const double bound = 1 / std::sqrt(static_cast<double>(w.numel() / w.size(0)));
    CHECK(w.abs().max().item<double>() <= bound);
    CHECK(w.abs().max().item<double>() > 0.99 * bound);
    CHECK(w.var().item<double>() == Approx(bound * bound / 3).epsilon(0.1));
  });
  check("kaiming", [](const at::Tensor& w) {
    const double variance = 2.0 / static_cast<double>(w.numel() / w.size(1));
    CHECK(w.var().item<double>() == Approx(variance).epsilon(0.1));
    CHECK(w.abs().max().item<double>() > 2.5 * std::sqrt(variance));  // not uniform
    CHECK(std::abs(w.mean().item<double>()) <
          5 * std::sqrt(variance / static_cast<double>(w.numel())));
  });
  CHECK(make("resnet18", "width = 2", nullptr, 1)
            ->parameters()[0]
            .tensor.equal(make("resnet18", "width = 2", nullptr, 1)->parameters()[0].tensor));
  CHECK_FALSE(make("resnet18", "width = 2", nullptr, 1)
                  ->parameters()[0]
                  .tensor.equal(make("resnet18", "width = 2", nullptr, 2)->parameters()[0].tensor));
}

TEST_CASE("resnet's blocks start as the identity where that was asked for") {
  for (const auto& [id, last] :
       {std::pair{"resnet18", ".bn2.weight"}, std::pair{"resnet50", ".bn3.weight"}})
    for (const NamedTensor& p : make(id, "width = 2\nzero_init_residual = true")->parameters()) {
      if (p.tensor.dim() != 1 || !p.name.ends_with(".weight")) continue;
      INFO(id << " " << p.name);
      CHECK(p.tensor.abs().max().item<double>() == (p.name.ends_with(last) ? 0 : 1));
    }
}

TEST_CASE("resnet takes every layer with parameters from the factory it is given") {
  for (const int depth : {18, 34, 50}) {
    CountingLayers layers;
    const auto encoder = make("resnet" + std::to_string(depth), "width = 2", &layers);
    const Reference reference(depth, 2, 7);
    CHECK(layers.linears == 0);
    REQUIRE(layers.convolutions.size() == reference.convolutions.size());
    REQUIRE(layers.norms.size() == reference.norms.size());
    CHECK(encoder->parameters().size() == layers.convolutions.size() + 2 * layers.norms.size());
    int strided = 0, plain_norms = 0;
    for (const ConvolutionSpec& c : layers.convolutions) {
      strided += c.stride == 2;
      CHECK_FALSE(c.bias);
      // The strided 1×1 convolutions are the shortcuts: version 1.5 of the bottleneck.
      if (c.stride == 2 && c.kernel == 1) CHECK(c.out == 2 * c.in);
    }
    for (const NormalizationSpec& n : layers.norms) plain_norms += !n.relu;
    CHECK(strided == 7);  // the stem, and main path and shortcut of three stages
    CHECK(plain_norms == (depth == 50 ? 4 : 3));  // shortcuts have no ReLU of their own
  }
}

TEST_CASE("resnet trains: every parameter gets a gradient") {
  for (const char* id : {"resnet18", "resnet50"}) {
    const auto encoder = make(id, "width = 2\nstem = \"small\"");
    encoder->forward(normal({4, 3, 16, 16}, 3).to(at::kFloat)).pow(2).sum().backward();
    for (const NamedTensor& p : encoder->parameters()) {
      INFO(id << " " << p.name);
      REQUIRE(p.tensor.grad().defined());
      CHECK(p.tensor.grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("resnet refuses samples it cannot take") {
  const auto complaints = [](const std::string& toml, std::vector<int64_t> shape) {
    test::CollectedComplaints out;
    test::load<Backbone>("resnet18", toml)->check(shape, out);
    return out.text;
  };
  const std::string small = "stem = \"small\"";
  CHECK(complaints("", {3, 224, 224}).empty());
  CHECK(complaints("", {3, 32, 32}).empty());
  CHECK(complaints(small, {1, 8, 9}).empty());
  CHECK(complaints("", {2}).find("[channels, height, width], the samples are [2]") !=
        std::string::npos);
  CHECK(complaints("", {28, 28}).find("[28, 28]") != std::string::npos);
  CHECK(complaints("", {}).find("of several sizes") != std::string::npos);
  CHECK(complaints("", {3, 32, 31}) ==
        "stem: this stem divides height and width by 32 in all, the samples have 32×31 pixels; try "
        "\"small\"\n");
  CHECK(complaints(small, {3, 7, 32}).find("by 8 in all, the samples have 7×32") !=
        std::string::npos);
  CHECK_THROWS(test::load<Backbone>("resnet18", "width = 0"));
  CHECK_THROWS(test::load<Backbone>("resnet18", "stem = \"large\""));
}

}  // namespace
