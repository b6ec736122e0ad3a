#include "gh/ops/agreement.hpp"

#include "gh/error.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;

at::Tensor labels(std::initializer_list<int64_t> values) {
  return at::tensor(std::vector<int64_t>(values), at::kLong);
}

TEST_CASE("agreement equals scikit-learn's mutual information", "[parity]") {
  const auto file = test::find_vector("eval_nmi");
  if (!file) return;
  int cases = 0;
  for (; file->has("case" + std::to_string(cases) + "_pred"); ++cases) {
    const std::string name = "case" + std::to_string(cases) + "_";
    const auto expected = [&](const char* what) {
      return Approx(file->at(name + what).item<double>()).margin(1e-10);
    };
    const ops::Agreement found = ops::agreement(file->at(name + "pred"), file->at(name + "truth"));
    INFO(name);
    CHECK(found.mutual_information == expected("mutual_information_nats"));
    CHECK(found.nmi_arithmetic == expected("nmi_arithmetic"));
    CHECK(found.nmi_geometric == expected("nmi_geometric"));
  }
  CHECK(cases > 0);
}

TEST_CASE("agreement of known labelings") {
  // Two clusters of three and one: two of the three are of one class.
  const ops::Agreement mixed = ops::agreement(labels({0, 0, 0, 7}), labels({1, 1, 2, 2}));
  CHECK(mixed.purity == Approx(0.75));
  CHECK(mixed.mutual_information ==
        Approx(0.5 * std::log(4.0 / 3) + 0.25 * std::log(2.0 / 3) + 0.25 * std::log(2.0)));
  const ops::Agreement same = ops::agreement(labels({3, 3, 1, 0}), labels({0, 0, 5, 2}));
  CHECK(same.nmi_arithmetic == Approx(1));
  CHECK(same.nmi_geometric == Approx(1));
  CHECK(same.purity == 1);
}

TEST_CASE("agreement leaves out what has no label") {
  const ops::Agreement found = ops::agreement(labels({0, 1, -1, 1}), labels({0, 1, 1, -1}));
  CHECK(found.samples == 2);
  CHECK(found.purity == 1);
  CHECK(ops::agreement(labels({-1}), labels({0})).samples == 0);
}

TEST_CASE("agreement of constant labelings is 1 together and 0 alone") {
  CHECK(ops::agreement(at::zeros({5}, at::kLong), at::zeros({5}, at::kLong)).nmi_geometric == 1);
  CHECK(ops::agreement(at::zeros({5}, at::kLong), at::arange(5, at::kLong)).nmi_arithmetic == 0);
}

TEST_CASE("agreement refuses labelings that do not fit") {
  CHECK_THROWS_AS(ops::agreement(labels({0, 1}), labels({0})), Error);
  CHECK_THROWS_AS(ops::agreement(at::zeros({2}), labels({0, 1})), Error);
}

}  // namespace
