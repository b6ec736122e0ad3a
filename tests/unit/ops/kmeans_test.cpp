// K-means against plain loops, with each set of kernels, whichever this processor would choose.
#include "kmeans_lloyd.hpp"

#include "support/vectors.hpp"
#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/ops/kmeans.hpp"
#include "gh/random.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

using gh::KMeansSearch;
using gh::ops::KMeansMetric;
using gh::ops::KMeansOptions;
using gh::ops::KMeansResult;
using gh::ops::KMeansStart;

template <class T>
using Kernels = gh::test::NamedKernels<gh::KMeansKernels<T>>;
template <class T>
std::vector<Kernels<T>> all_kernels() {
  return gh::test::all_kernels<gh::KMeansKernels<T>>();
}

template <class T>
constexpr at::ScalarType kType = c10::CppTypeToScalarType<T>::value;

at::Tensor normal(int64_t rows, int64_t width, uint64_t key, at::ScalarType type = at::kDouble) {
  const at::Tensor x = at::empty({rows, width}, at::kDouble);
  gh::Random(key).fill_normal(x, 0, 1);
  return x.to(type);
}

// Clusters of different sizes; `spread` 0: many equal rows.
at::Tensor clustered(int64_t rows, int64_t width, int64_t clusters, double spread, uint64_t key) {
  const at::Tensor middles = 3 * normal(clusters, width, key);
  const at::Tensor which = (at::arange(rows, at::kLong).pow(2)).remainder(clusters);
  return middles.index_select(0, which) + spread * normal(rows, width, key + 1);
}

// Small whole numbers: scores are exact, many are equal.
at::Tensor grid(int64_t rows, int64_t width, uint64_t key) {
  const at::Tensor x = at::empty({rows, width}, at::kDouble);
  gh::Random(key).fill_uniform(x, -2, 3);
  return x.floor();
}

at::Tensor rows_of(const at::Tensor& x, int64_t count) {
  return x.index_select(0, gh::Random(99).permutation(x.size(0)).narrow(0, 0, count));
}

template <class T>
KMeansResult run(const Kernels<T>& k, const at::Tensor& x, const at::Tensor& start,
                 const KMeansOptions& options, KMeansSearch search = KMeansSearch::bounded) {
  const at::Tensor rows = x.to(kType<T>);
  return gh::lloyd<T>(gh::kmeans_rows<T>(rows, options.metric, *k.kernels), start.to(kType<T>),
                      options, *k.kernels, search);
}

int64_t nearest(const double* x, const std::vector<double>& centres, int64_t width) {
  int64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < static_cast<int64_t>(centres.size()) / width; ++j) {
    double sum = 0;
    for (int64_t d = 0; d < width; ++d)
      sum += (x[d] - centres[j * width + d]) * (x[d] - centres[j * width + d]);
    if (sum < least) best = j, least = sum;
  }
  return best;
}

// Lloyd's algorithm as one would write it down; no cluster may become empty.
KMeansResult plain(const at::Tensor& x, const at::Tensor& start, int64_t iterations) {
  const int64_t n = x.size(0), width = x.size(1), k = start.size(0);
  const at::Tensor data = x.to(at::kDouble).contiguous(),
                   first = start.to(at::kDouble).contiguous();
  const double* const rows = data.data_ptr<double>();
  std::vector<double> centres(first.data_ptr<double>(), first.data_ptr<double>() + k * width);
  std::vector<int64_t> labels(n, -1), before;
  int64_t it = 0;
  for (bool repeats = false; !repeats && it < iterations; ++it) {
    before = labels;
    for (int64_t i = 0; i < n; ++i) labels[i] = nearest(rows + i * width, centres, width);
    repeats = labels == before;
    std::vector<double> sums(k * width), counts(k);
    for (int64_t i = 0; i < n; ++i) {
      ++counts[labels[i]];
      for (int64_t d = 0; d < width; ++d) sums[labels[i] * width + d] += rows[i * width + d];
    }
    for (int64_t j = 0; j < k; ++j) {
      REQUIRE(counts[j] > 0);
      for (int64_t d = 0; d < width; ++d) centres[j * width + d] = sums[j * width + d] / counts[j];
    }
  }
  KMeansResult out;
  out.iterations = it;
  out.labels = at::empty({n}, at::kLong);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t j = nearest(rows + i * width, centres, width);
    out.labels.data_ptr<int64_t>()[i] = j;
    for (int64_t d = 0; d < width; ++d)
      out.objective += std::pow(rows[i * width + d] - centres[j * width + d], 2);
  }
  out.centres = at::tensor(centres, at::kDouble).view({k, width});
  return out;
}

