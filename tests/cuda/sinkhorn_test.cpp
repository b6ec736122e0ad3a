#include "sdk/ops/cuda/sinkhorn.cu"

#include "support/vectors.hpp"  // before Catch, whose CHECK is the one we mean

#include "cuda/orders.hpp"

#include <catch2/catch.hpp>

#include <limits>

namespace {

using gh::cuda::SinkhornCase;
using gh::cuda::SinkhornReport;
using gh::cuda::SinkhornScale;
using gh::cuda::SinkhornSettings;

constexpr size_t kLimit = 163 << 10;

struct Problem {
  int rows = 0, columns = 0;
  std::vector<float> logits;
  std::vector<float> prior;
  float middle = 0;
};

struct Solution {
  std::vector<float> targets;
  SinkhornReport report{};
  std::vector<double> trace;

  bool operator==(const Solution& o) const {
    return targets == o.targets && report.change == o.report.change && trace == o.trace &&
           report.residual == o.report.residual && report.iterations == o.report.iterations;
  }
};

enum class Prior { uniform, uneven, zeros };

Problem problem_of(int rows, int columns, Prior prior, float scale = 1) {
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns));
  const auto uniform = [&] { return static_cast<float>(random() >> 8) / (1 << 24); };
  Problem p{rows, columns, std::vector<float>(rows * columns), std::vector<float>(columns)};
  for (float& x : p.logits) x = scale * (2 * uniform() - 1);
  double total = 0;
  for (int k = 0; k < columns; ++k) {
    p.prior[k] = prior == Prior::uniform ? 1 : 0.05f + uniform();
    if (prior == Prior::zeros && k % 4 == 1) p.prior[k] = 0;
    total += p.prior[k];
  }
  for (float& x : p.prior) x = static_cast<float>(x / total);
  return p;
}

// The definition in gh/ops/sinkhorn.hpp, in double and with logarithms throughout.
Solution plain_loops(const Problem& p, const SinkhornSettings& s) {
  const auto log_sum = [](int count, auto&& term) {
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < count; ++i) top = std::max(top, term(i));
    for (int i = 0; i < count; ++i) sum += std::exp(term(i) - top);
    return top + std::log(sum);
  };
  const auto x = [&](int i, int k) { return p.logits[i * p.columns + k] / s.epsilon; };
  const double share = -std::log(p.rows);
  std::vector<double> r(p.columns, -std::log(p.columns)), c(p.rows, share);
  Solution out;
  double change = 0;
  int64_t done = 0;
  for (bool last = false; !last; ++done) {
    change = 0;
    for (int k = 0; k < p.columns; ++k) {
      double now = -INFINITY;
      if (p.prior[k] > 0) {
        now = std::log(double(p.prior[k])) - log_sum(p.rows, [&](int i) { return x(i, k) + c[i]; });
        if (done > 0) now = r[k] + s.relaxation * (now - r[k]);
        change += std::abs(std::exp(now - r[k]) - 1);
      }
      r[k] = now;
    }
    out.trace.push_back(change);
    last = done + 1 == s.iterations || change < s.tolerance;
    for (int i = 0; i < p.rows; ++i) {
      const double now = share - log_sum(p.columns, [&](int k) { return x(i, k) + r[k]; });
      c[i] = done == 0 || last ? now : c[i] + s.relaxation * (now - c[i]);
    }
  }
  double residual = 0;
  out.targets.resize(p.logits.size());
  for (int k = 0; k < p.columns; ++k) {
    double mass = 0;
    for (int i = 0; i < p.rows; ++i) {
      const double q = std::exp(x(i, k) + r[k] + c[i] - share);
      out.targets[i * p.columns + k] = static_cast<float>(q);
      mass += q / p.rows;
    }
    residual = std::max(residual, std::abs(mass - p.prior[k]));
  }
  out.report = {change, residual, done};
  return out;
}

SinkhornCase case_of(const Problem& p, Solution& out, const SinkhornSettings& s) {
  out.targets.assign(p.logits.size(), NAN);
  out.trace.assign(s.iterations, 0);
  out.report = {NAN, NAN, -1};
  return {p.logits.data(),  p.prior.data(), out.targets.data(), &out.report,
          out.trace.data(), p.rows,         p.columns,          p.middle};
}

