#include "harmonize/prior_tracker.hpp"
#include "support/vectors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>

#include <catch2/catch.hpp>

#include <algorithm>

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

}  // namespace
