#include "train/epoch_metrics.hpp"

#include "train/state_archive.hpp"

#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace {

using namespace gh;
using namespace gh::host;

TEST_CASE("a metric is the mean of what was logged, number or tensor, in order of first mention") {
  EpochMetrics metrics;
  metrics.add("b", 1);
  metrics.add("a", at::tensor(4.0));
  metrics.add("b", at::tensor(2.0f));
  metrics.add("b", 6);
  CHECK(metrics.mean("a") == 4);
  CHECK(metrics.mean("b") == 3);
  CHECK(std::isnan(metrics.mean("c")));
  nlohmann::ordered_json line;
  metrics.write(line);
  CHECK(line.dump() == R"({"b":3.0,"a":4.0})");
  metrics.clear();
  CHECK(std::isnan(metrics.mean("a")));
}

TEST_CASE("what is not finite is null, and names become UTF-8") {
  EpochMetrics metrics;
  metrics.add("bad", std::numeric_limits<double>::infinity());
  metrics.add("n\xff", 1);
  metrics.add("n\xff", 3);
  nlohmann::ordered_json line;
  metrics.write(line);
  CHECK(line["bad"].is_null());
  CHECK(line["n\xEF\xBF\xBD"] == 2);
}

TEST_CASE("metrics of half an epoch go on as if it had not been left") {
  const auto ranks = Ranks::alone();
  EpochMetrics before;
  before.add("x", 0.1);
  before.add("x", at::tensor(0.7));
  before.add("y", 5);
  TensorFile file;
  StateSaver saver(file, "metrics");
  before.visit_state(saver, *ranks);
  EpochMetrics after;
  after.add("forgotten", 1);
  StateLoader loader(file, "metrics");
  after.visit_state(loader, *ranks);
  CHECK(std::isnan(after.mean("forgotten")));
  for (EpochMetrics* each : {&before, &after}) {
    each->add("x", at::tensor(0.3));
    each->add("x", 1);
  }
  CHECK(after.mean("x") == before.mean("x"));
  CHECK(after.mean("y") == 5);
}

}  // namespace
