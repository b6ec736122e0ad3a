#include "harmonize/surrogate_statistics.hpp"
#include "harmonize/given_prior.hpp"
#include "harmonize/harmony_watch.hpp"
#include "pictures/harmony_pictures.hpp"
#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "support/vectors.hpp"

#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

namespace {

using namespace gh;
using namespace gh::host;

at::Tensor whole(std::vector<int64_t> values) { return at::tensor(values, at::kLong); }
at::Tensor real(std::vector<double> values) { return at::tensor(values, at::kDouble); }

// Six samples at two of four points, three classes of sizes 3, 2, 1.
SurrogateStatistics example(const at::Tensor& classes) {
  const at::Tensor labels = whole({0, 0, 0, 2, 2, -1});
  at::Tensor table = at::eye(4).index_select(0, labels.clamp_min(0));
  table[2] *= 5;  // length does not matter
  return measure_surrogates(table, labels, whole({3, 0, 2, 0}), real({0.5, 0.25, 0.25, 0}),
                            classes);
}

TEST_CASE("statistics of surrogate labels by hand") {
  const SurrogateStatistics s = example(whole({0, 0, 1, 1, 0, 2}));
  CHECK(s.dead == 2);
  CHECK(s.largest_share == Approx(0.6));
  CHECK(s.effective == Approx(std::exp(-0.6 * std::log(0.6) - 0.4 * std::log(0.4))));
  CHECK(s.prior_from_uniform.total_variation == Approx(0.25));
  CHECK(s.prior_from_uniform.kl == Approx(0.5 * std::log(2.0)));
  CHECK(s.agreement.samples == 5);
  CHECK(s.agreement.purity == Approx(0.6));
  // Sorted, with half a sample: (3.5, 2, 2, 0.5)/8 against (3.5, 2.5, 1.5, 0.5)/8.
  CHECK(s.prior_from_classes.total_variation == Approx(0.5 * (0.5 + 0.5) / 8));
  CHECK(s.prior_from_classes.kl == Approx(0.25 * std::log(2 / 2.5) + 0.25 * std::log(2 / 1.5)));
  // Class 0: two rows at point 0, one at 2. Class 1: one each. Class 2: never seen.
  CHECK(s.class_spread.at(0) == Approx(1 - std::sqrt(5.0) / 3));
  CHECK(s.class_spread.at(1) == Approx(1 - std::sqrt(2.0) / 2));
  CHECK(std::isnan(s.class_spread.at(2)));
  CHECK(s.head_spread() == Approx(s.class_spread[0]));
  CHECK(std::isnan(s.tail_spread()));
}

TEST_CASE("without classes only what needs none is logged") {
  std::map<std::string, double> logged;
  const auto log = [&](std::string_view name, double value) { logged[std::string(name)] = value; };
  log_statistics(example({}), log);
  CHECK(logged.contains("points_dead"));
  CHECK_FALSE(logged.contains("surrogate_nmi"));
  log_statistics(example(whole({0, 0, 1, 1, 0, 2})), log);
  CHECK(logged.at("surrogate_purity") == Approx(0.6));
}

TEST_CASE("the oracle's prior follows class sizes, softened by its temperature") {
  const at::Tensor counts = whole({16, 4, 1});
  CHECK(test::largest_difference(oracle_prior(counts, 4, 1),
                                 real({16. / 21, 4. / 21, 1. / 21, 0})) < 1e-15);
  CHECK(test::largest_difference(oracle_prior(counts, 3, 2), real({4. / 7, 2. / 7, 1. / 7})) <
        1e-15);
  CHECK_THROWS_WITH(oracle_prior(counts, 2, 1), Catch::Contains("3 classes and only 2 points"));
}

TEST_CASE("a prior is read from a list or from lines, and refused by what is wrong") {
  const test::TemporaryDirectory dir;
  const auto read = [&](const std::string& text) {
    return read_prior(dir.write("prior", text), 3);
  };
  CHECK(test::largest_difference(read("[1, 2, 1]"), real({0.25, 0.5, 0.25})) < 1e-15);
  CHECK(test::largest_difference(read("3\n0\n1\n"), real({0.75, 0, 0.25})) < 1e-15);
  CHECK_THROWS_WITH(read("1 1"), Catch::Contains("2 entries, the structure has 3"));
  CHECK_THROWS_WITH(read("1 -1 1"), Catch::Contains("entry 2 must be finite and not negative"));
  CHECK_THROWS_WITH(read("1 nan 1"), Catch::Contains("entry 2"));
  CHECK_THROWS_WITH(read("0 0 0"), Catch::Contains("nothing but zeros"));
  CHECK_THROWS_WITH(read("1 2x 1"), Catch::Contains("entry 2 is no number"));
  CHECK_THROWS_WITH(read("[1, \"a\", 1]"), Catch::Contains("entry 2 is no number"));
  CHECK_THROWS_WITH(read("[1, "), Catch::Contains("no JSON list"));
  CHECK_THROWS_WITH(read_prior(dir.path() / "absent", 3), Catch::Contains("is not there"));
}

TEST_CASE("the watch warns once of collapse, of a residual that stays, and of too many points") {
  CHECK(coverage_warning(100, 100).empty());
  CHECK(coverage_warning(101, 100).find("101 points and 100 samples") == 0);

  SurrogateStatistics fine;
  fine.points = 100;
  fine.effective = 40;
  SurrogateStatistics collapsed = fine;
  collapsed.effective = 3;
  HarmonyWatch watch;
  CHECK(watch.look(fine, 1e-4).empty());
  CHECK(watch.look(collapsed, 1e-4).at(0).find("as good as 3.0 of 100") != std::string::npos);
  CHECK(watch.look(collapsed, 1e-4).empty());

  const auto warnings = [&](std::vector<double> residuals) {
    HarmonyWatch of;
    std::size_t count = 0;
    for (const double residual : residuals) count += of.look(fine, residual).size();
    return count;
  };
  CHECK(warnings({0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}) == 1);
  CHECK(warnings({0.2, 0.18, 0.15, 0.12, 0.1, 0.08, 0.05, 0.03}) == 0);
  CHECK(warnings({1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3}) == 0);
  const double none = std::nan("");
  CHECK(warnings({none, none, none, none, none, none, none}) == 0);
}

TEST_CASE("pictures show what there is") {
  auto allocator = test::load<Allocator>("sinkhorn");
  const at::Tensor points = test::load<Structure>("orthogonal")->points(2, Random(0));
  const at::Tensor classes = at::arange(16, at::kLong).remainder(3);
  for (const bool labelled : {false, true}) {
    Harmonizer harmonizer(
        {}, points, *allocator.component,
        {.for_allocator = {}, .for_statistics = labelled ? classes : at::Tensor()}, 16, at::kFloat,
        [](std::string_view, double) {});
    CHECK(draw_harmony(harmonizer, labelled ? classes : at::Tensor()).size() ==
          (labelled ? 3U : 1U));  // before the first epoch
    const at::Tensor z = at::randn({16, 2});
    harmonizer.term(z, z, at::arange(16, at::kLong), true, 0);
    harmonizer.end_epoch(0);
    const auto pictures = draw_harmony(harmonizer, labelled ? classes : at::Tensor());
    CHECK(pictures.size() == (labelled ? 4U : 2U));
    for (const HarmonyPicture& p : pictures)
      CHECK(p.bytes.find(p.mime == "image/png" ? "PNG" : "<svg") != std::string::npos);
  }
}

}  // namespace
