#include "train/schedule.hpp"

#include "support/vectors.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using host::Schedule;

void check_against(const host::TensorFile& file, const std::string& name,
                   const Schedule& schedule) {
  const at::Tensor expected = file.at(name);
  for (int64_t i = 0; i < expected.size(0); ++i) {
    INFO(name << " entry " << i);
    CHECK(schedule.rate(i) == Approx(expected[i].item<double>()).epsilon(1e-12).margin(1e-15));
  }
}

TEST_CASE("learning rates equal the published schedules", "[parity]") {
  const auto file = test::find_vector("gh_schedules");
  if (!file) return;
  Schedule schedule{.id = "cosine",
                    .lr = test::number(*file, "lr"),
                    .lr_min = test::number(*file, "lr_min"),
                    .warm_up = 10};
  schedule.epochs = static_cast<int64_t>(test::number(*file, "epochs"));
  check_against(*file, "lr_baseline", schedule);

  schedule.id = "gh-two-stage";
  schedule.stage2_begins = static_cast<int64_t>(test::number(*file, "warm_up"));
  schedule.stage1_end = schedule.stage2_start = test::number(*file, "stage_cifar");
  check_against(*file, "lr_gh_cifar", schedule);
  schedule.stage1_end = schedule.stage2_start = test::number(*file, "stage_large");
  check_against(*file, "lr_gh_large", schedule);
  schedule.stage1_end = test::number(*file, "split_lr_min_stage1");
  schedule.stage2_start = test::number(*file, "split_lr_max_stage2");
  check_against(*file, "lr_gh_split", schedule);
}

TEST_CASE("constant is constant, and a cosine of one epoch is defined") {
  CHECK(Schedule{.id = "constant", .lr = 0.3}.rate(7) == 0.3);
  CHECK(Schedule{.id = "cosine", .lr = 1, .lr_min = 0.1, .epochs = 1}.rate(0) == Approx(0.1));
}

}  // namespace
