#include "support/method_trial.hpp"

#include "gh/ops/sinkhorn.hpp"
#include "gh/parts/pruned_branch.hpp"
#include "gh/rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>

#include <catch2/catch.hpp>

#include <array>

namespace {

using namespace gh;
using test::tolerance;

TEST_CASE("masks keep what the published global threshold keeps, ties included", "[parity]") {
  const auto file = test::find_vector("sdclr_masks");
  if (!file) return;
  int compared = 0;
  for (const std::string which : {"normal", "ties"})
    for (const std::string& p : test::endings(*file, which + "_density_p")) {
      std::vector<parts::Prunable> layers;
      for (int i = 0; file->tensors.find(which + "_w" + std::to_string(i)); ++i) {
        const at::Tensor w = file->at(which + "_w" + std::to_string(i));
        layers.push_back({w, w.clone()});
      }
      const double density = parts::prune_by_magnitude(layers, std::stod(p));
      INFO(which << " " << p);
      CHECK(density == Approx(file->at(which + "_density_p" + p).item<double>()).epsilon(1e-6));
      for (std::size_t i = 0; i < layers.size(); ++i)
        CHECK(layers[i].mask.equal(
            file->at(which + "_mask" + std::to_string(i) + "_p" + p).to(at::kFloat)));
      ++compared;
    }
  CHECK(compared > 0);
}

// The small network of the vectors: stem, one residual block, mean over space.
class TinyEncoder final : public Encoder {
 public:
  TinyEncoder(LayerFactory& layers, int64_t stem, int64_t width) : width_(width) {
    Random random(1);
    const auto convolution = [&](const char* name, ConvolutionSpec spec) {
      return add_child(name, layers.convolution(spec, random));
    };
    const auto norm = [&](const char* name, NormalizationSpec spec) {
      return add_child(name, layers.normalization(spec));
    };
    conv1_ = convolution("conv1", {.in = 3, .out = stem});
    bn1_ = norm("bn1", {.channels = stem, .relu = true});
    block1_ = convolution("block1", {.in = stem, .out = width, .stride = 2});
    block_bn1_ = norm("block_bn1", {.channels = width, .relu = true});
    block2_ = convolution("block2", {.in = width, .out = width});
    block_bn2_ = norm("block_bn2", {.channels = width, .relu = true});
    down_ = convolution("down", {.in = stem, .out = width, .kernel = 1, .stride = 2, .padding = 0});
    down_bn_ = norm("down_bn", {.channels = width});
  }
  int64_t features() const override { return width_; }
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor stem = bn1_->forward(conv1_->forward(x));
    const at::Tensor inner = block_bn1_->forward(block1_->forward(stem));
    const at::Tensor shortcut = down_bn_->forward(down_->forward(stem));
    return block_bn2_->forward_add(block2_->forward(inner), shortcut).mean({2, 3});
  }

 private:
  int64_t width_;
  std::shared_ptr<Layer> conv1_, block1_, block2_, down_;
  std::shared_ptr<Normalization> bn1_, block_bn1_, block_bn2_, down_bn_;
};

class TinyHost final : public testing::FakeHost {
 public:
  TinyHost(RunFacts facts, int64_t stem, int64_t width)
      : FakeHost(std::move(facts)), stem_(stem), width_(width) {}
  std::shared_ptr<Encoder> make_backbone(std::string_view, LayerFactory* factory) override {
    auto encoder = std::make_shared<TinyEncoder>(factory ? *factory : layers(), stem_, width_);
    encoder->to(facts().device, facts().dtype);
    return encoder;
  }

 private:
  int64_t stem_, width_;
};

// Where the vectors keep a tensor of the method's state.
std::string published(std::string name) {
  const std::array<std::array<const char*, 2>, 13> changes = {{
      {"projector.0.", "backbone.fc.fc1."},
      {"projector.1.", "backbone.fc.bn1."},
      {"projector.2.", "backbone.fc.fc2."},
      {"projector.3.", "backbone.fc.bn2."},
      {"encoder.block_bn1.", "backbone.block.bn1."},
      {"encoder.block_bn2.", "backbone.block.bn2."},
      {"encoder.block1.", "backbone.block.conv1."},
      {"encoder.block2.", "backbone.block.conv2."},
      {"encoder.down.", "backbone.block.downsample.conv."},
      {"encoder.down_bn.", "backbone.block.downsample.bn."},
      {"encoder.", "backbone."},
      {".dense.", ".bn_list.0."},
      {".pruned.", ".bn_list.1."},
  }};
  for (const auto& [ours, theirs] : changes)
    if (const auto found = name.find(ours); found != std::string::npos)
      name.replace(found, std::string_view(ours).size(), theirs);
  return name;
}