// How much farther than the nearest centre a row's own is, in |x − c|², at most.
double largest_excess(const at::Tensor& x, const KMeansResult& found) {
  const at::Tensor d =
      (x.to(at::kDouble).unsqueeze(1) - found.centres.to(at::kDouble).unsqueeze(0)).pow(2).sum(2);
  return (d.gather(1, found.labels.unsqueeze(1)).squeeze(1) - std::get<0>(d.min(1)))
      .max()
      .item<double>();
}

struct Shape {
  int64_t rows, width, clusters;
};
// Widths beside those of vectors, fewer centres than a vector has lanes, as many as rows, blocks of
// rows that are not full, and more panels than groups.
const std::vector<Shape> kShapes = {{1, 1, 1},    {5, 3, 5},     {40, 1, 3},     {300, 16, 12},
                                    {257, 17, 9}, {700, 33, 41}, {513, 130, 24}, {1500, 7, 600}};

template <class T>
void same_as_plain(double tolerance) {
  const Threads one(1);
  for (const Kernels<T>& k : all_kernels<T>())
    for (const Shape& s : kShapes) {
      const at::Tensor x = normal(s.rows, s.width, 1, kType<T>), start = rows_of(x, s.clusters);
      for (const int64_t iterations : {1, 4}) {
        INFO(k.name << " " << s.rows << "×" << s.width << ", " << s.clusters << " clusters");
        const KMeansResult expected = plain(x, start, iterations);
        const KMeansResult found = run(k, x, start, {.iterations = iterations});
        CHECK(gh::test::largest_difference(found.centres, expected.centres) < tolerance);
        CHECK(largest_excess(x, found) < tolerance);
        CHECK(found.objective == Approx(expected.objective).epsilon(tolerance).margin(1e-9));
        // One round more says that labels repeat; no centre that moved says it sooner.
        CHECK((found.iterations == expected.iterations ||
               found.iterations + 1 == expected.iterations));
      }
    }
}

TEST_CASE("kmeans does what plain loops do, with every set of kernels") {
  same_as_plain<double>(1e-10);
  same_as_plain<float>(1e-4);
}

template <class T>
void bounds_change_nothing() {
  const Threads one(1);
  struct Data {
    const char* name;
    at::Tensor x;
    int64_t clusters;
  };
  const std::vector<Data> data = {{"clusters", clustered(3000, 24, 40, 0.3, 1), 40},
                                  {"close clusters", clustered(2000, 20, 30, 2.0, 2), 70},
                                  {"no clusters", normal(2000, 16, 3), 50},
                                  {"equal rows", clustered(800, 12, 30, 0, 4), 30},
                                  {"whole numbers", grid(1500, 5, 5), 60},
                                  {"far from the origin", clustered(900, 10, 9, 0.5, 6) + 1000, 9},
                                  {"more panels than groups", normal(3000, 8, 7), 700}};
  for (const Kernels<T>& k : all_kernels<T>())
    for (const Data& d : data)
      for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::spherical}) {
        INFO(k.name << ", " << d.name << ", metric " << static_cast<int>(metric));
        const at::Tensor start = rows_of(d.x, d.clusters);
        const KMeansOptions options{.metric = metric, .iterations = 20};
        const KMeansResult fast = run(k, d.x, start, options);
        const KMeansResult slow = run(k, d.x, start, options, KMeansSearch::exhaustive);
        CHECK(fast.labels.equal(slow.labels));
        CHECK(fast.centres.equal(slow.centres));
        CHECK(fast.iterations == slow.iterations);
        CHECK(fast.objective == slow.objective);
      }
}

TEST_CASE("kmeans skips centres without changing a bit") {
  bounds_change_nothing<float>();
  bounds_change_nothing<double>();
}

