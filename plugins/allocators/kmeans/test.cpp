#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace {

using namespace gh;

class Reported final : public AssignReport {
 public:
  void scalar(std::string_view name, double value) override { values[std::string(name)] = value; }
  std::map<std::string, double> values;
};

// One tensor that goes from one component to another.
class OneTensor final : public State {
 public:
  explicit OneTensor(bool loading) : loading_(loading) {}
  bool loading() const override { return loading_; }
  void tensor(std::string_view name, at::Tensor& value) override {
    CHECK(name == "labels");
    if (loading_)
      value = kept;
    else
      kept = value;
  }
  void integer(std::string_view, int64_t&) override { FAIL("an integer"); }
  void real(std::string_view, double&) override { FAIL("a number"); }
  void text(std::string_view, std::string&) override { FAIL("a text"); }
  at::Tensor kept;

 private:
  bool loading_;
};

constexpr int64_t kSamples = 60, kPoints = 4, kWidth = 6;

// Four directions in turns, rows of different length; positions begin at 2, the last comes first.
FitRequest four_directions() {
  FitRequest request;
  const at::Tensor noise = at::empty({kSamples, kWidth});
  Random(1).fill_normal(noise, 0, 0.05);
  const at::Tensor which = at::arange(kSamples, at::kLong).remainder(kPoints);
  request.embeddings = (at::eye(kWidth).index_select(0, which) + noise) *
                       (1 + at::arange(kSamples).unsqueeze(1) / 10);
  request.points = at::eye(kWidth, at::kDouble).narrow(0, 2, kPoints);
  request.indices = at::arange(kSamples, at::kLong).flip(0) + 2;
  request.random = Random(7);
  return request;
}

AssignRequest batch(const at::Tensor& indices) {
  AssignRequest request;
  request.logits = at::rand({indices.size(0), kPoints});
  request.indices = indices;
  return request;
}

TEST_CASE("kmeans finds directions, gives each sample its cluster and both views the same") {
  for (const std::string metric : {"spherical", "euclidean"}) {
    INFO(metric);
    const FitRequest request = four_directions();
    auto allocator =
        test::load<Allocator>("kmeans", "start = \"plus_plus\"\nmetric = \"" + metric + "\"");
    Reported report;
    const at::Tensor centres = allocator->fit(request, report);
    CHECK(centres.scalar_type() == at::kDouble);
    CHECK((centres.norm(2, {1}) - 1).abs().max().item<double>() < 1e-6);
    const at::Tensor unit = request.embeddings / request.embeddings.norm(2, {1}, true);
    const at::Tensor expected = unit.to(at::kDouble).matmul(centres.t()).argmax(1);
    // As many centres as directions: samples of one direction share a target, others do not.
    CHECK(expected.narrow(0, 0, kPoints).bincount({}, kPoints).eq(1).all().item<bool>());
    const AssignRequest first = batch(request.indices), second = batch(request.indices);
    const at::Tensor targets = allocator->assign(first, report);
    CHECK(targets.argmax(1).equal(expected));
    CHECK(targets.equal(allocator->assign(second, report)));
    CHECK(targets.sum(1).eq(1).all().item<bool>());
    CHECK(report.values.at("empty") == 0);
    CHECK(report.values.at("iterations") >= 1);
    const double objective = report.values.at("objective");
    CHECK((metric == "spherical" ? objective > 0.95 * kSamples : objective < 0.05 * kSamples));
  }
}

TEST_CASE("kmeans gives a sample that was not fitted its largest logit") {
  auto allocator = test::load<Allocator>("kmeans");
  const AssignRequest early = batch(at::arange(5, at::kLong));
  Reported report;
  CHECK(allocator->assign(early, report).argmax(1).equal(early.logits.argmax(1)));
  allocator->fit(four_directions(), report);
  // 0 and 1 lie before what was fitted, 1000 behind.
  const AssignRequest late = batch(at::tensor({0, 1, 1000}, at::kLong));
  CHECK(allocator->assign(late, report).argmax(1).equal(late.logits.argmax(1)));
  const AssignRequest one = batch(at::tensor({2}, at::kLong));
  CHECK(allocator->assign(one, report).sum().item<double>() == 1);
}