// FakeStep with GH's loss of the vectors: cosines of structure and embedding as rows of unit
// length, each view's Sinkhorn targets for the other.
class HarmonizedStep final : public testing::FakeStep {
 public:
  HarmonizedStep(const testing::TrainableList& trained, const host::TensorFile* file)
      : FakeStep(trained), file_(file) {}
  using FakeStep::harmonize;
  at::Tensor harmonize(const at::Tensor& z1, const at::Tensor& z2,
                       const HarmonizeOptions& options) override {
    tracked.push_back(options.track);
    if (file_ == nullptr) return FakeStep::harmonize(z1, z2, options);
    const at::Tensor points = file_->at("M").to(z1.scalar_type()).t();
    const at::Tensor t1 = unit_rows(z1.matmul(points));
    const at::Tensor t2 = unit_rows(z2.matmul(points));
    const ops::SinkhornProblem problems[] = {{t1.detach(), file_->at("pi")},
                                             {t2.detach(), file_->at("pi")}};
    const auto q = ops::sinkhorn(
        problems,
        {.epsilon = test::number(*file_, "epsilon"),
         .iterations = static_cast<int64_t>(test::number(*file_, "sinkhorn_iterations"))});
    const auto term = [](const at::Tensor& target, const at::Tensor& t) {
      return -(target * at::log_softmax(t / 0.1, 1)).sum(1).mean();
    };
    return file_->at("gh_weight").item<double>() *
           (term(q[0].targets, t2) + term(q[1].targets, t1));
  }
  std::vector<uint32_t> tracked;

 private:
  const host::TensorFile* file_;
};

struct Step {
  TinyHost host;
  test::Loaded<SslMethod> method;
  testing::TrainableList trained;
  std::vector<double> losses;

  Step(const host::TensorFile& file, at::ScalarType dtype, bool harmonized)
      : host(facts_of(file, dtype), integer(file, "stem"), integer(file, "block")),
        method(test::load<SslMethod>(
            "sdclr", "prune = " + file.metadata.at("prune") +
                         "\nembedding = " + file.metadata.at("out") +
                         "\ntemperature = " + file.metadata.at("ntxent_temperature"))) {
    method->build(host);
    method->train(true);
    method->trainable(trained);
    load(file, dtype);
    method->begin_epoch(host);
    const std::vector<at::Tensor> views = {file.at("x").to(dtype), file.at("y").to(dtype)};
    Batch batch;
    batch.views = views;
    batch.global_size = views[0].size(0);
    HarmonizedStep step(trained, harmonized ? &file : nullptr);
    method->step(batch, step);
    CHECK(step.tracked == std::vector<uint32_t>{1, 0});
    losses = step.losses;
  }

  static int64_t integer(const host::TensorFile& file, const char* key) {
    return static_cast<int64_t>(test::number(file, key));
  }
  static RunFacts facts_of(const host::TensorFile& file, at::ScalarType dtype) {
    return test::MethodTrial::facts_of({file.at("x").to(dtype), file.at("y").to(dtype)});
  }
  void load(const host::TensorFile& file, at::ScalarType dtype) {
    test::NamedState names, start(true);
    method->visit_state(names);
    for (const auto& [name, tensor] : names.tensors)
      if (const auto key = "init." + published(name); file.tensors.find(key))
        start.tensors[name] = file.at(key).to(dtype);
    CHECK(start.tensors.size() == test::endings(file, "init.").size());
    method->visit_state(start);
  }
};

// What a method calls its tensors.
class Names final : State {
 public:
  explicit Names(SslMethod& method) { method.visit_state(*this); }
  const std::string& of(const at::Tensor& tensor) const {
    return names_.at(tensor.unsafeGetTensorImpl());
  }

 private:
  bool loading() const override { return false; }
  void tensor(std::string_view name, at::Tensor& tensor) override {
    names_[tensor.unsafeGetTensorImpl()] = name;
  }
  void integer(std::string_view, int64_t&) override {}
  void real(std::string_view, double&) override {}
  void text(std::string_view, std::string&) override {}

  std::map<const void*, std::string> names_;
};