template <class T>
void first_of_equal() {
  for (const Kernels<T>& k : all_kernels<T>()) {
    INFO(k.name);
    // 2, 6, 10, … lie between two centres, with the lower number on the left, then on the right.
    const at::Tensor start = at::arange(30, at::kDouble).unsqueeze(1) * 4;
    const at::Tensor x = at::arange(118, at::kDouble).unsqueeze(1);
    const at::Tensor left = run(k, x, start, {.iterations = 1}).centres.to(at::kDouble);
    const at::Tensor right = run(k, x, start.flip(0), {.iterations = 1}).centres.to(at::kDouble);
    for (int64_t j = 1; j < 29; ++j) {
      CHECK(left[j].item<double>() == 4.0 * static_cast<double>(j) + 0.5);
      CHECK(right[29 - j].item<double>() == 4.0 * static_cast<double>(j) - 0.5);
    }
    // Equal rows and equal centres.
    const KMeansResult equal =
        run(k, at::ones({50, 3}, at::kDouble), at::ones({40, 3}, at::kDouble), {});
    CHECK(equal.labels.eq(0).all().item<bool>());
    CHECK(equal.objective == 0);
    CHECK(equal.centres.eq(1).all().item<bool>());
  }
}

TEST_CASE("kmeans gives a row to the first of equally near centres") {
  first_of_equal<float>();
  first_of_equal<double>();
}

TEST_CASE("kmeans gives the same bits for any number of threads") {
  const at::Tensor x = clustered(3000, 40, 50, 1.0, 1).to(at::kFloat);
  std::vector<at::Tensor> centres, labels;
  for (const int threads : {1, 2, 3}) {
    const Threads so_many(threads);
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::spherical}) {
      const at::Tensor start =
          gh::ops::kmeans_start(x, 50, KMeansStart::plus_plus, metric, gh::Random(1));
      const KMeansResult found = gh::ops::kmeans(x, start, {.metric = metric, .iterations = 8});
      centres.push_back(found.centres);
      labels.push_back(found.labels);
    }
  }
  for (std::size_t i = 2; i < centres.size(); ++i) {
    CHECK(centres[i].equal(centres[i % 2]));
    CHECK(labels[i].equal(labels[i % 2]));
  }
}

TEST_CASE("kmeans gives an empty cluster the row that is farthest from its centre") {
  // Centre 1 is near nothing: it takes 10, which leaves the mean of 0 and 1 to centre 0.
  const at::Tensor x = at::tensor({0., 1., 10., 100., 101.}, at::kDouble).unsqueeze(1);
  const at::Tensor start = at::tensor({0., -1000., 100.5}, at::kDouble).unsqueeze(1);
  const KMeansResult one = gh::ops::kmeans(x, start, {.iterations = 1});
  CHECK(one.centres.squeeze(1).equal(at::tensor({0.5, 10., 100.5}, at::kDouble)));
  const KMeansResult found = gh::ops::kmeans(x, start);
  CHECK(found.labels.equal(at::tensor({0, 0, 1, 2, 2}, at::kLong)));
  CHECK(found.objective == Approx(1.0));
  CHECK(found.iterations == 2);
  // Two of them: the first takes the farthest row.
  const KMeansResult two = gh::ops::kmeans(
      x, at::tensor({0., -1000., -2000.}, at::kDouble).unsqueeze(1), {.iterations = 1});
  CHECK(two.centres.squeeze(1).equal(at::tensor({11. / 3, 101., 100.}, at::kDouble)));
}

TEST_CASE("kmeans counts the round that finds labels repeated, or that nothing moved") {
  const at::Tensor x = at::tensor({0., 2., 10., 12.}, at::kDouble).unsqueeze(1);
  const at::Tensor start = at::tensor({0., 10.}, at::kDouble).unsqueeze(1);
  CHECK(gh::ops::kmeans(x, start, {.iterations = 1}).iterations == 1);
  CHECK(gh::ops::kmeans(x, start).iterations == 2);
  const KMeansResult all = gh::ops::kmeans(x, x);
  CHECK(all.iterations == 1);
  CHECK(all.labels.equal(at::arange(4, at::kLong)));
  CHECK(all.objective == 0);
}

TEST_CASE("kmeans keeps digits of rows far from the origin") {
  // Multiples of 1/512, so that float32 holds the moved rows, too.
  const at::Tensor x = (clustered(600, 12, 8, 0.5, 1) * 512).round() / 512, start = rows_of(x, 8);
  const KMeansResult near = gh::ops::kmeans(x, start);
  const KMeansResult far =
      gh::ops::kmeans((x + 4096).to(at::kFloat), (start + 4096).to(at::kFloat));
  CHECK(far.labels.equal(near.labels));
  CHECK(far.objective == Approx(near.objective).epsilon(1e-3));
  CHECK(gh::test::largest_difference(far.centres, near.centres + 4096) < 1e-3);
}

