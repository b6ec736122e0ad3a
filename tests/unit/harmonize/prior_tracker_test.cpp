#include "harmonize/prior_tracker.hpp"
#include "support/vectors.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace {

using namespace gh;
using namespace gh::host;

TEST_CASE("table and prior follow the published small-set rule, batch by batch", "[parity]") {
  const auto file = test::find_vector("gh_table_cifar");
  if (!file) return;
  const auto n = static_cast<int64_t>(test::number(*file, "N"));
  const auto batch = static_cast<int64_t>(test::number(*file, "batch"));
  PriorTracker tracker(n, static_cast<int64_t>(test::number(*file, "K")),
                       {.warm_up = static_cast<int64_t>(test::number(*file, "warm_up")),
                        .momentum = test::number(*file, "beta"),
                        .warm_up_momentum = test::number(*file, "beta_warm"),
                        .refresh = 20});
  const at::Tensor m = file->at("M");
  const at::Tensor expected_at = file->at("pi_epoch0_batch");
  int64_t priors = 0;
  for (int64_t e = 0; e < file->at("epochs0").size(0); ++e) {
    const int64_t epoch = file->at("epochs0")[e].item<int64_t>();
    for (int64_t begin = 0; begin < n; begin += batch) {
      const at::Tensor indices = file->at("order")[e].slice(0, begin, std::min(n, begin + batch));
      const at::Tensor s = file->at("z")[e].index_select(0, indices).matmul(m.t());
      tracker.update(s / s.norm(2, {1}, true), indices, epoch);
      if (priors < expected_at.size(0) && expected_at[priors][0].item<int64_t>() == epoch &&
          expected_at[priors][1].item<int64_t>() == begin / batch)
        CHECK(tracker.prior().equal(file->at("pi")[priors++]));
    }
    CHECK(test::largest_difference(tracker.table(), file->at("table_after_epoch")[e]) < 2e-6);
  }
  CHECK(priors == expected_at.size(0));
}

TEST_CASE("the prior is uniform until counted, and counts only samples that were seen") {
  PriorTracker tracker(10, 4,
                       {.warm_up = 3, .momentum = 0.9, .warm_up_momentum = 0.9, .refresh = 20});
  const at::Tensor one_hot = at::eye(4).slice(0, 1, 2).expand({2, 4});
  tracker.update(one_hot, at::arange(2, at::kLong), 0);
  CHECK(tracker.prior().equal(at::full({4}, 0.25, at::kDouble)));
  CHECK(tracker.labels()[0].item<int64_t>() == 1);
  CHECK(tracker.labels()[9].item<int64_t>() == -1);
  tracker.update(one_hot, at::arange(2, at::kLong), 2);
  CHECK(tracker.prior()[1].item<double>() == 1);
  CHECK(tracker.prior().sum().item<double>() == 1);
}

TEST_CASE("table and prior follow the published large-set rule, epoch by epoch", "[parity]") {
  const auto file = test::find_vector("gh_table_large");
  if (!file) return;
  const auto whole = [&](const char* key) {
    return static_cast<int64_t>(test::number(*file, key));
  };
  const int64_t n = whole("N");
  PriorTracker tracker(n, whole("K"),
                       {.warm_up = whole("warm_up"),
                        .first_epoch = whole("first_table_epoch") - 1,
                        .momentum = test::number(*file, "beta"),
                        .warm_up_momentum = test::number(*file, "beta_warm"),
                        .refresh = 20,
                        .refresh_at = TrackerPlan::Refresh::epoch_before,
                        .floor = test::number(*file, "floor")});
  int64_t priors = 0;
  for (int64_t e = 0; e < file->at("epochs1").size(0); ++e) {
    const int64_t epoch = file->at("epochs1")[e].item<int64_t>() - 1;
    // Half of the samples at a time: how an epoch is cut does not matter.
    const at::Tensor logits = file->at("epoch_logits")[e], all = at::arange(n, at::kLong);
    for (const auto& [from, to] : {std::pair(n / 2, n), std::pair(int64_t{0}, n / 2)})
      tracker.update(logits.slice(0, from, to), all.slice(0, from, to), epoch);
    tracker.end_epoch(epoch);
    CHECK(test::largest_difference(tracker.table(), file->at("table_after_epoch")[e]) < 2e-6);
    if (priors < file->at("pi_epoch1").size(0) &&
        file->at("pi_epoch1")[priors].item<int64_t>() == epoch + 1)
      CHECK(test::largest_difference(tracker.prior(), file->at("pi")[priors++]) < 1e-12);
  }
  CHECK(priors == file->at("pi_epoch1").size(0));
}

TEST_CASE("labels and counts kept along are those of the table") {
  PriorTracker tracker(50, 7, {.momentum = 0.5, .warm_up_momentum = 0.5, .refresh = 1});
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const at::Tensor indices = at::randint(0, 50, {33}, at::kLong);  // repeats, too
    tracker.update(at::rand({33, 7}), indices, epoch);
    const at::Tensor seen = tracker.labels().ge(0);
    const at::Tensor plain = tracker.table().argmax(1);
    CHECK(tracker.labels().masked_select(seen).equal(plain.masked_select(seen)));
    const at::Tensor counts = at::bincount(plain.masked_select(seen), {}, 7);
    CHECK(tracker.counts().equal(counts));
    CHECK(test::largest_difference(tracker.prior(), counts.to(at::kDouble) / counts.sum()) < 1e-15);
  }
  CHECK_THROWS_AS(tracker.update(at::rand({1, 7}), at::full({1}, 50, at::kLong), 0), Error);
  CHECK_THROWS_AS(tracker.update(at::rand({1, 6}), at::zeros({1}, at::kLong), 0), Error);
}

TEST_CASE("a stage over a part of the samples has the prior of these, and remembers the others") {
  PriorTracker tracker(5, 3, {.momentum = 0.9, .warm_up_momentum = 0.9, .refresh = 1});
  tracker.update(at::eye(3).index_select(0, at::tensor({0, 0, 1, 2, 2}, at::kLong)),
                 at::arange(5, at::kLong), 0);
  const at::Tensor of_all = at::tensor({2, 1, 2}, at::kLong);
  CHECK(tracker.counts().equal(of_all));
  tracker.restrict_to(at::tensor({4, 2}, at::kLong));
  CHECK(tracker.labels().equal(at::tensor({-1, -1, 1, -1, 2}, at::kLong)));
  tracker.update(at::eye(3).slice(0, 1, 2), at::full({1}, 2, at::kLong), 1);
  CHECK(tracker.prior().equal(at::tensor({0.0, 0.5, 0.5}, at::kDouble)));
  tracker.restrict_to({});
  CHECK(tracker.counts().equal(of_all));
}

TEST_CASE("with new points the table is rewritten and counted anew") {
  PriorTracker tracker(4, 3, {.warm_up = 9, .refresh = 20});
  tracker.update(at::eye(3), at::arange(3, at::kLong), 0);
  tracker.rewrite([](const at::Tensor& table) { return table.roll(1, 1); });
  CHECK(tracker.labels().equal(at::tensor({1, 2, 0, -1}, at::kLong)));
  CHECK(tracker.prior().equal(at::full({3}, 1.0 / 3, at::kDouble)));
  tracker.forget();
  CHECK(tracker.labels().equal(at::full({4}, -1, at::kLong)));
}

}  // namespace
