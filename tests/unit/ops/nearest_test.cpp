// The search for nearest rows against plain float64 products of all pairs, with each set of
// kernels, whichever this processor would choose.
#include "nearest_search.hpp"

#include "support/vectors.hpp"
#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/ops/nearest.hpp"
#include "gh/random.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using gh::ops::nearest;
using gh::ops::NearestMetric;
using gh::ops::NearestResult;

constexpr NearestMetric kMetrics[] = {NearestMetric::inner_product, NearestMetric::euclidean};

template <class T>
using Kernels = gh::test::NamedKernels<gh::NearestKernels<T>>;
template <class T>
std::vector<Kernels<T>> all_kernels() {
  return gh::test::all_kernels<gh::NearestKernels<T>>();
}

template <class T>
constexpr at::ScalarType kType = c10::CppTypeToScalarType<T>::value;

at::Tensor normal(int64_t rows, int64_t width, uint64_t key) {
  const at::Tensor x = at::empty({rows, width}, at::kDouble);
  gh::Random(key).fill_normal(x, 0, 1);
  return x;
}

// Small whole numbers: scores are exact, many are equal.
at::Tensor grid(int64_t rows, int64_t width, uint64_t key) {
  const at::Tensor x = at::empty({rows, width}, at::kDouble);
  gh::Random(key).fill_uniform(x, -2, 3);
  return x.floor();
}

// [Q, N] float64, larger is nearer: products, or minus squared distances.
at::Tensor all_scores(const at::Tensor& bank, const at::Tensor& queries, NearestMetric metric) {
  const at::Tensor y = bank.to(at::kDouble), x = queries.to(at::kDouble);
  return metric == NearestMetric::inner_product ? x.matmul(y.t())
                                                : -(x.unsqueeze(1) - y.unsqueeze(0)).pow(2).sum(2);
}

// The rows found are the k nearest in order, up to what float64 rounds.
void check_found(const at::Tensor& bank, const at::Tensor& queries, int64_t k, NearestMetric metric,
                 const NearestResult& found) {
  const at::Tensor scores = all_scores(bank, queries, metric);
  const at::Tensor sorted = std::get<0>(at::sort(scores, true, 1, true)).narrow(1, 0, k);
  REQUIRE(found.indices.sizes() == at::IntArrayRef({queries.size(0), k}));
  REQUIRE(found.values.scalar_type() == queries.scalar_type());
  const at::Tensor ordered = std::get<0>(found.indices.sort(1));
  if (k > 1) CHECK(ordered.diff(1, 1).gt(0).all().item<bool>());
  const at::Tensor own = scores.gather(1, found.indices);
  const double lengths = bank.to(at::kDouble).pow(2).sum(1).max().item<double>() +
                         queries.to(at::kDouble).pow(2).sum(1).max().item<double>();
  CHECK((own - sorted).abs().max().item<double>() <= 1e-13 * lengths);
  const double precision = queries.scalar_type() == at::kFloat ? 1e-7 : 1e-13;
  if (metric == NearestMetric::inner_product)
    CHECK(gh::test::largest_difference(found.values, own) <= precision * lengths);
  else
    CHECK(gh::test::largest_difference(found.values.to(at::kDouble).pow(2), -own) <=
          4 * precision * lengths);
}

template <class T>
void same_as_plain() {
  struct Shape {
    int64_t bank, queries, width, k;
  };
  // Less than a panel and a tile, widths beside those of vectors and pairs, k of all rows, and
  // banks that fill a room many times.
  const std::vector<Shape> shapes = {{1, 1, 1, 1},      {5, 3, 2, 5},     {40, 7, 3, 40},
                                     {100, 9, 17, 3},   {700, 65, 33, 7}, {3000, 40, 50, 1},
                                     {5000, 30, 19, 60}};
  const Threads one(1);
  for (const Kernels<T>& k : all_kernels<T>())
    for (const Shape& s : shapes)
      for (const NearestMetric metric : kMetrics) {
        INFO(k.name << " " << s.bank << " × " << s.queries << " × " << s.width << ", k " << s.k);
        const at::Tensor bank = normal(s.bank, s.width, 1).to(kType<T>),
                         queries = normal(s.queries, s.width, 2).to(kType<T>);
        check_found(bank, queries, s.k, metric,
                    gh::search_nearest<T>(bank, queries, s.k, metric, *k.kernels));
      }
}

