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

at::Tensor assign(const at::Tensor& logits, const at::Tensor& labels, bool differentiable = false) {
  AssignRequest request;
  request.logits = logits;
  request.labels = labels;
  request.differentiable = differentiable;
  Quiet report;
  return test::load<Allocator>("oracle")->assign(request, report);
}

std::string complaints(int64_t classes, int64_t points) {
  AllocatorFacts facts;
  facts.classes = classes;
  facts.points = points;
  test::CollectedComplaints out;
  test::load<Allocator>("oracle")->check(facts, out);
  return out.text;
}

TEST_CASE("oracle gives class c to point c, whatever the logits") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor targets = assign(at::rand({3, 4}).to(type), at::tensor({2, 0, 3}, at::kLong));
    CHECK(targets.scalar_type() == type);
    CHECK(targets.equal(at::tensor({0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}).view({3, 4}).to(type)));
  }
  CHECK(assign(at::rand({1, 2}), at::tensor({1}, at::kLong)).sum().item<double>() == 1);
}

TEST_CASE("oracle declares that it sees labels, and asks for classes that fit") {
  REQUIRE(test::bundled_plugins().find(GH_KIND_ALLOCATOR, "oracle").schema);
  CHECK(test::bundled_plugins().info(GH_KIND_ALLOCATOR, "oracle").flags & GH_SEES_LABELS);
  CHECK(complaints(4, 4).empty());
  CHECK(complaints(3, 4).empty());
  CHECK_THAT(complaints(5, 4), Catch::Contains("each of the 5 classes, the structure has 4"));
  CHECK_THAT(complaints(0, 4), Catch::Contains("needs class labels"));
}

TEST_CASE("oracle refuses what it cannot allocate") {
  const at::Tensor logits = at::rand({2, 3}), labels = at::tensor({0, 2}, at::kLong);
  CHECK_THROWS_WITH(assign(logits, labels, true), Catch::Contains("without gradient"));
  CHECK_THROWS_WITH(assign(logits[0], labels), Catch::Contains("[N, K]"));
  CHECK_THROWS_WITH(assign(logits / 0.0, labels), Catch::Contains("not finite"));
  CHECK_THROWS_WITH(assign(logits, {}), Catch::Contains("class of each of the 2"));
  CHECK_THROWS_WITH(assign(logits, labels.narrow(0, 0, 1)), Catch::Contains("class of each"));
  CHECK_THROWS_WITH(assign(logits, labels + 1), Catch::Contains("0 to 2, got 3"));
  CHECK_THROWS_WITH(assign(logits, labels - 1), Catch::Contains("0 to 2, got -1"));
  CHECK_THROWS(test::load<Allocator>("oracle", "temperature = 1"));
}

}  // namespace
