#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>
#include <sstream>

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

void check_vector(const std::string& name) {
  const auto file = test::find_vector(name);
  if (!file) return;
  std::istringstream counts(file->metadata.at("iterations"));  // "3 and 300"
  int compared = 0;
  for (const auto& [key, expected] : file->tensors) {
    if (!key.starts_with("Q_")) continue;
    const std::string prior = key.substr(2, key.find("_it") - 2);
    const std::string iterations = std::to_string(std::stoi(key.substr(key.find("_it") + 3)));
    const bool exact = key.ends_with("_f64");
    const at::Tensor pi = prior == "none" ? at::Tensor() : file->at("pi_" + prior);
    const at::Tensor t = exact ? file->at("t").to(at::kDouble) : file->at("t");
    for (const std::string domain : {"linear", "log", "auto"}) {
      const at::Tensor q =
          assign("iterations = " + iterations + "\nepsilon = " + file->metadata.at("epsilon") +
                     "\ndomain = \"" + domain + "\"",
                 t, pi);
      INFO(key << " " << domain);
      CHECK(test::largest_difference(q, expected) < (exact ? 1e-9 : 5e-6));
      ++compared;
    }
  }
  CHECK(compared >= 12);
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

}  // namespace
