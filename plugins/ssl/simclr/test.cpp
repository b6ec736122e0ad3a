#include "plugins/fake_host.hpp"
#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

// Embeddings are the views themselves, so a test can feed them and read their gradients.
class Identity final : public Encoder {
 public:
  explicit Identity(int64_t width) : width_(width) {}
  at::Tensor forward(const at::Tensor& x) override { return x; }
  int64_t features() const override { return width_; }

 private:
  int64_t width_;
};

class IdentityHost final : public host::FakeHost {
 public:
  explicit IdentityHost(RunFacts facts) : FakeHost(facts), width_(facts.view_shapes.at(0).at(0)) {}
  std::shared_ptr<Encoder> make_backbone(std::string_view, LayerFactory*) override {
    return std::make_shared<Identity>(width_);
  }

 private:
  int64_t width_;
};

struct Outcome {
  double loss;
  at::Tensor dz1, dz2;
};

Outcome run_ntxent(at::Tensor z1, at::Tensor z2, const std::string& temperature) {
  RunFacts facts;
  facts.batch = facts.samples = z1.size(0);
  facts.view_shapes = {{z1.size(1)}, {z1.size(1)}};
  facts.dtype = z1.scalar_type();
  IdentityHost fake(facts);
  auto method =
      test::load<SslMethod>("simclr", "projector = \"none\"\ntemperature = " + temperature);
  method->build(fake);
  z1 = z1.clone().set_requires_grad(true);
  z2 = z2.clone().set_requires_grad(true);
  const std::vector<at::Tensor> views = {z1, z2};
  Batch batch;
  batch.views = views;
  batch.global_size = z1.size(0);
  host::TrainableList trained;
  host::FakeStep step(trained);
  method->step(batch, step);
  return {step.losses.at(0), z1.grad(), z2.grad()};
}

TEST_CASE("simclr equals the published NT-Xent and its gradients", "[parity]") {
  const auto file = test::find_vector("gh_ntxent");
  if (!file) return;
  for (const std::string temperature : {"0.2", "0.5"}) {
    const std::string t = "_t" + temperature;
    const Outcome single = run_ntxent(file->at("z1"), file->at("z2"), temperature);
    CHECK(std::abs(single.loss - file->at("mean" + t).item<double>()) < 5e-6);
    CHECK(test::largest_difference(single.dz1, file->at("dz1" + t)) < 1e-7);
    CHECK(test::largest_difference(single.dz2, file->at("dz2" + t)) < 1e-7);
    const Outcome exact =
        run_ntxent(file->at("z1").to(at::kDouble), file->at("z2").to(at::kDouble), temperature);
    CHECK(std::abs(exact.loss - file->at("mean" + t + "_f64").item<double>()) < 1e-9);
    CHECK(test::largest_difference(exact.dz1, file->at("dz1" + t + "_f64")) < 1e-9);
    CHECK(test::largest_difference(exact.dz2, file->at("dz2" + t + "_f64")) < 1e-9);
  }
}

TEST_CASE("simclr agrees with the definition, pair by pair") {
  const at::Tensor z1 = at::randn({5, 3}, at::kDouble);
  const at::Tensor z2 = at::randn({5, 3}, at::kDouble);
  const auto cosine = [&](int a, int b) {
    const at::Tensor x = a < 5 ? z1[a] : z2[a - 5];
    const at::Tensor y = b < 5 ? z1[b] : z2[b - 5];
    return (x.dot(y) / (x.norm() * y.norm())).item<double>();
  };
  double expected = 0;
  for (int i = 0; i < 10; ++i) {
    double all = 0;
    for (int j = 0; j < 10; ++j)
      if (j != i) all += std::exp(cosine(i, j) / 0.3);
    expected -= std::log(std::exp(cosine(i, (i + 5) % 10) / 0.3) / all) / 10;
  }
  CHECK(run_ntxent(z1, z2, "0.3").loss == Approx(expected).epsilon(1e-12));
}

TEST_CASE("simclr survives zero embeddings and a temperature close to zero") {
  at::Tensor z1 = at::randn({4, 2}), z2 = at::randn({4, 2});
  z1[0].zero_();
  const Outcome outcome = run_ntxent(z1, z2, "0.01");
  CHECK(std::isfinite(outcome.loss));
  CHECK(std::isfinite(outcome.dz1.sum().item<double>()));
}

TEST_CASE("simclr refuses a recipe with three views or a batch of one") {
  auto method = test::load<SslMethod>("simclr");
  RunFacts facts;
  facts.batch = 1;
  facts.view_shapes = {{2}, {2}, {2}};
  test::CollectedComplaints complaints;
  method->check(facts, complaints);
  CHECK(complaints.text.find(".views") != std::string::npos);
  CHECK(complaints.text.find(".train.batch") != std::string::npos);
}

}  // namespace
