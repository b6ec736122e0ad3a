#include "train/failed_step.hpp"

#include "support/temporary_directory.hpp"
#include "weights/safetensors.hpp"

#include "gh/error.hpp"

#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <fstream>
#include <limits>

namespace {

using namespace gh;
using namespace gh::host;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

LoadedBatch batch() {
  return {.views = {at::tensor({1.0, -2.5}), at::tensor({0.0, kNan})},
          .indices = at::tensor({4, 7}, at::kLong),
          .skipped = {}};
}

std::vector<std::pair<std::string, at::Tensor>> parameters() {
  at::Tensor good = at::tensor({3.0, 4.0}), bad = at::tensor({1.0});
  good.mutable_grad() = at::tensor({0.0, 2.0});
  bad.mutable_grad() = at::tensor({kNan});
  return {{"method.good", good}, {"method.bad", bad}, {"method.idle", at::tensor({2.0})}};
}

TEST_CASE("a step that failed is told with what was not finite, and only that") {
  const StepExamination seen = examine_step(11, 0.5, kNan, batch(), parameters());
  CHECK_FALSE(seen.finite());
  CHECK(examine_step(11, 0.5, 2, batch(), parameters()).finite());
  CHECK(seen.views == std::vector<std::string>{"0: -2.5 … 1", "1: not finite"});
  REQUIRE(seen.parameters.size() == 3);
  CHECK(seen.parameters[0].value == "5");
  CHECK(seen.parameters[0].gradient == "2");
  CHECK(seen.parameters[2].gradient == "none");
  const std::string text = summary(seen);
  CHECK_THAT(text, Catch::Contains("step 12: loss 0.5, gradient norm nan"));
  CHECK_THAT(text, Catch::Contains("method.bad") && Catch::Contains("1 of 3 parameters"));
  CHECK_THAT(text, !Catch::Contains("method.good"));
}

TEST_CASE("it is found in the run as it was written, with its batch") {
  const test::TemporaryDirectory folder;
  const auto path = folder / "run";
  CHECK_THROWS_WITH(read_failure(path), Catch::Contains("no step that failed"));
  const StepExamination seen = examine_step(11, kNan, 1.0 / 3, batch(), parameters());
  {
    RunDirectory unwritten = RunDirectory::unwritten(path);
    write_failure(unwritten, seen, batch());
    CHECK_FALSE(std::filesystem::exists(path));
    RunDirectory directory = RunDirectory::create(path, "failing");
    write_failure(directory, seen, batch());
  }
  CHECK(read_failure(path) == seen);
  const TensorFile file = read_safetensors(path / "failure/batch.safetensors");
  CHECK(file.at("indices").equal(batch().indices));
  CHECK(file.at("view.0").equal(batch().views[0]));
  std::ofstream(path / "failure/step.json") << "{";
  CHECK_THROWS_AS(read_failure(path), Error);
}

}  // namespace