TEST_CASE("nearest finds what products of all pairs say, with every set of kernels") {
  same_as_plain<float>();
  same_as_plain<double>();
}

// Banks where few bits say little, and orders in which every row is nearer than those before.
template <class T>
void hard_banks() {
  constexpr int64_t kRows = 2500, kQueries = 21, kWidth = 24;
  struct Data {
    const char* name;
    at::Tensor bank, queries;
  };
  const at::Tensor x = normal(kRows, kWidth, 3), q = normal(kQueries, kWidth, 4);
  const at::Tensor rise = at::arange(kRows, at::kDouble).unsqueeze(1) / kRows;
  const std::vector<Data> data = {
      {"all but equal", 1 + 1e-5 * x, 1 + 1e-5 * q},
      {"far from the origin", 1000 + x, 1000 + q},
      {"two heaps far apart", at::cat({x.narrow(0, 0, 1200) + 500, x.narrow(0, 1200, 1300) - 500}),
       q + 500},
      {"ever nearer", at::ones({kRows, kWidth}, at::kDouble) * rise,
       at::ones({kQueries, kWidth}, at::kDouble)},
      {"ever nearer in few steps", 3 + at::ones({kRows, kWidth}, at::kDouble) * rise * 1e-4,
       at::ones({kQueries, kWidth}, at::kDouble) * 5},
      {"one long row", at::cat({x, 1e4 * x.narrow(0, 0, 1)}), q},
      {"huge", 1e18 * x, 1e18 * q},
      {"tiny", 1e-18 * x, 1e-18 * q},
      {"huge bank, tiny queries", 1e15 * x, 1e-15 * q},
      {"zeros", at::zeros({kRows, kWidth}, at::kDouble), q},
  };
  const Threads one(1);
  for (const Kernels<T>& k : all_kernels<T>())
    for (const Data& d : data)
      for (const NearestMetric metric : kMetrics) {
        INFO(k.name << ", " << d.name << ", metric " << static_cast<int>(metric));
        const at::Tensor bank = d.bank.to(kType<T>), queries = d.queries.to(kType<T>);
        check_found(bank, queries, 9, metric,
                    gh::search_nearest<T>(bank, queries, 9, metric, *k.kernels));
      }
}

TEST_CASE("nearest loses no row where coarse scores cannot tell them apart") {
  hard_banks<float>();
  hard_banks<double>();
}

TEST_CASE("nearest of rows beyond float32 needs no more than float64") {
  const at::Tensor bank = normal(500, 6, 13), queries = normal(20, 6, 14);
  for (const NearestMetric metric : kMetrics) {
    const at::Tensor expected = nearest(bank, queries, 5, metric).indices;
    for (const double scale : {0x1p-400, 0x1p400}) {
      const NearestResult found = nearest(scale * bank, scale * queries, 5, metric);
      CHECK(found.indices.equal(expected));
    }
    CHECK_THROWS_WITH(nearest(0x1p600 * bank, 0x1p600 * queries, 5, metric),
                      Catch::Contains("exceed float64"));
  }
}

template <class T>
void first_of_equal() {
  for (const Kernels<T>& k : all_kernels<T>())
    for (const NearestMetric metric : kMetrics) {
      INFO(k.name << ", metric " << static_cast<int>(metric));
      const at::Tensor bank = grid(3000, 4, 5).to(kType<T>), queries = grid(30, 4, 6).to(kType<T>);
      const NearestResult found = gh::search_nearest<T>(bank, queries, 50, metric, *k.kernels);
      const auto [values, order] = at::sort(all_scores(bank, queries, metric), true, 1, true);
      CHECK(found.indices.equal(order.narrow(1, 0, 50)));
      const at::Tensor same = at::ones({2000, 3}, kType<T>);
      const NearestResult equal =
          gh::search_nearest<T>(same, same.narrow(0, 0, 5), 7, metric, *k.kernels);
      CHECK(equal.indices.eq(at::arange(7, at::kLong)).all().item<bool>());
      CHECK(equal.values.eq(metric == NearestMetric::euclidean ? 0 : 3).all().item<bool>());
    }
}

