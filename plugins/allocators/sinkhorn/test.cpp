#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>

namespace {

using namespace gh;

class Reported final : public AssignReport {
 public:
  void scalar(std::string_view name, double value) override { values[std::string(name)] = value; }
  std::map<std::string, double> values;
};

at::Tensor assign(const std::string& toml, const at::Tensor& logits, const at::Tensor& prior,
                  Reported* out = nullptr) {
  auto allocator = test::load<Allocator>("sinkhorn", toml);
  AssignRequest request;
  request.logits = logits;
  request.prior = prior;
  Reported report;
  const at::Tensor targets = allocator->assign(request, report);
  if (out) *out = report;
  return targets;
}

// Every tensor Q_<prior>_it<count>[_f64] is computed anew in every domain.
void check_vector(const std::string& name) {
  const auto file = test::find_vector(name);
  if (!file) return;
  int compared = 0;
  for (const auto& [key, expected] : file->tensors) {
    if (!key.starts_with("Q_")) continue;
    const size_t mark = key.rfind("_it");
    REQUIRE(mark != std::string::npos);
    const std::string prior = key.substr(2, mark - 2);
    const std::string iterations = std::to_string(std::stoi(key.substr(mark + 3)));
    const bool exact = key.ends_with("_f64");
    const at::Tensor pi = prior == "none" ? at::Tensor() : file->at("pi_" + prior);
    const at::Tensor t = exact ? file->at("t").to(at::kDouble) : file->at("t");
    for (const std::string domain : {"linear", "log", "auto"}) {
      const at::Tensor q =
          assign("iterations = " + iterations + "\nepsilon = " + file->metadata.at("epsilon") +
                     "\ndomain = \"" + domain + "\"",
                 t, pi);
      INFO(name << " " << key << " " << domain);
      CHECK(test::largest_difference(q, expected) < (exact ? 1e-9 : 5e-6));
      ++compared;
    }
  }
  INFO(name << " holds no assignment");
  CHECK(compared > 0);
}

TEST_CASE("sinkhorn equals the published scaling, tall and wide, in every domain", "[parity]") {
  check_vector("gh_sinkhorn_tall");
  check_vector("gh_sinkhorn_wide");
}

TEST_CASE("sinkhorn's rows sum to one and its columns approach the prior") {
  const at::Tensor logits = at::rand({64, 8}, at::kDouble);
  at::Tensor prior = at::rand({8}, at::kDouble);
  prior[3] = 0;
  Reported report;
  const at::Tensor q = assign("", logits, prior, &report);
  CHECK((q.sum(1) - 1).abs().max().item<double>() < 1e-12);
  CHECK(test::largest_difference(q.mean(0), prior / prior.sum()) < 1e-6);
  CHECK(q.select(1, 3).abs().max().item<double>() == 0);
  CHECK(report.values.at("residual") < 1e-6);
}

TEST_CASE("sinkhorn at the paper's literal sharpness stays finite in float32") {
  const at::Tensor logits = at::rand({32, 8}) * 2 - 1;
  const at::Tensor q = assign("epsilon = 0.002", logits, {});
  CHECK(std::isfinite(q.sum().item<double>()));
  CHECK((q.sum(1) - 1).abs().max().item<double>() < 1e-5);
}

TEST_CASE("sinkhorn gives identical rows identical targets") {
  const at::Tensor q = assign("", at::zeros({6, 3}, at::kDouble), {});
  CHECK(test::largest_difference(q, at::full({6, 3}, 1.0 / 3, at::kDouble)) < 1e-12);
}

TEST_CASE("sinkhorn refuses what it cannot allocate") {
  const at::Tensor logits = at::rand({4, 3});
  CHECK_THROWS_WITH(assign("", logits, at::zeros({3}, at::kDouble)),
                    Catch::Contains("zero everywhere"));
  CHECK_THROWS_WITH(assign("", logits, at::full({3}, -1.0, at::kDouble)),
                    Catch::Contains("not negative"));
  CHECK_THROWS_WITH(assign("", logits, at::full({2}, 0.5, at::kDouble)),
                    Catch::Contains("must be [3]"));
  CHECK_THROWS_WITH(assign("", logits / 0.0, {}), Catch::Contains("not finite"));
  CHECK_THROWS_WITH(assign("epsilon = 0", logits, {}), Catch::Contains("epsilon"));
}

TEST_CASE("sinkhorn allocates both views at once as it does one after the other") {
  auto allocator = test::load<Allocator>("sinkhorn", "iterations = 50");
  auto* const paired = static_cast<PairedAllocator*>(allocator->query(PairedAllocator::kId));
  REQUIRE(paired);
  CHECK(allocator->query("gh.unheard_of.v1") == nullptr);
  AssignRequest first, second;
  first.logits = at::rand({40, 9});
  second.logits = at::rand({40, 9});
  first.prior = second.prior = at::rand({9}, at::kDouble);
  Reported both, one;
  const auto [q1, q2] = paired->assign_both(first, second, both);
  CHECK(q1.equal(allocator->assign(first, one)));
  CHECK(q2.equal(allocator->assign(second, one)));
  CHECK(both.values == one.values);
  for (const char* name : {"iterations", "residual", "change"}) CHECK(one.values.contains(name));
}

TEST_CASE("sinkhorn lets gradients flow where it is asked to") {
  auto allocator = test::load<Allocator>("sinkhorn", "iterations = 20");
  AssignRequest request;
  request.logits = at::rand({12, 5}, at::kDouble).requires_grad_();
  Reported report;
  CHECK(!allocator->assign(request, report).requires_grad());
  const Reported plain = report;
  request.differentiable = true;
  const at::Tensor q = allocator->assign(request, report);
  CHECK(report.values == plain.values);
  q.square().sum().backward();
  CHECK(request.logits.grad().abs().max().item<double>() > 0);
}

TEST_CASE("sinkhorn keeps the type of half precision logits") {
  const at::Tensor logits = at::rand({12, 5});
  const at::Tensor q = assign("", logits.to(at::kBFloat16), {});
  CHECK(q.scalar_type() == at::kBFloat16);
  CHECK(test::largest_difference(q, assign("", logits.to(at::kBFloat16).to(at::kFloat), {})) <
        4e-3);
}

TEST_CASE("sinkhorn stops at its tolerance and appends its trace") {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "trace.jsonl";
  const std::string toml = "tolerance = 1e-3\nrelaxation = 1.2\ntrace = \"" + file + "\"";
  const at::Tensor logits = at::rand({64, 6}, at::kDouble);
  Reported report;
  for (int i = 0; i < 2; ++i) assign(toml, logits, {}, &report);
  CHECK(report.values.at("iterations") < 300);
  CHECK(report.values.at("change") < 1e-3);
  std::ifstream lines(file);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto changes = nlohmann::json::parse(line).get<std::vector<double>>();
    CHECK(static_cast<double>(changes.size()) == report.values.at("iterations"));
    CHECK(changes.back() == Approx(report.values.at("change")));
    CHECK(changes.front() > changes.back());
  }
  CHECK(count == 2);
  CHECK_THROWS_WITH(
      assign("trace = \"" + (directory.path() / "none/trace").string() + "\"", logits, {}),
      Catch::Contains("cannot append the trace"));
}

}  // namespace
