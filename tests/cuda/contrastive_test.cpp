#include "sdk/ops/cuda/contrastive.cu"

#include "cuda/orders.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace {

using gh::cuda::ContrastiveOwn;
using gh::cuda::ContrastiveScores;
using gh::cuda::ContrastiveWeights;

struct Problem {
  int rows = 0, columns = 0, width = 0;
  bool among_rows = false;
  std::vector<float> x, y;
  std::vector<int> positive, skipped;
  std::vector<float> inverse, weight, log_sum;

  ContrastiveScores scores() const {
    return {x.data(),
            among_rows ? x.data() : y.data(),
            positive.empty() ? nullptr : positive.data(),
            skipped.empty() ? nullptr : skipped.data(),
            inverse.data(),
            rows,
            columns,
            width};
  }
};

enum class Kind { among_rows, ranks, queue };

Problem problem_of(Kind kind, int rows, int columns, int width) {
  std::mt19937 random(static_cast<unsigned>(rows * 7919 + columns * 31 + width));
  const auto uniform = [&] { return static_cast<float>(random() >> 8) / (1 << 23) - 1; };
  Problem p;
  p.among_rows = kind == Kind::among_rows;
  p.rows = rows;
  p.columns = p.among_rows ? rows : columns;
  p.width = width;
  p.x.resize(rows * width);
  p.y.resize(columns * width);
  for (float& v : p.x) v = uniform();
  for (float& v : p.y) v = uniform();
  for (int i = 0; i < rows; ++i) {
    if (kind != Kind::queue) p.positive.push_back((i + rows / 2) % p.columns);
    if (kind != Kind::queue) p.skipped.push_back(i % p.columns);
    p.inverse.push_back(1 + 0.02f * static_cast<float>(i));
    p.weight.push_back(uniform());
  }
  return p;
}

bool is_negative(const Problem& p, int i, int j) {
  return p.positive.empty() || (p.positive[i] != j && p.skipped[i] != j);
}
double score(const Problem& p, int i, int j) {
  const std::vector<float>& y = p.among_rows ? p.x : p.y;
  double sum = 0;
  for (int d = 0; d < p.width; ++d) sum += double(p.x[i * p.width + d]) * y[j * p.width + d];
  return sum * p.inverse[i];
}

// The definitions in gh/ops/contrastive.hpp, in double.
std::vector<double> plain_log_sums(const Problem& p) {
  std::vector<double> out;
  for (int i = 0; i < p.rows; ++i) {
    double sum = 0;
    for (int j = 0; j < p.columns; ++j)
      if (is_negative(p, i, j)) sum += std::exp(score(p, i, j));
    out.push_back(std::log(sum));
  }
  return out;
}
std::vector<double> plain_gradient(const Problem& p, ContrastiveOwn own) {
  const std::vector<float>& y = p.among_rows ? p.x : p.y;
  std::vector<double> rows(p.x.size()), columns(y.size());
  for (int i = 0; i < p.rows; ++i)
    for (int j = 0; j < p.columns; ++j) {
      double slope = 0;
      if (!p.positive.empty() && p.positive[i] == j) slope = -p.weight[i];
      if (is_negative(p, i, j)) slope = p.weight[i] * std::exp(score(p, i, j) - p.log_sum[i]);
      for (int d = 0; d < p.width; ++d) {
        rows[i * p.width + d] += slope * y[j * p.width + d];
        columns[j * p.width + d] += slope * p.x[i * p.width + d];
      }
    }
  if (own == ContrastiveOwn::columns) return columns;
  if (own == ContrastiveOwn::both)
    for (size_t i = 0; i < rows.size(); ++i) rows[i] += columns[i];
  return rows;
}

std::vector<double> log_sums(const Problem& p) {
  return gh::test::same_in_all_orders([&] {
    std::vector<double> out(p.rows, NAN);
    REQUIRE(gh::cuda::contrastive_log_sums(p.scores(), out.data(), nullptr) == cudaSuccess);
    return out;
  });
}
std::vector<float> gradient(const Problem& p, ContrastiveOwn own) {
  return gh::test::same_in_all_orders([&] {
    const int count = own == ContrastiveOwn::columns ? p.columns : p.rows;
    std::vector<float> out(count * p.width, NAN);
    const ContrastiveWeights w{p.weight.data(), p.log_sum.data()};
    REQUIRE(gh::cuda::contrastive_gradient(p.scores(), w, own, out.data(), nullptr) == cudaSuccess);
    return out;
  });
}

void check_gradient(const Problem& p, ContrastiveOwn own) {
  const std::vector<float> found = gradient(p, own);
  const std::vector<double> expected = plain_gradient(p, own);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(expected[i]).margin(2e-6 * p.columns));
}

TEST_CASE("contrastive kernels: sums and gradients are those of plain loops") {
  for (const Kind kind : {Kind::among_rows, Kind::ranks, Kind::queue})
    for (const auto& [rows, columns, width] : {std::tuple(2, 3, 1), std::tuple(32, 64, 32),
                                               std::tuple(34, 71, 33), std::tuple(6, 130, 70)}) {
      if (kind == Kind::among_rows && rows == 2) continue;  // no negatives; below
      CAPTURE(static_cast<int>(kind), rows, columns, width);
      Problem p = problem_of(kind, rows, columns, width);
      const std::vector<double> sums = log_sums(p), expected = plain_log_sums(p);
      for (int i = 0; i < p.rows; ++i) {
        CHECK(sums[i] == Approx(expected[i]).epsilon(1e-6).margin(2e-6));
        p.log_sum.push_back(static_cast<float>(sums[i]));
      }
      if (p.among_rows) {
        check_gradient(p, ContrastiveOwn::both);
      } else {
        check_gradient(p, ContrastiveOwn::rows);
        check_gradient(p, ContrastiveOwn::columns);
      }
    }
}

TEST_CASE("contrastive kernels: no negatives, and what is no number") {
  Problem p = problem_of(Kind::among_rows, 2, 2, 5);
  CHECK(log_sums(p) == std::vector<double>(2, -INFINITY));
  p.log_sum = {0, 0};
  check_gradient(p, ContrastiveOwn::both);

  Problem bad = problem_of(Kind::queue, 40, 50, 8);
  bad.y[49 * 8 + 3] = NAN;
  std::vector<double> out(bad.rows, 0);
  REQUIRE(gh::cuda::contrastive_log_sums(bad.scores(), out.data(), nullptr) == cudaSuccess);
  for (const double sum : out) CHECK(std::isnan(sum));
}

TEST_CASE("contrastive kernels: scores far beyond float32's exponentials") {
  Problem p = problem_of(Kind::queue, 5, 40, 3);
  for (float& v : p.inverse) v = 500;
  const std::vector<double> sums = log_sums(p);
  for (int i = 0; i < p.rows; ++i) {
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < p.columns; ++j) top = std::max(top, score(p, i, j));
    for (int j = 0; j < p.columns; ++j) sum += std::exp(score(p, i, j) - top);
    CHECK(sums[i] == Approx(top + std::log(sum)).epsilon(1e-6));
  }
}

}  // namespace