TEST_CASE("spherical kmeans looks at directions and never loses cosine") {
  const at::Tensor x = clustered(900, 20, 12, 2.0, 1).to(at::kFloat);
  const at::Tensor start =
      gh::ops::kmeans_start(x, 12, KMeansStart::random, KMeansMetric::spherical, gh::Random(3));
  CHECK((start.norm(2, {1}) - 1).abs().max().item<double>() < 1e-6);
  double before = 0;
  for (int64_t i = 1; i <= 12; ++i) {
    const KMeansOptions options{.metric = KMeansMetric::spherical, .iterations = i};
    const KMeansResult found = gh::ops::kmeans(x, start, options);
    const at::Tensor unit = x / x.norm(2, {1}, true);
    const at::Tensor cosines = unit.matmul(found.centres.t());
    CHECK((found.centres.norm(2, {1}) - 1).abs().max().item<double>() < 1e-6);
    CHECK((std::get<0>(cosines.max(1)) - cosines.gather(1, found.labels.unsqueeze(1)).squeeze(1))
              .max()
              .item<double>() < 1e-5);
    CHECK(found.objective ==
          Approx(std::get<0>(cosines.max(1)).sum().item<double>()).epsilon(1e-4));
    CHECK(found.objective >= before - 1e-4);
    before = found.objective;
    const KMeansResult scaled = gh::ops::kmeans(x * 8, start * 4, options);
    CHECK(scaled.labels.equal(found.labels));
  }
}

TEST_CASE("spherical kmeans survives rows of zeros and rows that cancel") {
  const at::Tensor x = at::tensor({1., 0., -1., 0., 0., 0.}, at::kDouble).view({3, 2});
  const KMeansResult found = gh::ops::kmeans(x, at::tensor({0., 1.}, at::kDouble).view({1, 2}),
                                             {.metric = KMeansMetric::spherical});
  CHECK(found.centres.equal(at::tensor({0., 1.}, at::kDouble).view({1, 2})));
  CHECK(found.objective == 0);
}

TEST_CASE("k-means++ starts in every cluster where clusters are far apart") {
  const at::Tensor middles = 100 * at::eye(20, at::kDouble);
  const at::Tensor which = at::arange(1000, at::kLong).sqrt().to(at::kLong).clamp_max(19);
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (uint64_t key = 0; key < 20; ++key) {
      const at::Tensor x = (middles.index_select(0, which) + 0.01 * normal(1000, 20, 7)).to(type);
      const at::Tensor start = gh::ops::kmeans_start(x, 20, KMeansStart::plus_plus,
                                                     KMeansMetric::euclidean, gh::Random(key));
      CHECK(std::get<0>(start.max(0)).gt(99).all().item<bool>());
      CHECK(start.scalar_type() == type);
    }
}

TEST_CASE("k-means++ draws by squared distance") {
  // After the first centre at 0, drawn 98 times of 100: 1 and 3 at odds of 1 to 9, of three draws
  // the better one, which is 3: it is missed where all three are 1, in 1 of 1000.
  const at::Tensor x =
      at::cat({at::zeros({9998}, at::kDouble), at::tensor({1., 3.}, at::kDouble)}).unsqueeze(1);
  int three = 0;
  for (uint64_t key = 0; key < 100; ++key) {
    const at::Tensor start = gh::ops::kmeans_start(x, 3, KMeansStart::plus_plus,
                                                   KMeansMetric::euclidean, gh::Random(key));
    CHECK(start.sum().item<double>() == 4);
    three += start[1].item<double>() == 3;
  }
  CHECK(three >= 97);
}

TEST_CASE("starts are different rows, even where all are equal") {
  const at::Tensor numbered = at::arange(30, at::kDouble).unsqueeze(1);
  for (const KMeansStart how : {KMeansStart::plus_plus, KMeansStart::random}) {
    const at::Tensor start =
        gh::ops::kmeans_start(numbered, 30, how, KMeansMetric::euclidean, gh::Random(1));
    CHECK(std::get<0>(start.sort(0)).equal(numbered));
    const at::Tensor equal = at::full({6, 2}, 3.0, at::kFloat);
    CHECK(
        gh::ops::kmeans_start(equal, 6, how, KMeansMetric::euclidean, gh::Random(1)).equal(equal));
  }
}