std::vector<Solution> in_blocks(const std::vector<Problem>& problems, const SinkhornSettings& s) {
  std::vector<Solution> out(problems.size());
  std::vector<SinkhornCase> cases;
  for (size_t i = 0; i < problems.size(); ++i) cases.push_back(case_of(problems[i], out[i], s));
  REQUIRE(gh::cuda::sinkhorn_in_blocks(cases, s, kLimit, nullptr) == cudaSuccess);
  for (Solution& solution : out) solution.trace.resize(solution.report.iterations);
  return out;
}

Solution in_grid(const Problem& p, const SinkhornSettings& s, SinkhornScale scale) {
  Solution out;
  const SinkhornCase problem = case_of(p, out, s);
  std::vector<double> room(gh::cuda::sinkhorn_workspace(p.rows, p.columns) / sizeof(double), NAN);
  REQUIRE(gh::cuda::sinkhorn_in_grid(problem, s, scale, room.data(), nullptr) == cudaSuccess);
  out.trace.resize(out.report.iterations);
  return out;
}

enum class Way { block, linear_grid, log_grid };

Solution solve(Way way, const Problem& p, const SinkhornSettings& s) {
  return gh::test::same_in_all_orders([&] {
    if (way == Way::block) return in_blocks({p}, s).front();
    return in_grid(p, s, way == Way::log_grid ? SinkhornScale::log : SinkhornScale::linear);
  });
}

template <class A, class B>
double largest_difference(const A& a, const B& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double(a[i]) - double(b[i]));
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

// float32 against double: entries of targets lie in 0 … 1.
constexpr double kTolerance = 5e-6;

void check(Way way, const Problem& p, const SinkhornSettings& s) {
  INFO("way " << static_cast<int>(way) << ", " << p.rows << "×" << p.columns);
  const Solution expected = plain_loops(p, s), found = solve(way, p, s);
  CHECK(largest_difference(found.targets, expected.targets) < kTolerance);
  CHECK(found.report.iterations == expected.report.iterations);
  CHECK(found.report.residual == Approx(expected.report.residual).margin(1e-6));
  REQUIRE(found.trace.size() == expected.trace.size());
  // Rounding of float32 is 6e-8 and a half a column and step.
  for (size_t i = 0; i < found.trace.size(); ++i)
    CHECK(found.trace[i] == Approx(expected.trace[i]).epsilon(1e-5).margin(1e-6 * p.columns));
  CHECK(found.report.change == found.trace.back());
}

}  // namespace

TEST_CASE("a matrix of any shape that fits is solved within one block") {
  const SinkhornSettings settings{0.05, 4, 0, 1};
  const int shapes[][2] = {{1, 1},   {1, 5},    {3, 1},    {7, 40},  {64, 8},   {65, 9},
                           {96, 20}, {130, 33}, {200, 64}, {97, 65}, {95, 100}, {70, 128}};
  for (const auto& [rows, columns] : shapes)
    for (const Prior prior : {Prior::uniform, Prior::zeros})
      check(Way::block, problem_of(rows, columns, prior), settings);
}

TEST_CASE("512 samples on 100 points fit one block of sm_80, rows in registers and shared memory") {
  CHECK(gh::cuda::sinkhorn_fits_block(512, 100, kLimit));
  CHECK_FALSE(gh::cuda::sinkhorn_fits_block(1024, 100, kLimit));
  CHECK_FALSE(gh::cuda::sinkhorn_fits_block(8, 129, kLimit));
  CHECK_FALSE(gh::cuda::sinkhorn_fits_block(512, 100, 99 << 10));
  check(Way::block, problem_of(512, 100, Prior::uneven), {0.05, 5, 0, 1});
}

TEST_CASE("logits far from zero are taken relative to their middle") {
  Problem p = problem_of(90, 20, Prior::uneven);
  p.middle = 64;  // exp(64/0.05) has no float32, nor double
  for (float& x : p.logits) x += p.middle;
  const SinkhornSettings settings{0.05, 5, 0, 1};
  for (const Way way : {Way::block, Way::linear_grid}) {
    const Solution expected = plain_loops(p, settings), found = solve(way, p, settings);
    CHECK(largest_difference(found.targets, expected.targets) < kTolerance);
    CHECK(found.report.change == Approx(expected.report.change).epsilon(1e-4));
  }
}

TEST_CASE("several matrices of different shapes are solved in one launch, each as if alone") {
  std::vector<Problem> problems;
  for (int i = 0; i < 18; ++i)  // two launches
    problems.push_back(problem_of(20 + 7 * i, 30 - i, i % 2 ? Prior::zeros : Prior::uneven));
  const SinkhornSettings settings{0.05, 3, 0, 1};
  const auto found = in_blocks(problems, settings);
  for (size_t i = 0; i < problems.size(); ++i) {
    const Solution expected = plain_loops(problems[i], settings);
    CHECK(largest_difference(found[i].targets, expected.targets) < kTolerance);
  }
}

