#include "affinities.hpp"
#include "choice.hpp"
#include "descent.hpp"
#include "neighbours.hpp"

#include "support/plugin_fixture.hpp"
#include "support/recorded_evaluation.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>
#include <set>

namespace {

using namespace gh;

at::Tensor normal(int64_t n, int64_t width, uint64_t key) {
  at::Tensor x = at::empty({n, width});
  Random(key).fill_normal(x, 0, 1);
  return x;
}

// Gaussian classes of deviation 1 whose means are `apart` along an axis each.
at::Tensor bells(const std::vector<int64_t>& sizes, double apart, int64_t width = 10) {
  std::vector<at::Tensor> parts;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    parts.push_back(normal(sizes[c], width, c));
    parts.back().select(1, static_cast<int64_t>(c)).add_(apart);
  }
  return at::cat(parts);
}

// KL from its definition, in double.
double kl_of(const at::Tensor& p, const std::vector<double>& y) {
  const auto n = static_cast<int64_t>(y.size() / 2);
  double z = 0, kl = 0;
  const auto w = [&](int64_t i, int64_t j) {
    return 1 / (1 + std::pow(y[i] - y[j], 2) + std::pow(y[n + i] - y[n + j], 2));
  };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j) z += w(i, j);
  const auto a = p.accessor<double, 2>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (i != j && a[i][j] > 0) kl += a[i][j] * std::log(a[i][j] / (w(i, j) / z));
  return kl;
}

TEST_CASE("tsne: distances are those between samples") {
  const at::Tensor x = normal(70, 5, 1);
  const at::Tensor found = tsne::squared_distances(x);
  for (const auto& [i, j] : {std::pair{0, 69}, {3, 3}, {65, 64}})
    CHECK(found[i][j].item<double>() ==
          Approx((x[i] - x[j]).to(at::kDouble).square().sum().item<double>()).margin(1e-12));
}