TEST_CASE("kmeans reads any layout and keeps out of autograd") {
  const at::Tensor x = normal(24, 400, 1).t().requires_grad_(), start = x.detach().narrow(0, 0, 5);
  const KMeansResult found = gh::ops::kmeans(x, start);
  CHECK_FALSE(found.centres.requires_grad());
  CHECK(found.centres.equal(gh::ops::kmeans(x.detach().contiguous(), start.contiguous()).centres));
}

TEST_CASE("kmeans names what is wrong with its input") {
  using gh::ops::kmeans;
  const at::Tensor x = normal(10, 4, 1), start = x.narrow(0, 0, 3);
  const auto starting = [](const at::Tensor& rows, int64_t clusters) {
    return gh::ops::kmeans_start(rows, clusters, KMeansStart::random, KMeansMetric::euclidean,
                                 gh::Random(1));
  };
  CHECK_THROWS_WITH(kmeans({}, start), Catch::Contains("x must be"));
  CHECK_THROWS_WITH(kmeans(x[0], start), Catch::Contains("x must be"));
  CHECK_THROWS_WITH(kmeans(x.narrow(0, 0, 0), start), Catch::Contains("x must be"));
  CHECK_THROWS_WITH(kmeans(x, start[0]), Catch::Contains("start must be"));
  CHECK_THROWS_WITH(kmeans(x, start.narrow(1, 0, 3)), Catch::Contains("[clusters, 4]"));
  CHECK_THROWS_WITH(kmeans(x.to(at::kLong), start), Catch::Contains("float32 or float64"));
  CHECK_THROWS_WITH(kmeans(x, start.to(at::kFloat)), Catch::Contains("like x"));
  CHECK_THROWS_WITH(kmeans(start, x), Catch::Contains("1 to 3 clusters"));
  CHECK_THROWS_WITH(kmeans(x, start, {.iterations = 0}), Catch::Contains("at least 1 iteration"));
  CHECK_THROWS_WITH(starting(x, 0), Catch::Contains("got 0"));
  CHECK_THROWS_WITH(starting(x, 11), Catch::Contains("got 11"));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    at::Tensor broken = x.clone();
    broken[7][2] = bad;
    CHECK_THROWS_WITH(kmeans(broken, start), Catch::Contains("row 7 of x"));
    CHECK_THROWS_WITH(starting(broken, 2), Catch::Contains("row 7 of x"));
    CHECK_THROWS_WITH(kmeans(x, broken), Catch::Contains("row 7 of start"));
  }
  CHECK_THROWS_WITH(kmeans((x * 1e30).to(at::kFloat), start.to(at::kFloat)),
                    Catch::Contains("too large"));
}

TEST_CASE("kmeans equals scikit-learn's Lloyd", "[parity]") {
  const auto file = gh::test::find_vector("kmeans");
  if (!file) return;
  int compared = 0;
  for (const auto& [key, x] : file->tensors) {
    if (!key.ends_with("_X")) continue;
    const std::string name = key.substr(0, key.size() - 2), centroids = name + "_centroids";
    for (const auto& [other, expected] : file->tensors) {
      if (!other.starts_with(centroids)) continue;
      const std::string suffix = other.substr(centroids.size());
      if (!suffix.empty() && !suffix.starts_with("_it")) continue;
      const int64_t limit =
          suffix.empty() ? std::stoll(file->metadata.at("max_iter")) : std::stoll(suffix.substr(3));
      const double inertia = file->at(name + "_inertia" + suffix).item<double>();
      const bool exact = x.scalar_type() == at::kDouble;
      for (const Kernels<double>& k : all_kernels<double>()) {
        INFO(other << " with " << k.name);
        const KMeansResult found = run(k, x, file->at(name + "_init"), {.iterations = limit});
        CHECK(gh::test::largest_difference(found.centres, expected) < (exact ? 1e-9 : 1e-5));
        CHECK(found.labels.equal(file->at(name + "_labels" + suffix).to(at::kLong)));
        CHECK(found.iterations == file->at(name + "_iterations" + suffix).item<int64_t>());
        CHECK(std::abs(found.objective - inertia) <
              (exact ? 1e-8 : 1e-4) * std::max(1.0, std::abs(inertia)));
        ++compared;
      }
    }
  }
  CHECK(compared > 0);
}

}  // namespace
