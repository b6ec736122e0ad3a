#include "plugins/conformance_checks.hpp"

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

std::shared_ptr<Encoder> make_encoder(const Backbone& backbone, const std::vector<int64_t>& shape) {
  const auto layers = standard_layers();
  BackboneRequest request;
  request.sample_shape = shape;
  request.layers = layers.get();
  request.random = Random(6);
  return backbone.make(request);
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
  const at::Tensor y = encoder.forward(x);
  const bool shaped =
      y.defined() && y.dim() == 2 && y.size(0) == kBatch && y.size(1) == encoder.features();
  if (!out.expect(shaped, fmt::format("expected Float [{}, {}], found {}", kBatch,
                                      encoder.features(), describe(y))))
    return;
  out.expect(all_finite(y), "expected finite features, found NaN or infinity");
  out.expect(identical(y, twin.forward(x)),
             "expected the same encoder for the same Random, found another");
  if (!out.expect(y.requires_grad(), "expected features that carry gradients, found none")) return;
  y.pow(2).sum().backward();
  for (const NamedTensor& p : encoder.parameters())
    out.expect(!p.tensor.requires_grad() || p.tensor.grad().defined(),
               fmt::format("expected a gradient for {}, found none", p.name));
}

}  // namespace

void check_backbone(const Make<Backbone>& make, Findings& out) {
  const auto backbone = make();
  int tried = 0;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2}, std::vector<int64_t>{3, 32, 32}}) {
    ComplaintList complaints;
    out.part(fmt::format("check({})", shape));
    backbone->check(shape, complaints);
    if (!complaints.empty()) continue;
    ++tried;
    out.part(fmt::format("make({})", shape));
    const auto encoder = make_encoder(*backbone, shape), twin = make_encoder(*make(), shape);
    if (out.expect(encoder && twin, "expected an encoder, found null"))
      check_encoder(*encoder, *twin, shape, out);
  }
  out.part("check");
  if (tried == 0) out.remark("takes samples of neither [2] nor [3, 32, 32]");
}

}  // namespace gh::host
