#include "plugins/conformance_checks.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace gh::host {
namespace {

constexpr int64_t kBatch = 4;

at::Tensor trial_input(const std::vector<int64_t>& shape) {
  std::vector<int64_t> sizes = {kBatch};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  at::Tensor x = at::empty(sizes, at::kFloat);
  Random(5).fill_normal(x, 0, 1);
  return x;
}

// Counts what is asked of it.
class CountingLayers final : public LayerFactory {
 public:
  int64_t made = 0;
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override {
    return counted(plain_->linear(spec, random));
  }
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override {
    return counted(plain_->convolution(spec, random));
  }
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override {
    return counted(plain_->normalization(spec));
  }

 private:
  template <class M>
  std::shared_ptr<M> counted(std::shared_ptr<M> module) {
    made += static_cast<int64_t>(module->parameters().size());
    return module;
  }
  std::shared_ptr<LayerFactory> plain_ = standard_layers();
};

std::shared_ptr<Encoder> make_encoder(const Backbone& backbone, const std::vector<int64_t>& shape,
                                      LayerFactory& layers, uint64_t seed = 6) {
  BackboneRequest request;
  request.sample_shape = shape;
  request.layers = &layers;
  request.random = Random(seed);
  return backbone.make(request);
}

// Of both kinds, in one list.
std::vector<NamedTensor> tensors_of(const Encoder& encoder) {
  auto all = encoder.parameters();
  for (NamedTensor& buffer : encoder.buffers()) all.push_back(std::move(buffer));
  return all;
}

// In evaluation mode an encoder is a function of the sample alone, and leaves no trace.
void check_evaluation(Encoder& encoder, const at::Tensor& x, Findings& out) {
  const at::NoGradGuard no_grad;
  out.part("forward, evaluation mode");
  encoder.train(false);
  std::vector<at::Tensor> before;
  for (const NamedTensor& t : tensors_of(encoder)) before.push_back(t.tensor.clone());
  const at::Tensor y = encoder.forward(x);
  const auto after = tensors_of(encoder);
  for (std::size_t i = 0; i < after.size(); ++i)
    out.expect(identical(before[i], after[i].tensor),
               fmt::format("expected {} to stay as it is, found it changed", after[i].name),
               "running statistics are updated whatever training() says");
  out.expect(encoder.forward(x.narrow(0, 0, 2)).allclose(y.narrow(0, 0, 2), 1e-3, 1e-4),
             "expected features that do not depend on the rest of the batch, found ones that do",
             "statistics of the batch are used whatever training() says");
}

// Everything that forward() reads is a parameter or a buffer: else twins, checkpoints and exports
// are another network, and the device is not reached.
void check_tensors(Encoder& encoder, Encoder& other, const at::Tensor& x, Findings& out) {
  const at::NoGradGuard no_grad;
  out.part("copy_from");
  other.copy_from(encoder);
  other.train(false);
  encoder.train(false);
  const at::Tensor y = encoder.forward(x);
  const char* likely = "a tensor is kept that add_parameter() or add_buffer() was not told of";
  out.expect(other.forward(x).allclose(y, 1e-4, 1e-5),
             "expected the features of the encoder whose tensors it took over, found others",
             likely);
  out.attempt(
      "forward, float64",
      [&] {
        encoder.to(at::kCPU, at::kDouble);
        const at::Tensor z = encoder.forward(x.to(at::kDouble));
        out.expect(z.scalar_type() == at::kDouble && z.allclose(y.to(at::kDouble), 1e-2, 1e-3),
                   fmt::format("expected the same features in Double, found {}", describe(z)),
                   likely);
      },
      likely);
}

void check_parameters(const Encoder& encoder, Findings& out) {
  std::set<std::string> names;
  const auto parameters = encoder.parameters();
  out.expect(!parameters.empty(), "expected parameters, found none");
  for (const NamedTensor& p : parameters) {
    out.expect(!p.name.empty() && names.insert(p.name).second,
               fmt::format("expected names of their own, found \"{}\" twice or empty", p.name));
    out.expect(
        p.tensor.scalar_type() == at::kFloat && p.tensor.is_cpu(),
        fmt::format("{}: expected float32 on the CPU, found {}", p.name, describe(p.tensor)));
  }
}

void check_encoder(Encoder& encoder, Encoder& twin, const std::vector<int64_t>& shape,
                   Findings& out) {
  check_parameters(encoder, out);
  const at::Tensor x = trial_input(shape);
  encoder.train(true);
  twin.train(true);
  const at::Tensor given = x.clone();
  const at::Tensor y = encoder.forward(given);
  out.expect(identical(given, x), "changed the samples it was given",
             "an operator in place, such as at::relu_(x)");
  const bool shaped =
      y.defined() && y.dim() == 2 && y.size(0) == kBatch && y.size(1) == encoder.features();
  if (!out.expect(shaped, fmt::format("expected Float [{}, {}], found {}", kBatch,
                                      encoder.features(), describe(y))))
    return;
  out.expect(all_finite(y), "expected finite features, found NaN or infinity");
  out.expect(identical(y, twin.forward(x.clone())),
             "expected the same encoder for the same Random, found another",
             "initial weights are not drawn from BackboneRequest::random, or the factory counts");
  if (!out.expect(y.requires_grad(), "expected features that carry gradients, found none")) return;
  y.pow(2).sum().backward();
  for (const NamedTensor& p : encoder.parameters())
    out.expect(!p.tensor.requires_grad() || p.tensor.grad().defined(),
               fmt::format("expected a gradient for {}, found none", p.name),
               "it takes no part in forward()");
}

void check_shape(const Backbone& backbone, const std::vector<int64_t>& shape, Findings& out) {
  CountingLayers layers, others;
  const auto encoder = make_encoder(backbone, shape, layers);
  if (!out.expect(encoder != nullptr, "expected an encoder, found null")) return;
  if (out.varied()) return check_encoder(*encoder, *encoder, shape, out);  // large ones take long
  out.expect(
      layers.made > 0 || encoder->parameters().empty(),
      "expected layers of BackboneRequest::layers, found that it was asked for none",
      "it builds layers itself, where methods with layers of their own (SDCLR) do not reach");
  const auto twin = make_encoder(backbone, shape, others),
             other = make_encoder(backbone, shape, others, 7);
  check_encoder(*encoder, *twin, shape, out);
  const at::Tensor x = trial_input(shape);
  check_evaluation(*encoder, x, out);
  check_tensors(*encoder, *other, x, out);
}

}  // namespace

void check_backbone(const Make<Backbone>& make, Findings& out) {
  const auto backbone = make();
  int tried = 0;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2}, {7}, {3, 32, 32}, {1, 28, 28}}) {
    ComplaintList complaints(out);
    out.part(fmt::format("check({})", shape));
    backbone->check(shape, complaints);
    if (!complaints.empty()) continue;
    ++tried;
    out.part(fmt::format("make({})", shape));
    check_shape(*backbone, shape, out);
    if (out.varied()) break;
    out.tried(fmt::format("samples of {}", shape));
  }
  out.part("check");
  if (tried == 0) return out.remark("NOT TRIED: takes samples of none of the shapes of the trial");
  out.part("");
  out.remark("not tried: forward() on several threads, CUDA, other layers than the standard ones");
}

}  // namespace gh::host
