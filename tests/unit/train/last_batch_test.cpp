#include "train/last_batch.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

TrainPlan plan(int64_t batch, int64_t accumulate, int64_t world, Norm norm = Norm::of_all_ranks) {
  TrainPlan out;
  out.norm = norm;
  out.batch = batch;
  out.accumulate = accumulate;
  out.world = world;
  return out;
}

TEST_CASE("a last batch of one sample is told with the numbers and what to do") {
  const auto text = [](const TrainPlan& p, int64_t samples) {
    return lone_last_sample(p, samples);
  };
  CHECK_THAT(text(plan(4, 1, 1), 9), Catch::Contains("9 samples in batches of 4") &&
                                         Catch::Contains("train.drop_last = true"));
  for (const int64_t samples : {8, 10, 11, 12}) CHECK(text(plan(4, 1, 1), samples).empty());
  TrainPlan dropping = plan(4, 1, 1);
  dropping.drop_last = true;
  CHECK(text(dropping, 9).empty());
  // Parts of a batch are batches to whoever compares samples.
  CHECK_THAT(text(plan(8, 2, 1), 13), Catch::Contains("in 2 parts"));
  CHECK(text(plan(8, 2, 1), 14).empty());
  // Who asked for one sample at a time gets that, to the last.
  CHECK(text(plan(1, 1, 1), 9).empty());
  CHECK(text(plan(4, 4, 1), 9).empty());
}

TEST_CASE("ranks share a last batch out, and their statistics are those of all or of each") {
  // 8 samples on two ranks: 9 leave none, 10 and 11 one for each rank.
  for (const int64_t samples : {8, 9, 10, 11, 12})
    CHECK(lone_last_sample(plan(8, 1, 2, Norm::of_all_ranks), samples).empty());
  CHECK(lone_last_sample(plan(8, 1, 2, Norm::of_each_rank), 9).empty());
  CHECK_THAT(lone_last_sample(plan(8, 1, 2, Norm::of_each_rank), 10),
             Catch::Contains("ranks.sync_norm"));
  CHECK_FALSE(lone_last_sample(plan(8, 1, 2, Norm::of_each_rank), 11).empty());
  CHECK(lone_last_sample(plan(8, 1, 2, Norm::of_each_rank), 12).empty());
  CHECK(lone_last_sample(plan(2, 1, 2, Norm::of_each_rank), 9).empty());
}

}  // namespace
