#include "optimize/schedule.hpp"

#include "support/vectors.hpp"

#include "gh/schedule.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using host::Schedule;

void check_against(const host::TensorFile& file, const std::string& name,
                   const Schedule& schedule) {
  const at::Tensor expected = file.at(name);
  for (int64_t i = 0; i < expected.size(0); ++i) {
    INFO(name << " entry " << i);
    const Approx value = Approx(expected[i].item<double>()).epsilon(1e-12).margin(1e-15);
    const double epoch = static_cast<double>(i);
    CHECK(schedule.rate(epoch) == value);
    CHECK(schedule.rate(epoch + 0.999) == value);  // set once an epoch
  }
}

TEST_CASE("learning rates equal the published schedules", "[parity]") {
  const auto file = test::find_vector("gh_schedules");
  if (!file) return;
  const double lr = test::number(*file, "lr");
  // The length of the linear warm-up is not among the metadata: the first entry is lr/length.
  const double first = file->at("lr_baseline")[0].item<double>();
  Schedule schedule{.id = "cosine",
                    .lr = lr,
                    .lr_min = test::number(*file, "lr_min"),
                    .warm_up = std::llround(lr / first)};
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

// Entry i of a vector is step i, with `steps` of them an epoch.
void check_steps(const at::Tensor& expected, const Schedule& schedule, double steps,
                 double tolerance) {
  for (int64_t i = 0; i < expected.size(0); ++i) {
    INFO("step " << i);
    CHECK(schedule.rate(static_cast<double>(i) / steps) ==
          Approx(expected[i].item<double>()).epsilon(tolerance).margin(1e-15));
  }
}

TEST_CASE("learning rates by step equal those of BYOL, MoCo-v3 and Barlow Twins", "[parity]") {
  const auto file = test::find_vector("ssl_schedules");
  if (!file) return;
  const auto number = [&](const std::string& key) { return test::number(*file, key); };
  const auto whole = [&](const std::string& key) { return static_cast<int64_t>(number(key)); };

  // MoCo-v3's file holds the rate at batch 256.
  check_steps(file->at("mocov3_lr"),
              {.id = "cosine",
               .lr = number("mocov3_lr_base"),
               .warm_up = whole("mocov3_warmup"),
               .epochs = whole("mocov3_epochs"),
               .per_step = true},
              number("mocov3_iters_per_epoch"), 1e-12);
  // The published function of BYOL computes in single precision.
  check_steps(file->at("byol_lr"),
              {.id = "cosine",
               .lr = number("byol_lr_base") * number("byol_batch") / 256,
               .warm_up = whole("byol_warmup"),
               .epochs = whole("byol_steps"),
               .per_step = true},
              1, 1e-6);
  for (const std::string part : {"weights", "biases"}) {
    const double lr =
        number(part == "weights" ? "barlow_lr_w" : "barlow_lr_b") * number("barlow_batch") / 256;
    check_steps(file->at("barlow_lr_" + part),
                {.id = "cosine",
                 .lr = lr,
                 .lr_min = lr * 1e-3,
                 .warm_up = whole("barlow_warmup_epochs"),
                 .epochs = whole("barlow_epochs"),
                 .per_step = true},
                number("barlow_steps_per_epoch"), 1e-12);
  }
}

TEST_CASE("momenta and temperatures of methods equal the published ones", "[parity]") {
  const auto file = test::find_vector("ssl_schedules");
  if (!file) return;
  const auto number = [&](const std::string& key) { return test::number(*file, key); };
  const auto value = [&](const char* name, int64_t i) { return file->at(name)[i].item<double>(); };
  for (int64_t i = 0; i < file->at("byol_ema").size(0); ++i)
    CHECK(ema_momentum(number("byol_base"), static_cast<double>(i), number("byol_steps")) ==
          Approx(value("byol_ema", i)).epsilon(1e-12));
  for (int64_t i = 0; i < file->at("mocov3_momentum").size(0); ++i)
    CHECK(ema_momentum(number("mocov3_base"), value("mocov3_epoch", i), number("mocov3_epochs")) ==
          Approx(value("mocov3_momentum", i)).epsilon(1e-12));
  // Single precision in the published code. The metadata are a sentence: "min 0.1, max 1.0, t_max
  // 200, …".
  const std::vector<std::string> cases = test::endings(*file, "ts_tau_");
  CHECK_FALSE(cases.empty());
  for (const std::string& name : cases) {
    const std::vector<double> given = test::numbers_in(file->metadata.at("ts_" + name));
    REQUIRE(given.size() >= 3);
    const at::Tensor& expected = file->at("ts_tau_" + name);
    for (int64_t i = 0; i < expected.size(0); ++i)
      CHECK(cosine_temperature(given[0], given[1], static_cast<double>(i + 1), given[2]) ==
            Approx(expected[i].item<double>()).margin(5e-7).epsilon(0));
  }
}

TEST_CASE("ramps hold their ends") {
  CHECK(linear_warm_up(0, 10) == 0);
  CHECK(linear_warm_up(2.5, 10) == 0.25);
  CHECK(linear_warm_up(11, 10) == 1);
  CHECK(linear_warm_up(0, 0) == 1);
  CHECK(half_cosine(2, 1, 0, 8) == 2);
  CHECK(half_cosine(2, 1, 4, 8) == Approx(1.5).epsilon(1e-15));
  CHECK(half_cosine(2, 1, 9, 8) == 1);
  CHECK(ema_momentum(0.99, 9, 8) == 1);
}

TEST_CASE("steps multiply the rate after their milestones, as MultiStepLR does") {
  Schedule schedule{.id = "step", .lr = 0.8, .epochs = 10, .milestones = {3, 7}, .gamma = 0.5};
  const double expected[] = {0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2};
  for (int e = 0; e < 10; ++e) {
    CHECK(schedule.rate(e) == Approx(expected[e]).epsilon(1e-15));
    CHECK(schedule.rate(e + 0.9) == Approx(expected[e]).epsilon(1e-15));
  }
  schedule.warm_up = 2;
  CHECK(schedule.rate(0) == Approx(0.4).epsilon(1e-15));
  CHECK(schedule.rate(1) == Approx(0.8).epsilon(1e-15));
  CHECK(schedule.rate(3) == Approx(0.4).epsilon(1e-15));
}

TEST_CASE("constant is constant, and a cosine without room to fall stays at its rate") {
  CHECK(Schedule{.id = "constant", .lr = 0.3}.rate(7) == 0.3);
  for (const double part : {0.0, 0.5, 0.999})
    CHECK(Schedule{.id = "cosine", .lr = 1, .lr_min = 0.1, .epochs = 1}.rate(part) == 1);
  const Schedule warm_up_only{.id = "cosine", .lr = 1, .warm_up = 4, .epochs = 4};
  for (int e = 0; e < 4; ++e) CHECK(warm_up_only.rate(e) == Approx(0.25 * (e + 1)));
  // With an epoch more it falls, and by steps it always did.
  CHECK(Schedule{.id = "cosine", .lr = 1, .epochs = 2}.rate(0) == Approx(0.5));
  CHECK(Schedule{.id = "cosine", .lr = 1, .epochs = 2}.rate(1) == Approx(0).margin(1e-15));
  const Schedule by_step{.id = "cosine", .lr = 1, .epochs = 1, .per_step = true};
  CHECK(by_step.rate(0) == 1);
  CHECK(by_step.rate(0.5) == Approx(0.5));
}

}  // namespace
