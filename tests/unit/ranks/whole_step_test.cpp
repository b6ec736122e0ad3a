// Training in several processes is training in one on all their samples.
#include "ranks/gradient_reducer.hpp"
#include "ranks/synced_layers.hpp"

#include "gh/ops/layers.hpp"

#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>

using namespace gh;
using namespace gh::host;
using namespace gh::host::test;

namespace {

// Two convolutions with normalisation, the second residual, and a normalised projector.
class Network final : public Layer {
 public:
  Network(LayerFactory& layers, Random& random) {
    conv1_ = add_child("conv1", layers.convolution({.in = 3, .out = 8}, random));
    bn1_ = add_child("bn1", layers.normalization({.channels = 8, .relu = true}));
    conv2_ = add_child("conv2", layers.convolution({.in = 8, .out = 8}, random));
    bn2_ = add_child("bn2", layers.normalization({.channels = 8, .relu = true}));
    head_ = add_child("head", layers.linear({.in = 8, .out = 6, .bias = false}, random));
    bn3_ = add_child("bn3", layers.normalization({.channels = 6, .affine = false}));
    unused_ = add_child("unused", layers.linear({.in = 2, .out = 2}, random));
  }
  at::Tensor forward(const at::Tensor& x) override {
    const at::Tensor first = bn1_->forward(conv1_->forward(x));
    const at::Tensor second = bn2_->forward_add(conv2_->forward(first), first);
    const at::Tensor z = bn3_->forward(head_->forward(second.mean({2, 3})));
    return z / z.norm(2, {1}, true);
  }

 private:
  std::shared_ptr<Layer> conv1_, conv2_, head_, unused_;
  std::shared_ptr<Normalization> bn1_, bn2_, bn3_;
};

// NT-Xent of this rank's rows against those of all.
at::Tensor contrast(Ranks& ranks, const at::Tensor& z1, const at::Tensor& z2) {
  const int64_t b = z1.size(0), n = b * ranks.world();
  const at::Tensor all1 = ranks.all_gather(z1), all2 = ranks.all_gather(z2);
  const at::Tensor own = at::arange(b, at::kLong) + ranks.rank() * b;
  const auto half = [&](const at::Tensor& z, const at::Tensor& same, const at::Tensor& others) {
    const at::Tensor near = (z.mm(same.t()) / 0.2).scatter(1, own.view({b, 1}), -1e9);
    return at::cross_entropy_loss(at::cat({z.mm(others.t()) / 0.2, near}, 1), own);
  };
  CHECK(all1.size(0) == n);
  return (half(z1, all1, all2) + half(z2, all2, all1)) / 2;
}

struct Training {
  Ranks& ranks;
  Network network;
  std::vector<at::Tensor> parameters;
  GradientReducer reducer;
  double loss = 0;

  Training(Ranks& ranks, LayerFactory& layers, Random random, int64_t bucket_bytes)
      : ranks(ranks),
        network(layers, random),
        parameters(prepare(network)),
        reducer(ranks, parameters, bucket_bytes) {}

  static std::vector<at::Tensor> prepare(Network& network) {
    network.to(at::kCPU, at::kDouble);
    network.train();
    std::vector<at::Tensor> parameters;
    for (const NamedTensor& named : network.parameters()) parameters.push_back(named.tensor);
    return parameters;
  }

  void step(const at::Tensor& view1, const at::Tensor& view2) {
    for (at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
    reducer.begin_step();
    const at::Tensor value = contrast(ranks, network.forward(view1), network.forward(view2));
    value.backward();
    // A second loss with a forward of its own, summed over all ranks by everybody.
    const at::Tensor z = network.forward(view1);
    const at::Tensor moments =
        ranks.all_reduce_sum(z.t().mm(z)) / static_cast<double>(z.size(0) * ranks.world());
    moments.pow(2).sum().backward();
    std::vector<double> votes{value.item<double>() / static_cast<double>(ranks.world())};
    reducer.finish(votes);
    loss = votes[0];
    at::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters)
      if (parameter.grad().defined()) parameter.add_(parameter.grad(), -0.5);
  }
};

}  // namespace

TEST_CASE("steps over ranks are steps over the whole batch") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const auto alone = Ranks::alone();
  const auto synced = synced_layers(*ranks, ops::fast_layers());
  for (const int64_t bucket_bytes : {500, 25 << 20}) {
    Training several(*ranks, *synced, Random(3), bucket_bytes);
    Training one(*alone, *ops::fast_layers(), Random(3), bucket_bytes);
    for (uint64_t step = 0; step < 5; ++step) {
      const int64_t n = 12;
      const at::Tensor view1 = normal(100 + step, {n, 3, 6, 6});
      const at::Tensor view2 = view1 + normal(200 + step, {n, 3, 6, 6}) * 0.3;
      one.step(view1, view2);
      several.step(own_rows(*ranks, view1), own_rows(*ranks, view2));
      CHECK(several.loss == Approx(one.loss).epsilon(1e-12));
      for (size_t i = 0; i < one.parameters.size(); ++i) {
        REQUIRE(several.parameters[i].grad().defined() == one.parameters[i].grad().defined());
        if (!one.parameters[i].grad().defined()) continue;
        CHECK(distance(several.parameters[i].grad(), one.parameters[i].grad()) < 1e-11);
        CHECK(distance(several.parameters[i], one.parameters[i]) < 1e-12);
      }
    }
    const auto buffers = several.network.buffers(), reference = one.network.buffers();
    for (size_t i = 0; i < reference.size(); ++i)
      CHECK(distance(buffers[i].tensor + 1, reference[i].tensor + 1) < 1e-12);
  }
}