TEST_CASE("tsne: every sample has the perplexity that was asked for") {
  for (const double perplexity : {1.5, 5.0, 30.0, 98.0}) {
    // One sample far away from all, as outliers are.
    at::Tensor x = normal(100, 4, 2);
    x[17] *= 1000;
    const at::Tensor d = tsne::squared_distances(x);
    for (const int64_t i : {0, 17, 99}) {
      std::vector<double> p(d.data_ptr<double>() + i * 100, d.data_ptr<double>() + (i + 1) * 100);
      const std::vector<double> before = p;
      tsne::calibrate(p, static_cast<std::size_t>(i), perplexity);
      double sum = 0, entropy = 0;
      for (const double value : p) {
        sum += value;
        if (value > 0) entropy -= value * std::log(value);
      }
      INFO("perplexity " << perplexity << ", sample " << i);
      CHECK(p[static_cast<std::size_t>(i)] == 0);
      CHECK(sum == Approx(1).epsilon(1e-12));
      CHECK(std::exp(entropy) == Approx(perplexity).epsilon(1e-9));
      // A Gaussian: log p falls with the distance on one line.
      const std::size_t a = i == 5 ? 6 : 5, b = 50, c = 80;
      if (p[a] > 1e-200 && p[b] > 1e-200 && p[c] > 1e-200) {
        const double slope = std::log(p[a] / p[b]) / (before[b] - before[a]);
        CHECK(std::log(p[a] / p[c]) == Approx(slope * (before[c] - before[a])).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("tsne: more equally near samples than the perplexity share alike") {
  std::vector<double> p = {0, 4, 4, 4, 4, 4, 90};  // the first is the sample itself
  tsne::calibrate(p, 0, 2);
  for (int j = 1; j <= 5; ++j) CHECK(p[j] == Approx(0.2));
  CHECK(p[6] == Approx(0).margin(1e-12));
  std::vector<double> same(5, 0);
  tsne::calibrate(same, 2, 2);
  CHECK(same == std::vector<double>{0.25, 0.25, 0, 0.25, 0.25});
}

TEST_CASE("tsne: affinities are symmetric and sum to one") {
  const at::Tensor d = tsne::squared_distances(normal(150, 6, 3));
  const at::Tensor p = tsne::joint_affinities(d.clone(), 10);
  CHECK(p.equal(p.t()));
  CHECK(p.sum().item<double>() == Approx(1).epsilon(1e-12));
  CHECK(p.diagonal().abs().max().item<double>() == 0);
  // From their definition, for a pair in different blocks.
  std::vector<double> a(d.data_ptr<double>() + 3 * 150, d.data_ptr<double>() + 4 * 150);
  std::vector<double> b(d.data_ptr<double>() + 140 * 150, d.data_ptr<double>() + 141 * 150);
  tsne::calibrate(a, 3, 10);
  tsne::calibrate(b, 140, 10);
  CHECK(p[3][140].item<double>() == Approx((a[140] + b[3]) / 300).epsilon(1e-12));
}

TEST_CASE("tsne: KL is as defined, and the gradient is its slope") {
  const int64_t n = 70;  // a whole block and a part of one
  const at::Tensor p = tsne::joint_affinities(tsne::squared_distances(normal(n, 5, 4)), 8);
  tsne::Forces forces(p);
  std::vector<float> y(2 * n), gradient(2 * n);
  Random random(5);
  for (float& value : y) value = static_cast<float>(2 * random.normal());
  forces.gradient(y, 1, gradient);
  std::vector<double> exact(y.begin(), y.end());
  CHECK(forces.kl(y) == Approx(kl_of(p, exact)).epsilon(1e-6));
  double largest = 0;
  for (const float g : gradient) largest = std::max(largest, std::abs(static_cast<double>(g)));
  for (const std::size_t k : {0, 5, 63, 64, 69, 70, 100, 133, 134, 139}) {
    const double step = 1e-5, before = exact[k];
    exact[k] = before + step;
    const double above = kl_of(p, exact);
    exact[k] = before - step;
    const double below = kl_of(p, exact);
    exact[k] = before;
    CHECK(gradient[k] == Approx((above - below) / (2 * step)).margin(1e-5 * largest));
  }
}

TEST_CASE("tsne: exaggeration is of the attraction only") {
  const int64_t n = 40;
  const at::Tensor p = tsne::joint_affinities(tsne::squared_distances(normal(n, 5, 4)), 8);
  tsne::Forces forces(p);
  std::vector<float> y(2 * n), plain(2 * n), exaggerated(2 * n);
  Random random(5);
  for (float& value : y) value = static_cast<float>(random.normal());
  forces.gradient(y, 1, plain);
  forces.gradient(y, 7, exaggerated);
  const auto a = p.accessor<double, 2>();
  for (int64_t axis : {0, 1})
    for (int64_t i = 0; i < n; ++i) {
      double pull = 0;
      for (int64_t j = 0; j < n; ++j)
        pull += a[i][j] * (y[axis * n + i] - y[axis * n + j]) /
                (1 + std::pow(y[i] - y[j], 2) + std::pow(y[n + i] - y[n + j], 2));
      CHECK(exaggerated[axis * n + i] - plain[axis * n + i] == Approx(6 * 4 * pull).margin(1e-5));
    }
}

TEST_CASE("tsne: KL falls, whatever the start, and starts do not decide where it ends") {
  const at::Tensor x = bells({60, 40, 20}, 5);
  const at::Tensor p = tsne::joint_affinities(tsne::squared_distances(x), 10);
  tsne::Forces forces(p);
  std::vector<double> ends;
  for (const bool principal : {true, false}) {
    std::vector<float> y =
        principal ? tsne::principal_start(x, Random(1)) : tsne::random_start(x.size(0), Random(1));
    const double before = forces.kl(y);
    std::vector<double> seen;
    const double after =
        tsne::descend(forces, {.watch = [&](int64_t, double kl) { seen.push_back(kl); }}, y);
    CHECK(after < 0.25 * before);
    REQUIRE(seen.size() == 20);
    CHECK(seen.back() == after);
    // From the end of exaggeration on, but for rounding.
    for (std::size_t i = 6; i < seen.size(); ++i) CHECK(seen[i] <= seen[i - 1] + 1e-3);
    CHECK(std::abs(std::accumulate(y.begin(), y.begin() + 120, 0.0)) < 1e-2);
    ends.push_back(after);
  }
  CHECK(ends[0] == Approx(ends[1]).epsilon(0.15));
}

TEST_CASE("tsne: the principal start lies in the plane of largest variance") {
  at::Tensor x = normal(500, 6, 7);
  x.select(1, 4).mul_(9);
  x.select(1, 2).mul_(4);
  const std::vector<float> y = tsne::principal_start(x + 100, Random(3));
  // Correlations with the two long axes.
  const auto correlation = [&](int64_t column, std::size_t offset) {
    const at::Tensor a = x.select(1, column) - x.select(1, column).mean();
    const at::Tensor b =
        at::tensor(std::vector<float>(y.begin() + static_cast<std::ptrdiff_t>(offset),
                                      y.begin() + static_cast<std::ptrdiff_t>(offset + 500)));
    return std::abs((a.dot(b) / (a.norm() * b.norm())).item<double>());
  };
  CHECK(correlation(4, 0) > 0.99);
  CHECK(correlation(2, 500) > 0.99);
  double squares = 0;
  for (std::size_t i = 0; i < 500; ++i) squares += y[i] * y[i];
  CHECK(std::sqrt(squares / 500) == Approx(1e-4).epsilon(1e-3));
}

TEST_CASE("tsne: samples that are all the same make a map of one point") {
  const at::Tensor x = at::full({40, 3}, 0.7);
  tsne::Forces forces(tsne::joint_affinities(tsne::squared_distances(x), 5));
  std::vector<float> y = tsne::principal_start(x, Random(1));
  CHECK(tsne::descend(forces, {.iterations = 60}, y) == Approx(0).margin(1e-5));
}

TEST_CASE("tsne: neighbours, trustworthiness and purity are those of their definitions") {
  // On a line at 0, 1, 3, 7, 15, 31; the map swaps the ends.
  const at::Tensor x = at::tensor({0.0, 1.0, 3.0, 7.0, 15.0, 31.0}).unsqueeze(1);
  const at::Tensor map = at::tensor({31.0, 1.0, 3.0, 7.0, 15.0, 0.0}).unsqueeze(1);
  const at::Tensor d = tsne::squared_distances(x);
  const auto in_data = tsne::nearest(d, 2), in_map = tsne::nearest(tsne::squared_distances(map), 2);
  CHECK(in_data[2] == std::vector<int64_t>{1, 0});
  CHECK(in_map[2] == std::vector<int64_t>{1, 5});
  CHECK(tsne::trustworthiness(d, in_data) == Approx(1));
  // Ranks beyond 2 of the map's neighbours, by hand: of 0 (4: 4th, 3: 3rd), 1 (5: 5th), 2 (5: 5th),
  // 3 (none: 2, 1 are 1st, 2nd), 4 (3, 2 none), 5 (1: 4th, 2: 3rd).
  const double excess = (2 + 1) + 3 + 3 + 0 + 0 + (2 + 1);
  CHECK(tsne::trustworthiness(d, in_map) == Approx(1 - 2 * excess / (6 * 2 * (12 - 6 - 1))));
  const std::vector<double> purity = tsne::purity(in_data, {0, 0, 0, 1, 1, 1}, 2);
  CHECK(purity[0] == Approx(1));
  CHECK(purity[1] == Approx((0 + 1 + 2) / 6.0));
  // Asked for one neighbour, as there is one other; alone, for none.
  const std::vector<double> small = tsne::purity(in_data, {0, 0, 1, 1, 1, 2}, 3);
  CHECK(small[0] == Approx(1));
  CHECK(small[1] == Approx((0 + 1 + 2) / 6.0));
  CHECK(std::isnan(small[2]));
}

TEST_CASE("tsne: large classes are cut to one level, small ones stay whole") {
  CHECK(tsne::share_out({500, 20, 300, 5}, 225) == std::vector<int64_t>{100, 20, 100, 5});
  CHECK(tsne::share_out({500, 20}, 1000) == std::vector<int64_t>{500, 20});
  CHECK(tsne::share_out({9, 9, 9}, 10) == std::vector<int64_t>{3, 3, 4});
}

TEST_CASE("tsne: classes are drawn at random among those with samples, largest first") {
  const std::vector<int64_t> samples = {50, 0, 70, 60, 70, 10};
  std::set<std::vector<int64_t>> seen;
  for (uint64_t key = 0; key < 50; ++key) {
    const auto drawn = tsne::draw_classes({0, 1, 2, 3, 4}, samples, 2, Random(key));
    REQUIRE(drawn.size() == 2);
    CHECK(samples[static_cast<std::size_t>(drawn[0])] >=
          samples[static_cast<std::size_t>(drawn[1])]);
    seen.insert(drawn);
  }
  CHECK(seen.size() == 6);  // all pairs of 0, 2, 3 and 4
  CHECK(tsne::draw_classes({0, 1, 5}, samples, 9, Random(1)) == std::vector<int64_t>{0, 5});
}

// Nine classes far apart, from 90 samples down to 10.
struct NineBells : test::RecordedEvaluation {
  NineBells() {
    std::vector<int64_t> sizes, labels;
    for (int64_t c = 0; c < 9; ++c) {
      sizes.push_back(90 - 10 * c);
      labels.insert(labels.end(), static_cast<std::size_t>(sizes.back()), c);
    }
    counts = at::tensor(sizes, at::kLong);
    give("train", bells(sizes, 30), at::tensor(labels, at::kLong),
         {"a", "b", "c", "d", "e", "f", "g", "h", "i"});
  }
};

TEST_CASE("tsne keeps classes apart that are apart, and shows head and tail") {
  NineBells evaluation;
  test::load<Evaluator>("tsne", "head = 2\ntail = 2\nperplexity = 8.0")->evaluate(evaluation);
  CHECK(evaluation.metrics.at("map_purity") > 0.97);
  CHECK(evaluation.metrics.at("feature_purity") > 0.99);
  CHECK(evaluation.metrics.at("trustworthiness") > 0.9);
  CHECK(evaluation.metrics.at("kl") > 0);
  const auto& rows = evaluation.tables.at("classes").rows;
  REQUIRE(rows.size() == 4);
  CHECK((rows[0][2] == "many" && rows[1][2] == "many"));
  CHECK((rows[2][2] == "few" && rows[3][2] == "few"));
  const std::string& map = evaluation.pictures.at("map");
  CHECK(map.find("many: " + rows[0][1] + ", " + rows[0][3]) != std::string::npos);
  // The first head class is blue, the first tail class vermilion; groups have a picture of theirs.
  CHECK(map.find("#0072b2") != std::string::npos);
  CHECK(map.find("#d55e00") != std::string::npos);
  CHECK(evaluation.pictures.at("groups").find(">few<") != std::string::npos);
}

TEST_CASE("tsne shows the classes that are named, thinned to the samples allowed") {
  NineBells evaluation;
  test::load<Evaluator>("tsne", "classes = [0, 8, 4]\nsamples = 90\nperplexity = 5.0")
      ->evaluate(evaluation);
  const auto& rows = evaluation.tables.at("classes").rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0][4] == "40");
  CHECK(rows[1][4] == "10");
  CHECK(rows[2][4] == "40");
  CHECK(rows[2][3] == "50");
}

TEST_CASE("tsne is the same map every time and for any number of threads") {
  const int threads = at::get_num_threads();
  const auto run = [](int n) {
    at::set_num_threads(n);
    NineBells evaluation;
    test::load<Evaluator>("tsne", "iterations = 300")->evaluate(evaluation);
    return evaluation.pictures.at("map");
  };
  const std::string one = run(1);
  CHECK(run(2) == one);
  CHECK(run(3) == one);
  at::set_num_threads(threads);
}

TEST_CASE("tsne takes fewer classes where a group has fewer, and says so") {
  NineBells evaluation;
  test::load<Evaluator>("tsne", "iterations = 10")->evaluate(evaluation);
  CHECK(evaluation.tables.at("classes").rows.size() == 6);
  CHECK(evaluation.said.find("3 head and 3 tail") != std::string::npos);
}

TEST_CASE("tsne refuses what it cannot draw") {
  EvalFacts facts;
  facts.splits = {"test"};
  test::CollectedComplaints complaints;
  test::load<Evaluator>("tsne", "groups = \"halves\"")->check(facts, complaints);
  for (const std::string part : {".data: ", "no split 'train'", "groups: "})
    CHECK(complaints.text.find(part) != std::string::npos);

  const auto refused = [](const std::string& toml) -> std::string {
    NineBells evaluation;
    try {
      test::load<Evaluator>("tsne", toml)->evaluate(evaluation);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(refused("classes = [3, 9]").find("no class 9") != std::string::npos);
  CHECK(refused("classes = [8]\nperplexity = 4.0").find("10 samples") != std::string::npos);
  NineBells empty;
  empty.give("train", at::zeros({0, 10}), at::zeros({0}, at::kLong));
  CHECK_THROWS_WITH(test::load<Evaluator>("tsne")->evaluate(empty),
                    Catch::Contains("no labelled samples"));
}

TEST_CASE("tsne refuses parameters that contradict each other") {
  const auto complaints_of = [](const std::string& toml) {
    auto loaded = test::load<Evaluator>("tsne", toml);
    test::CollectedComplaints complaints;
    test::bundled_plugins()
        .info(GH_KIND_EVALUATOR, "tsne")
        .validate(loaded.params.get(), static_cast<Complaints*>(&complaints));
    return complaints.text;
  };
  CHECK(complaints_of("").empty());
  CHECK(complaints_of("head = 5").find("head: ") == 0);
  CHECK(complaints_of("head = 0\ntail = 0").find("head: ") == 0);
  CHECK(complaints_of("classes = [0,1,2,3,4,5,6,7,8]").find("classes: ") == 0);
  CHECK(complaints_of("classes = [3, 3]").find("twice") != std::string::npos);
  CHECK(complaints_of("samples = 91").empty());
  CHECK(complaints_of("samples = 90").find("perplexity: ") == 0);
}

}  // namespace