TEST_CASE("kmeans clusters the table and leads its centres back through the points") {
  FitRequest request = four_directions();
  const at::Tensor which = at::arange(kSamples, at::kLong).remainder(kPoints);
  request.table = at::one_hot(which, kPoints).to(at::kFloat) * 0.5;
  request.embeddings = at::Tensor();
  auto allocator = test::load<Allocator>("kmeans", "source = \"table\"\nstart = \"plus_plus\"");
  CHECK(allocator->query(kFitsTable) != nullptr);
  CHECK(allocator->query("gh.other.v1") == nullptr);
  CHECK(test::load<Allocator>("kmeans")->query(kFitsTable) == nullptr);
  Reported report;
  const at::Tensor centres = allocator->fit(request, report);
  // Samples of point k hold nothing but point k: the same points in some order.
  CHECK(centres.matmul(request.points.t()).sum(0).sub(1).abs().max().item<double>() < 1e-6);
  const at::Tensor found = allocator->assign(batch(request.indices), report).argmax(1);
  const at::Tensor expected = request.points.index_select(0, which);
  CHECK(test::largest_difference(centres.index_select(0, found), expected) < 1e-6);
  request.table = at::Tensor();
  CHECK_THROWS_WITH(allocator->fit(request, report), Catch::Contains("nothing was tracked"));
  request.table = at::rand({kSamples, kPoints + 1});
  CHECK_THROWS_WITH(allocator->fit(request, report), Catch::Contains("the table must be"));
}

TEST_CASE("kmeans depends on the stream alone and resumes from its state") {
  const FitRequest request = four_directions();
  auto first = test::load<Allocator>("kmeans"), second = test::load<Allocator>("kmeans");
  Reported report;
  const at::Tensor centres = first->fit(request, report);
  CHECK(centres.equal(second->fit(request, report)));
  OneTensor saved(false);
  first->visit_state(saved);
  OneTensor loaded(true);
  loaded.kept = saved.kept.clone();
  auto resumed = test::load<Allocator>("kmeans");
  resumed->visit_state(loaded);
  const AssignRequest some = batch(request.indices);
  CHECK(resumed->assign(some, report).equal(first->assign(some, report)));
}

TEST_CASE("kmeans keeps the dtype of logits and refuses what it cannot do") {
  auto allocator = test::load<Allocator>("kmeans");
  CHECK(allocator->fit_every() == 1);
  CHECK(test::load<Allocator>("kmeans", "every = 3")->fit_every() == 3);
  Reported report;
  AssignRequest request = batch(at::arange(3, at::kLong));
  request.logits = request.logits.to(at::kDouble);
  CHECK(allocator->assign(request, report).scalar_type() == at::kDouble);
  request.differentiable = true;
  CHECK_THROWS_WITH(allocator->assign(request, report), Catch::Contains("without gradient"));
  request.differentiable = false;
  request.logits[1][1] = std::nan("");
  CHECK_THROWS_WITH(allocator->assign(request, report), Catch::Contains("not finite"));
  request.logits = at::rand({3});
  CHECK_THROWS_WITH(allocator->assign(request, report), Catch::Contains("[N, K]"));
  allocator->fit(four_directions(), report);
  request = batch(at::arange(3, at::kLong));
  request.indices = at::Tensor();
  CHECK_THROWS_WITH(allocator->assign(request, report), Catch::Contains("position"));
  request.indices = at::arange(2, 2 + kSamples, at::kLong);
  request.logits = at::rand({kSamples, 1});
  CHECK_THROWS_WITH(allocator->assign(request, report), Catch::Contains("1 points"));

  FitRequest few = four_directions();
  few.embeddings = few.embeddings.narrow(0, 0, 3);
  few.indices = few.indices.narrow(0, 0, 3);
  CHECK_THROWS_WITH(allocator->fit(few, report), Catch::Contains("each of the 4 points, got 3"));
  few = four_directions();
  few.embeddings[3][1] = std::nan("");
  CHECK_THROWS_WITH(allocator->fit(few, report), Catch::Contains("row 3"));

  test::CollectedComplaints complaints;
  AllocatorFacts facts;
  facts.points = 10;
  facts.samples = 9;
  allocator->check(facts, complaints);
  CHECK_THAT(complaints.text, Catch::Contains("10 points"));
  for (const char* bad : {"metric = \"cosine\"", "start = \"first\"", "iterations = 0", "every = 0",
                          "source = \"logits\""})
    CHECK_THROWS(test::load<Allocator>("kmeans", bad));
}

}  // namespace
