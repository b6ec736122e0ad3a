#include "data/long_tail.hpp"
#include "support/vectors.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using host::LongTail;
using host::thin;

at::Tensor balanced(int64_t classes, int64_t each) {
  return at::arange(classes * each, at::kLong).floor_divide(each);
}

at::Tensor counts(const at::Tensor& labels, const LongTail& law) {
  return at::bincount(labels.index_select(0, thin(labels, law)));
}

TEST_CASE("the exponential law reproduces the published CIFAR-100-LT subsets", "[parity]") {
  const auto file = test::find_vector("cifar_lt_indices");
  if (!file) return;
  const auto seed = static_cast<uint32_t>(test::number(*file, "numpy_legacy_seed"));
  int compared = 0;
  for (const auto& [name, expected] : file->tensors) {
    if (!name.starts_with("indices_R")) continue;
    const double ratio = std::stod(name.substr(9));
    CHECK(thin(file->at("labels"), {.law = "exp", .ratio = ratio, .seed = seed}).equal(expected));
    ++compared;
  }
  CHECK(compared == 3);
}

TEST_CASE("class sizes follow the law") {
  const at::Tensor labels = balanced(4, 500);
  const at::Tensor exp = counts(labels, {.law = "exp", .ratio = 64, .seed = 0});
  const int64_t geometric[] = {500, 125, 31, 7};
  for (int64_t c = 0; c < 4; ++c) CHECK(exp[c].item<int64_t>() == geometric[c]);
  const at::Tensor step = counts(labels, {.law = "step", .ratio = 10, .seed = 0});
  const int64_t halves[] = {500, 500, 50, 50};
  for (int64_t c = 0; c < 4; ++c) CHECK(step[c].item<int64_t>() == halves[c]);
}

TEST_CASE("ratio one keeps everything, in another order") {
  const at::Tensor labels = balanced(3, 7);
  const at::Tensor chosen = thin(labels, {.law = "exp", .ratio = 1, .seed = 5});
  CHECK(std::get<0>(chosen.sort()).equal(at::arange(21, at::kLong)));
}

TEST_CASE("a ratio that empties a class is refused") {
  CHECK_THROWS_WITH(thin(balanced(4, 10), {.law = "exp", .ratio = 100, .seed = 0}),
                    Catch::Contains("without samples"));
  CHECK_THROWS_AS(thin(balanced(4, 10).to(at::kFloat), {}), Error);
}

}  // namespace
