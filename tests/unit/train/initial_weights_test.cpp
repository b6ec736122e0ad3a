#include "train/initial_weights.hpp"

#include "gh/error.hpp"
#include "gh/layers.hpp"
#include "session/export.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <limits>

namespace {

using namespace gh;
using namespace gh::host;

// conv1.weight, bn1.{weight,bias,running_mean,running_var,num_batches_tracked}, out.{weight,bias}
class SmallEncoder final : public Encoder {
 public:
  SmallEncoder() {
    Random random(3);
    const auto layers = standard_layers();
    add_child("conv1", layers->convolution({.in = 3, .out = 4}, random));
    add_child("bn1", layers->normalization({.channels = 4}));
    add_child("out", layers->linear({.in = 4, .out = 2}, random));
  }
  at::Tensor forward(const at::Tensor& x) override { return x; }
  int64_t features() const override { return 2; }
};

std::vector<NamedTensor> tensors_of(const Module& module) {
  auto all = module.parameters();
  for (auto& buffer : module.buffers()) all.push_back(buffer);
  return all;
}

// Every tensor of the encoder filled with `value`, under `prefix`.
void fill(TensorFile& file, const Module& encoder, const std::string& prefix, double value) {
  for (const NamedTensor& t : tensors_of(encoder))
    file.tensors.emplace_back(prefix + t.name, at::full_like(t.tensor.detach(), value));
}

void check_filled(const Module& encoder, double value) {
  for (const NamedTensor& t : tensors_of(encoder)) {
    INFO(t.name);
    CHECK(t.tensor.eq(value).all().item<bool>());
  }
}

std::string message_of(Module& encoder, const TensorFile& file) {
  try {
    load_weights(encoder, file);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::shape);
    return error.what();
  }
  return "was loaded";
}

TEST_CASE("weights are loaded under any prefix, and heads are reported") {
  for (const char* prefix : {"", "module.", "encoder.", "module.encoder_q.", "backbone.",
                             "module.base_encoder.", "net.trunk.0."}) {
    SmallEncoder encoder;
    TensorFile file;
    file.tensors.emplace_back(std::string(prefix) + "fc.weight", at::zeros({10, 2}));
    fill(file, encoder, prefix, 2);
    file.tensors.emplace_back("projector.0.weight", at::zeros({2, 2}));
    const WeightReport report = load_weights(encoder, file);
    CHECK(report.prefix == prefix);
    CHECK(report.found.size() == 8);
    CHECK(report.complete());
    CHECK(report.unexpected ==
          std::vector<std::string>{std::string(prefix) + "fc.weight", "projector.0.weight"});
    check_filled(encoder, 2);
  }
}

TEST_CASE(
    "of a network and its twin, the first in the file is taken; a fuller one wins over both") {
  SmallEncoder encoder;
  TensorFile file;
  fill(file, encoder, "encoder_q.", 1);
  fill(file, encoder, "encoder_k.", 2);
  CHECK(load_weights(encoder, file).prefix == "encoder_q.");
  check_filled(encoder, 1);
  TensorFile less;
  for (std::size_t i = 1; i < file.tensors.size(); ++i)
    less.tensors.emplace_back(file.tensors[i].first, file.tensors[i].second);
  CHECK(load_weights(encoder, less).prefix == "encoder_k.");
  check_filled(encoder, 2);
}

TEST_CASE("other dtypes and strides are converted, parameters stay what they are") {
  SmallEncoder encoder;
  const at::Tensor own = encoder.parameters().front().tensor;
  TensorFile file;
  fill(file, encoder, "", 1);
  REQUIRE(file.tensors[0].first == "conv1.weight");
  file.tensors[0].second = at::full({4, 3, 3, 3}, 0.5, at::kHalf).transpose(2, 3);
  load_weights(encoder, file);
  CHECK(own.eq(0.5).all().item<bool>());
  CHECK(own.scalar_type() == at::kFloat);
  CHECK(own.requires_grad());
  CHECK(own.is_leaf());
}

