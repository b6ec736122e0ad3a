#include "plan/plan.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

TEST_CASE("steps of an epoch: what is left over, parts of a batch, ranks") {
  TrainPlan plan;
  plan.batch = 10;
  CHECK(plan.steps_per_epoch(30) == 3);
  CHECK(plan.steps_per_epoch(31) == 4);
  plan.world = 2;
  CHECK(plan.steps_per_epoch(31) == 3);  // one sample cannot be shared out
  CHECK(plan.steps_per_epoch(33) == 4);
  plan.accumulate = 5;  // calls of two samples, one for each rank
  CHECK(plan.calls_per_epoch(33) == 16);
  CHECK(plan.steps_per_epoch(33) == 4);
  plan.drop_last = true;
  CHECK(plan.calls_per_epoch(39) == 15);
  CHECK(plan.steps_per_epoch(39) == 3);
}

}  // namespace
