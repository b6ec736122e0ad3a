#include "support/method_trial.hpp"

#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

std::string parameters(const host::TensorFile& file) {
  const auto real = [&](const char* key) { return std::to_string(test::number(file, key)); };
  return "projector = \"none\"\ninvariance = " + real("sim") + "\nvariance = " + real("std") +
         "\ncovariance = " + real("cov");
}

TEST_CASE("vicreg equals the published loss and its gradients", "[parity]") {
  const auto file = test::find_vector("vicreg_loss");
  if (!file) return;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor z1 = test::leaf(file->at("z1"), dtype), z2 = test::leaf(file->at("z2"), dtype);
    MethodTrial trial("vicreg", parameters(*file), {z1, z2});
    const double loss = trial.build().step({z1, z2});
    CHECK(deviation(*file, "loss", loss, dtype) < tolerance(dtype, 1e-5));
    CHECK(deviation(*file, "dz1", z1.grad()) < tolerance(dtype, 1e-6));
    CHECK(deviation(*file, "dz2", z2.grad()) < tolerance(dtype, 1e-6));
  }
}

TEST_CASE("gradients of vicreg are those of finite differences") {
  const at::Tensor z1 = test::leaf(at::randn({6, 3}), at::kDouble);
  const at::Tensor z2 = test::leaf(at::randn({6, 3}), at::kDouble);
  MethodTrial trial("vicreg", "projector = \"none\"", {z1, z2});
  trial.build().step({z1, z2});
  CHECK(test::slope_error({z1, z2}, [&] { return trial.step({z1, z2}); }) < 1e-6);
}

TEST_CASE("vicreg goes on from its state") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const char* toml = "embedding = 6";
  MethodTrial one("vicreg", toml, views), two("vicreg", toml, views, 1);
  one.build().step(views);
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

TEST_CASE("vicreg refuses a batch of one sample") {
  RunFacts facts;
  facts.batch = 1;
  facts.view_shapes = {{2}, {2}};
  test::CollectedComplaints complaints;
  test::load<SslMethod>("vicreg")->check(facts, complaints);
  CHECK(complaints.text.starts_with(".train.batch: "));
}

}  // namespace
