#include "data/sample_table.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using namespace gh::host;

SampleTable zeros_table(int64_t n) {
  SampleTable table;
  table.samples = at::zeros({n, 3});
  return table;
}

TEST_CASE("views depend on seed, epoch, sample and view, not on the batch they are in") {
  const SampleTable table = zeros_table(50);
  const ViewMaker maker(table, {.count = 2, .noise = 0.5}, 9);
  const at::Tensor all = maker.make(at::arange(50, at::kLong), 3, 1);
  const at::Tensor some = maker.make(at::arange(20, 30, at::kLong), 3, 1);
  CHECK(all.slice(0, 20, 30).equal(some));
  CHECK_FALSE(all.equal(maker.make(at::arange(50, at::kLong), 3, 0)));
  CHECK_FALSE(all.equal(maker.make(at::arange(50, at::kLong), 4, 1)));
  CHECK_FALSE(all.equal(
      ViewMaker(table, {.count = 2, .noise = 0.5}, 10).make(at::arange(50, at::kLong), 3, 1)));
}

TEST_CASE("noise has the standard deviation asked for") {
  const SampleTable table = zeros_table(20000);
  const at::Tensor views =
      ViewMaker(table, {.count = 2, .noise = 0.3}, 1).make(at::arange(20000, at::kLong), 0, 0);
  CHECK(views.std().item<double>() == Approx(0.3).margin(0.005));
  CHECK(views.mean().item<double>() == Approx(0).margin(0.005));
}

TEST_CASE("an epoch visits every sample once, in an order of its own") {
  const SampleTable table = zeros_table(100);
  const ViewMaker maker(table, {}, 4);
  CHECK(std::get<0>(maker.order(0, {}).sort()).equal(at::arange(100, at::kLong)));
  CHECK(maker.order(0, {}).equal(maker.order(0, {})));
  CHECK_FALSE(maker.order(0, {}).equal(maker.order(1, {})));
  const at::Tensor subset = at::full({2}, 42, at::kLong);
  CHECK(maker.order(0, subset).equal(subset));
}

// A split with one thing wrong.
class OddSplit final : public Split {
 public:
  enum Fault { none, short_vector, silent, image, wrong_targets, empty };
  explicit OddSplit(Fault fault) : fault_(fault) {}
  int64_t size() const override { return fault_ == empty ? 0 : 3; }
  TargetKind target_kind() const override { return TargetKind::classes; }
  at::Tensor targets() const override {
    return at::zeros({fault_ == wrong_targets ? 2 : 3}, at::kLong);
  }
  std::vector<int64_t> sample_shape() const override { return {2}; }
  void read(int64_t index, SampleSink& sink) const override {
    const float values[2] = {1, 2};
    const uint8_t pixel[3] = {};
    if (fault_ == silent && index == 1) return;
    if (fault_ == image) return sink.pixels(pixel, 1, 1, 3);
    sink.vector(std::span(values).first(fault_ == short_vector && index == 1 ? 1 : 2));
  }
  std::string fingerprint() const override { return "odd"; }

 private:
  Fault fault_;
};

class OddSet final : public Dataset {
 public:
  explicit OddSet(OddSplit::Fault fault) : fault_(fault) {}
  std::vector<std::string> splits() const override { return {"train"}; }
  std::unique_ptr<Split> open(std::string_view, uint64_t) const override {
    return std::make_unique<OddSplit>(fault_);
  }

 private:
  OddSplit::Fault fault_;
};

TEST_CASE("a broken split is refused with split, sample and reason") {
  const auto read = [](OddSplit::Fault fault) {
    return read_split(OddSet(fault), "train", 0, std::nullopt);
  };
  CHECK(read(OddSplit::none).size() == 3);
  CHECK_THROWS_WITH(read(OddSplit::short_vector),
                    Catch::Contains("'train', sample 1") && Catch::Contains("of 1 values"));
  CHECK_THROWS_WITH(read(OddSplit::silent),
                    Catch::Contains("sample 1") && Catch::Contains("no sample"));
  CHECK_THROWS_WITH(read(OddSplit::image), Catch::Contains("images"));
  CHECK_THROWS_WITH(read(OddSplit::wrong_targets), Catch::Contains("targets"));
  CHECK_THROWS_WITH(read(OddSplit::empty), Catch::Contains("is empty"));
}

}  // namespace