TEST_CASE("nearest gives the lower row of equally near ones first") {
  first_of_equal<float>();
  first_of_equal<double>();
}

TEST_CASE("nearest gives the same bits for any number of threads") {
  const at::Tensor bank = normal(4000, 70, 7).to(at::kFloat),
                   queries = normal(900, 70, 8).to(at::kFloat);
  for (const NearestMetric metric : kMetrics) {
    std::vector<NearestResult> found;
    for (const int threads : {1, 2, 3}) {
      const Threads so_many(threads);
      found.push_back(nearest(bank, queries, 11, metric));
    }
    for (const NearestResult& other : found) {
      CHECK(other.indices.equal(found[0].indices));
      CHECK(other.values.equal(found[0].values));
    }
  }
}

TEST_CASE("nearest reads rows that are not dense, and no queries at all") {
  const at::Tensor bank = normal(20, 300, 9).t(), queries = normal(5, 40, 10).narrow(1, 3, 20);
  const NearestResult found = nearest(bank, queries, 4, NearestMetric::inner_product);
  check_found(bank, queries, 4, NearestMetric::inner_product, found);
  const NearestResult none =
      nearest(bank, queries.narrow(0, 0, 0), 4, NearestMetric::inner_product);
  CHECK(none.indices.sizes() == at::IntArrayRef({0, 4}));
}

TEST_CASE("nearest finds the neighbours of the parity vector") {
  const auto file = gh::test::find_vector("eval_knn");
  if (!file) return;
  const auto unit = [&](const char* name) {
    const at::Tensor x = file->at(name).to(at::kDouble);
    return x / x.norm(2, {1}, true);
  };
  const at::Tensor expected = file->at("neighbours_f64");
  const NearestResult found =
      nearest(unit("bank"), unit("query"), expected.size(1), NearestMetric::inner_product);
  CHECK(found.indices.equal(expected));
}

TEST_CASE("nearest refuses what it cannot search, by name") {
  const at::Tensor bank = normal(10, 3, 11), queries = normal(4, 3, 12);
  const auto message = [](const at::Tensor& y, const at::Tensor& x, int64_t k,
                          gh::ErrorCode expected) {
    try {
      nearest(y, x, k, NearestMetric::euclidean);
    } catch (const gh::Error& error) {
      CHECK(error.code() == expected);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  using Catch::Contains;
  using gh::ErrorCode;
  CHECK_THAT(message(bank, queries, 0, ErrorCode::invalid_param), Contains("1 to 10"));
  CHECK_THAT(message(bank, queries, 11, ErrorCode::invalid_param), Contains("got 11"));
  CHECK_THAT(message(bank[0], queries, 1, ErrorCode::shape), Contains("bank must be"));
  CHECK_THAT(message(bank, queries.narrow(1, 0, 2), 1, ErrorCode::shape), Contains("[rows, 3]"));
  CHECK_THAT(message(bank.to(at::kLong), queries, 1, ErrorCode::shape), Contains("float32"));
  CHECK_THAT(message(bank, queries.to(at::kFloat), 1, ErrorCode::shape), Contains("like the bank"));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    at::Tensor broken = bank.clone();
    broken[6][1] = bad;
    CHECK_THAT(message(broken, queries, 1, ErrorCode::numeric), Contains("row 6 of the bank"));
    broken = queries.clone();
    broken[2][0] = bad;
    CHECK_THAT(message(bank, broken, 1, ErrorCode::numeric), Contains("row 2 of the queries"));
  }
}

}  // namespace