TEST_CASE("a file that has not all of the encoder changes nothing and names what it lacks") {
  SmallEncoder encoder;
  const at::Tensor own = encoder.parameters().front().tensor, before = own.clone();
  TensorFile file;
  file.tensors.emplace_back("conv1.weight", at::full({4, 3, 3, 3}, 0.5));
  const WeightReport report = match_weights(encoder, file);
  CHECK_FALSE(report.complete());
  // The counter of batches is nobody's loss.
  CHECK(report.missing == std::vector<std::string>{"bn1.weight", "bn1.bias", "out.weight",
                                                   "out.bias", "bn1.running_mean",
                                                   "bn1.running_var"});
  CHECK_THAT(message_of(encoder, file), Catch::Contains("of the 7 tensors of the backbone it lacks "
                                                        "bn1.weight") &&
                                            Catch::Contains("(6 in all)"));
  CHECK(own.equal(before));
}

TEST_CASE("a file with more of the encoder's parts is of another architecture, heads are not") {
  SmallEncoder encoder;
  TensorFile file;
  fill(file, encoder, "net.", 3);
  file.tensors.emplace_back("net.fc.weight", at::zeros({10, 2}));
  file.tensors.emplace_back("conv1.twin", at::zeros({1}));  // not under the prefix
  file.tensors.emplace_back("net.bn1.more.num_batches_tracked", at::zeros({}));
  CHECK(match_weights(encoder, file).complete());
  file.tensors.emplace_back("net.out.1.weight", at::zeros({2, 2}));
  CHECK(match_weights(encoder, file).foreign == std::vector<std::string>{"net.out.1.weight"});
  CHECK_THAT(message_of(encoder, file),
             Catch::Contains("net.out.1.weight") && Catch::Contains("[backbone]"));
}

TEST_CASE("another shape names the tensor and both shapes, and nothing is changed") {
  SmallEncoder encoder;
  TensorFile file;
  fill(file, encoder, "", 9);
  file.tensors[0].second = at::zeros({4, 3, 7, 7});
  const at::Tensor before = encoder.buffers().front().tensor.clone();
  CHECK_THAT(message_of(encoder, file),
             Catch::Contains("conv1.weight") && Catch::Contains("[4, 3, 7, 7]") &&
                 Catch::Contains("[4, 3, 3, 3]") && Catch::Contains("stem"));
  CHECK(encoder.buffers().front().tensor.equal(before));
}

TEST_CASE("a file of another network names tensors of both sides") {
  SmallEncoder encoder;
  TensorFile file;
  file.tensors.emplace_back("blocks.0.attn.qkv", at::zeros({2}));
  CHECK_THAT(message_of(encoder, file),
             Catch::Contains("blocks.0.attn.qkv") && Catch::Contains("bn1.bias"));
  CHECK_THAT(message_of(encoder, {}), Catch::Contains("none"));
}

TEST_CASE("what happened is told in a few lines, however many tensors there are") {
  WeightReport report;
  report.found = {"a", "b"};
  report.prefix = "module.";
  report.inside = "model";
  for (int i = 0; i < 100; ++i) report.unexpected.push_back("twin." + std::to_string(i));
  CHECK(describe(report, "dir/w.pth") ==
        "weights: 2 of 2 tensors from dir/w.pth, inside model, under module.*\n"
        "in the file, not used: twin.0, twin.1, twin.2, twin.3, twin.4, … (100 in all)");
}

TEST_CASE("an export holds every tensor under its name, apart from the encoder, with its facts") {
  SmallEncoder encoder;
  const TensorFile file = export_encoder(encoder, {{"ghhost.seed", "7"}});
  CHECK(file.metadata ==
        std::map<std::string, std::string>{{"format", "pt"}, {"ghhost.seed", "7"}});
  const auto own = tensors_of(encoder);
  REQUIRE(file.tensors.size() == own.size());
  for (const NamedTensor& t : own) {
    CHECK(file.at(t.name).equal(t.tensor));
    CHECK(file.at(t.name).scalar_type() == t.tensor.scalar_type());
    CHECK_FALSE(file.at(t.name).requires_grad());
    CHECK(file.at(t.name).data_ptr() != t.tensor.data_ptr());
  }
  encoder.buffers().front().tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(export_encoder(encoder, {}), Error);
}

}  // namespace