void check_step(const std::string& vector, bool harmonized) {
  const auto file = test::find_vector(vector);
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const std::string suffix = dtype == at::kDouble ? "_f64" : "";
    Step step(*file, dtype, harmonized);
    const double loose = tolerance(dtype, 1e-4);
    REQUIRE(step.losses.size() == 2);
    // The stored losses are without GH's term, or with it.
    CHECK(std::abs(step.losses[0] - file->at("loss_dense" + suffix).item<double>()) < loose);
    CHECK(std::abs(step.losses[1] - file->at("loss_pruned" + suffix).item<double>()) < loose);
    int gradients = 0, statistics = 0, masks = 0;
    test::NamedState after;
    step.method->visit_state(after);
    for (const auto& [name, value] : after.tensors) {
      const std::string key = published(name);
      if (const auto stored = "after." + key + suffix; file->tensors.find(stored)) {
        CHECK(test::largest_difference(value, file->at(stored)) < loose);
        ++statistics;
      }
      if (key.ends_with(".mask")) {
        const auto stored = "mask." + key.substr(0, key.size() - 5);
        CHECK(value.equal(file->at(stored).to(value.scalar_type())));
        ++masks;
      }
    }
    const Names names(*step.method.component);
    for (const at::Tensor& p : step.trained.parameters) {
      const std::string key = "grad." + published(names.of(p)) + suffix;
      INFO(key);
      CHECK(test::largest_difference(p.grad(), file->at(key)) < loose);
      ++gradients;
    }
    CHECK(gradients == 31);
    CHECK(statistics == 24);
    CHECK(masks == 4);
  }
}

TEST_CASE("sdclr makes the published step: losses, gradients, masks and statistics", "[parity]") {
  check_step("sdclr_step_plain", false);
}

TEST_CASE("sdclr with GH in both branches makes the published step", "[parity]") {
  check_step("sdclr_step_gh", true);
}

TEST_CASE("gradients of sdclr and bcl_d are those of finite differences, one branch held still") {
  // The dense pass alone: the pruned embedding is a constant, so parameters of the pruned branch
  // get gradients from the second pass only. Scale of a dense normalisation in the projector:
  const std::vector<at::Tensor> views = {at::randn({4, 3, 8, 8}, at::kDouble),
                                         at::randn({4, 3, 8, 8}, at::kDouble)};
  RunFacts facts = test::MethodTrial::facts_of(views);
  facts.per_sample = {"strength"};
  for (const std::string id : {"sdclr", "bcl_d"}) {
    TinyHost host(facts, 4, 5);
    const auto method = test::load<SslMethod>(id, "embedding = 3");
    method->build(host);
    method->train(true);
    method->begin_epoch(host);
    testing::TrainableList trained;
    method->trainable(trained);
    Batch batch;
    batch.views = views;
    batch.indices = at::arange(4, at::kLong);
    batch.global_size = 4;
    std::map<std::string, at::Tensor> of;
    for (const NamedTensor& p : method->encoder()->parameters()) of[p.name] = p.tensor;
    for (const auto& [name, pass] :
         {std::pair<std::string, std::size_t>{"block_bn2.dense.weight", 0},
          {"block_bn2.pruned.weight", 1}}) {
      const auto loss = [&] {
        testing::FakeStep step(trained);
        method->step(batch, step);
        return step.losses.at(pass);
      };
      for (const at::Tensor& p : trained.parameters) at::Tensor(p).mutable_grad().reset();
      loss();
      INFO(id << " " << name);
      CHECK(test::slope_error({of.at(name)}, loss) < 1e-6);
    }
  }
}

TEST_CASE("sdclr prunes convolutions or, where there are none, linear layers, once an epoch") {
  for (const bool convolutions : {true, false}) {
    testing::FakeHost host(test::MethodTrial::facts_of({at::randn({4, 3, 8, 8})}));
    parts::BranchLayers layers(host);
    Random random(3);
    if (convolutions) layers.encoder().convolution({.in = 2, .out = 4}, random);
    const auto linear = layers.encoder().linear({.in = 4, .out = 5}, random);
    REQUIRE(layers.prunable().size() == 1);
    CHECK(layers.prunable()[0].weight.dim() == (convolutions ? 4 : 2));
    parts::prune_by_magnitude(layers.prunable(), 0.5);
    const at::Tensor x = at::randn({2, 4});
    const at::NoGradGuard no_grad;
    const at::Tensor dense = linear->forward(x);
    const parts::PrunedScope scope(layers.branch());
    CHECK(linear->forward(x).equal(dense) == convolutions);
  }
}

}  // namespace