TEST_CASE("matrices of any size are solved by many blocks, in either domain") {
  const SinkhornSettings settings{0.05, 4, 0, 1};
  const int shapes[][2] = {{1, 1}, {1, 40}, {5, 300}, {33, 32}, {257, 5}, {300, 130}};
  for (const auto& [rows, columns] : shapes)
    for (const Prior prior : {Prior::uneven, Prior::zeros})
      for (const Way way : {Way::linear_grid, Way::log_grid})
        check(way, problem_of(rows, columns, prior), settings);
}

TEST_CASE("sharp logits are solved in the log domain") {
  // exp(±1000) has no float32, and float32 numbers of that size lie 6e-5 apart.
  check(Way::log_grid, problem_of(60, 20, Prior::zeros), {0.001, 30, 0, 1});
  check(Way::log_grid, problem_of(20, 37, Prior::uneven, 50), {0.01, 5, 0, 1});
}

TEST_CASE("iterations end when the change is below the tolerance") {
  const SinkhornSettings settings{0.25, 100, 1e-2, 1};
  const Problem p = problem_of(150, 12, Prior::uneven);
  const int64_t needed = plain_loops(p, settings).report.iterations;
  REQUIRE(needed > 2);
  REQUIRE(needed < 100);
  for (const Way way : {Way::block, Way::linear_grid, Way::log_grid}) check(way, p, settings);
}

TEST_CASE("relaxation leaves the first iteration and the last samples plain") {
  for (const Prior prior : {Prior::uneven, Prior::zeros})
    for (const int iterations : {1, 2, 9})
      for (const Way way : {Way::block, Way::linear_grid, Way::log_grid})
        check(way, problem_of(140, 18, prior), {0.1, iterations, 0, 1.5});
  for (const Way way : {Way::block, Way::linear_grid, Way::log_grid})
    check(way, problem_of(150, 12, Prior::uneven), {0.25, 100, 1e-2, 1.3});
}

TEST_CASE("kernels reproduce the published Sinkhorn") {
  for (const std::string name : {"gh_sinkhorn_tall", "gh_sinkhorn_wide"}) {
    const auto vector = gh::test::find_vector(name);
    if (!vector) continue;
    const at::Tensor t = vector->at("t").contiguous();
    Problem p{static_cast<int>(t.size(0)), static_cast<int>(t.size(1)), {}, {}};
    p.logits.assign(t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
    for (const auto& [key, expected] : vector->tensors) {
      if (!key.starts_with("Q_") || !key.ends_with("_f64")) continue;
      INFO(name << " " << key);
      const size_t it = key.find("_it");
      const std::string prior = key.substr(2, it - 2);
      const int iterations = std::stoi(key.substr(it + 3));
      p.prior.assign(p.columns, 1.0f / static_cast<float>(p.columns));
      if (prior != "none") {
        const at::Tensor pi = vector->at("pi_" + prior).contiguous();
        const double* const values = pi.data_ptr<double>();
        const double total = std::accumulate(values, values + p.columns, 0.0);
        for (int k = 0; k < p.columns; ++k) p.prior[k] = static_cast<float>(values[k] / total);
      }
      const SinkhornSettings settings{gh::test::number(*vector, "epsilon"), iterations, 0, 1};
      const at::Tensor q = expected.contiguous();
      const std::vector<double> values(q.data_ptr<double>(), q.data_ptr<double>() + q.numel());
      CHECK(largest_difference(in_blocks({p}, settings)[0].targets, values) < kTolerance);
      if (iterations > 10 && prior != "zeros") continue;  // minutes add up
      for (const SinkhornScale scale : {SinkhornScale::linear, SinkhornScale::log})
        CHECK(largest_difference(in_grid(p, settings, scale).targets, values) < kTolerance);
    }
  }
}

TEST_CASE("what does not fit is refused before anything is launched") {
  const Problem p = problem_of(8, 129, Prior::uniform);
  Solution out;
  const SinkhornSettings settings{0.05, 1, 0, 1};
  const SinkhornCase problem = case_of(p, out, settings);
  CHECK(gh::cuda::sinkhorn_in_blocks({&problem, 1}, settings, kLimit, nullptr) != cudaSuccess);
  CHECK(out.report.iterations == -1);
}
