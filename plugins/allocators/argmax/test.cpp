#include "support/plugin_fixture.hpp"

#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

struct Quiet final : AssignReport {
  void scalar(std::string_view, double) override {}
};

at::Tensor assign(const at::Tensor& logits, bool differentiable = false) {
  AssignRequest request;
  request.logits = logits;
  request.differentiable = differentiable;
  Quiet report;
  return test::load<Allocator>("argmax")->assign(request, report);
}

TEST_CASE("argmax chooses the largest logit, of equal ones the first") {
  const at::Tensor logits = at::tensor({.1, .3, .2, .5, .5, -1., -2., -3., -2.}).view({3, 3});
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor targets = assign(logits.to(type));
    CHECK(targets.scalar_type() == type);
    CHECK(targets.equal(at::tensor({0, 1, 0, 1, 0, 0, 1, 0, 0}).view({3, 3}).to(type)));
  }
  CHECK(assign(at::rand({1, 5})).sum().item<double>() == 1);
}

TEST_CASE("argmax refuses what it cannot allocate") {
  at::Tensor logits = at::rand({4, 3});
  CHECK_THROWS_WITH(assign(logits, true), Catch::Contains("without gradient"));
  CHECK_THROWS_WITH(assign(logits[0]), Catch::Contains("[N, K]"));
  CHECK_THROWS_WITH(assign(logits.narrow(0, 0, 0)), Catch::Contains("[N, K]"));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    logits[2][1] = bad;
    CHECK_THROWS_WITH(assign(logits), Catch::Contains("not finite"));
  }
  CHECK_THROWS(test::load<Allocator>("argmax", "temperature = 1"));
}

}  // namespace
