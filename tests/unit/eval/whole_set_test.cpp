// Rows of a whole set, alone and shared out among ranks.
#include "eval/whole_set.hpp"

#include "support/fake_data.hpp"
#include "unit/ranks/several.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using namespace gh::host;

struct Fixture {
  gh::test::FakeSet data = gh::test::files(11, [](int64_t i) { return i == 8; });
  SampleSet set = SampleSet::open(data, "train", 0, std::nullopt, true);
  ViewPlan views = *preset_views("simclr-32", {});

  SetPass pass(const at::Tensor& order, int64_t batch) const {
    return {.set = set,
            .views = views,
            .seed = 3,
            .loader = {.threads = 1, .skip_unreadable = true},
            .plan = {.epoch = 2, .order = order, .batch = batch}};
  }
};

// Of the whole batch: who shares batches out otherwise than in whole ones shows.
at::Tensor centred(const at::Tensor& x) {
  const at::Tensor rows = x.flatten(1).narrow(1, 0, 4).to(at::kDouble);
  return (rows - rows.mean(0)).unsqueeze(1);
}

TEST_CASE("rows of a set are in the order asked for, and say whose they are") {
  const Fixture f;
  std::vector<std::string> skipped;
  const at::Tensor order = at::tensor({5, 8, 0}, at::kLong);
  const SetRows rows = rows_of_rank(
      f.pass(order, 2), 0, 1, [](const at::Tensor& x) { return x; },
      [&](const std::string& reason) { skipped.push_back(reason); });
  CHECK(rows.samples.equal(at::tensor({5, 9, 0}, at::kLong)));  // the next one stands in
  CHECK(skipped.size() == 1);
  const SetRows other =
      rows_of_rank(f.pass(order.flip(0), 3), 0, 1, [](const at::Tensor& x) { return x; }, {});
  CHECK(rows.x.equal(other.x.flip(0)));
  CHECK_THROWS_AS(rows_of_rank(f.pass(at::empty({0}, at::kLong), 2), 0, 1, centred, {}), Error);
}

TEST_CASE("ranks that share a set out get the rows of one, bit for bit") {
  using namespace gh::host::test;
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const Fixture f;
  const auto gather = [&](const at::Tensor& rows) { return ranks->all_gather(rows); };
  // Of three ranks the last one has nothing of five samples in batches of two, and two of three
  // have nothing of one batch.
  for (const int64_t count : {11, 5, 2})
    for (const int64_t batch : {2, 3}) {
      const SetPass pass = f.pass(at::arange(count, at::kLong).flip(0), batch);
      const SetRows alone = rows_of_rank(pass, 0, 1, centred, {});
      const SetRows own = rows_of_rank(pass, ranks->rank(), ranks->world(), centred, {});
      const SetRows all = rows_of_all(own, pass.plan, ranks->world(), at::kCPU, gather);
      CHECK(all.x.scalar_type() == at::kDouble);
      CHECK(all.x.equal(alone.x));
      CHECK(all.samples.equal(alone.samples));
    }
  ranks->leave();
}

}  // namespace
