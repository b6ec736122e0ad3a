#include "gh/ops/sinkhorn.hpp"

#include "sinkhorn_kernels.hpp"
#include "sinkhorn_solver.hpp"
#include "unit/ops/kernel_list.hpp"

#include "gh/error.hpp"
#include "gh/random.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace {

using namespace gh;
using ops::SinkhornDomain;
using ops::SinkhornOptions;
using ops::SinkhornProblem;
using ops::SinkhornResult;

constexpr SinkhornDomain kDomains[] = {SinkhornDomain::linear, SinkhornDomain::log,
                                       SinkhornDomain::automatic};

at::Tensor normal(std::vector<int64_t> sizes, uint64_t key) {
  const at::Tensor t = at::empty(sizes, at::kDouble);
  Random(key).fill_normal(t, 0, 1);
  return t;
}

// Rows of unit length.
at::Tensor cosines(int64_t n, int64_t k, uint64_t key) {
  const at::Tensor x = normal({n, k}, key);
  return x / x.norm(2, 1, true);
}

// Falls by a factor of `tail` from the first to the last.
at::Tensor long_tail(int64_t k, double tail) {
  at::Tensor out = at::empty({k}, at::kDouble);
  for (int64_t j = 0; j < k; ++j)
    out[j] =
        std::pow(tail, -static_cast<double>(j) / static_cast<double>(std::max<int64_t>(k - 1, 1)));
  return out / out.sum();
}

SinkhornResult solve(const at::Tensor& logits, const at::Tensor& prior,
                     const SinkhornOptions& options) {
  const SinkhornProblem problem{logits, prior};
  return ops::sinkhorn({&problem, 1}, options)[0];
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// The oracle: logarithms, log Σ exp by the largest, plain loops in double precision.
struct Plain {
  int64_t n, k;
  std::vector<double> y, prior, f, h;
  std::vector<double> trace;

  Plain(const at::Tensor& logits, const at::Tensor& given, double epsilon)
      : n(logits.size(0)), k(logits.size(1)), prior(k, 1.0 / static_cast<double>(k)) {
    const at::Tensor x = (logits.to(at::kDouble) / epsilon).contiguous();
    y.assign(x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
    if (given.defined()) {
      const at::Tensor p = (given / given.sum()).to(at::kDouble).contiguous();
      prior.assign(p.data_ptr<double>(), p.data_ptr<double>() + k);
    }
    f.assign(n, -std::log(static_cast<double>(n)));
    h.assign(k, -std::log(static_cast<double>(k)));
  }
  template <class Term>
  static double log_sum(int64_t count, Term term) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < count; ++i) top = std::max(top, term(i));
    if (!std::isfinite(top)) return top;
    for (int64_t i = 0; i < count; ++i) sum += std::exp(term(i) - top);
    return top + std::log(sum);
  }
  void update_points(double w) {
    double change = 0;
    for (int64_t j = 0; j < k; ++j) {
      if (prior[j] == 0) {
        h[j] = -std::numeric_limits<double>::infinity();
        continue;
      }
      const double target =
          std::log(prior[j]) - log_sum(n, [&](int64_t i) { return y[i * k + j] + f[i]; });
      const double now = (1 - w) * h[j] + w * target;
      change += std::abs(std::exp(now - h[j]) - 1);
      h[j] = now;
    }
    trace.push_back(change);
  }
  void update_samples(double w) {
    for (int64_t i = 0; i < n; ++i)
      f[i] = (1 - w) * f[i] + w * (-std::log(static_cast<double>(n)) -
                                   log_sum(k, [&](int64_t j) { return y[i * k + j] + h[j]; }));
  }
  at::Tensor targets() const {
    at::Tensor out = at::empty({n, k}, at::kDouble);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < k; ++j)
        out.data_ptr<double>()[i * k + j] =
            static_cast<double>(n) * std::exp(y[i * k + j] + f[i] + h[j]);
    return out;
  }
  at::Tensor run(int64_t iterations, double w = 1) {
    for (int64_t t = 0; t < iterations; ++t) {
      update_points(t == 0 ? 1 : w);
      update_samples(t == 0 || t + 1 == iterations ? 1 : w);
    }
    return targets();
  }
};

template <class T>
auto kernel_sets() {
  return test::all_kernels<SinkhornKernels<T>>();
}

ops::SinkhornInput input_of(const at::Tensor& logits, const at::Tensor& prior,
                            SinkhornDomain domain) {
  ops::SinkhornInput out;
  out.logits = logits.contiguous();
  out.prior.assign(prior.data_ptr<double>(), prior.data_ptr<double>() + prior.numel());
  out.middle = (logits.min().item<double>() + logits.max().item<double>()) / 2;
  out.points = logits.size(1);
  out.domain = domain;
  return out;
}

template <class T>
void compare_kernels(int64_t n, int64_t k, const SinkhornOptions& options, uint64_t key) {
  const auto type = c10::CppTypeToScalarType<T>::value;
  const at::Tensor logits = cosines(n, k, key).to(type);
  const at::Tensor prior = long_tail(k, 30);
  Plain plain(logits, prior, options.epsilon);
  const at::Tensor expected = plain.run(options.iterations, options.relaxation);
  for (const SinkhornDomain domain : {SinkhornDomain::linear, SinkhornDomain::log}) {
    const ops::SinkhornInput input = input_of(logits, prior, domain);
    at::Tensor vectors;
    for (const auto& [name, kernels] : kernel_sets<T>()) {
      const SinkhornResult result = ops::solve_sinkhorn(*kernels, input, options, nullptr);
      INFO(name << " " << type << " " << n << "x" << k << " domain " << static_cast<int>(domain)
                << " iterations " << options.iterations << " relaxation " << options.relaxation);
      CHECK(difference(result.targets, expected) < (sizeof(T) == 4 ? 5e-6 : 1e-12));
      CHECK(result.change == Approx(plain.trace.back()).margin(sizeof(T) == 4 ? 1e-4 : 1e-10));
      if (name == "portable") continue;
      if (vectors.defined()) CHECK(result.targets.equal(vectors));
      vectors = result.targets;
    }
  }
}

TEST_CASE("every set of Sinkhorn kernels equals plain loops in double precision") {
  Random random(7);
  for (uint64_t i = 0; i < 150; ++i) {
    const int64_t n = i % 10 == 0 ? 1 : 1 + random.below(60);
    const int64_t k = i % 10 == 1 ? 1 : 1 + random.below(50);
    SinkhornOptions options;
    options.epsilon = 0.05 + 0.3 * random.uniform();
    options.iterations = 1 + random.below(12);
    options.relaxation = i % 3 == 2 ? 1.4 : 1;
    compare_kernels<float>(n, k, options, 100 + i);
    compare_kernels<double>(n, k, options, 100 + i);
  }
  // More rows than are summed in one go, and rows of many vectors.
  compare_kernels<float>(700, 5, {.iterations = 5}, 1);
  compare_kernels<double>(700, 5, {.iterations = 5}, 1);
  compare_kernels<float>(20, 333, {.iterations = 5}, 2);
  compare_kernels<double>(20, 333, {.iterations = 5}, 2);
}

TEST_CASE("Sinkhorn's domains agree with plain loops at any sharpness") {
  // Cosines as the paper's formula has them, exp(200·cos), and log-softmax scores over 0.05.
  const at::Tensor sharp = cosines(64, 20, 3), scores = at::log_softmax(cosines(64, 20, 4) * 10, 1);
  const at::Tensor prior = long_tail(20, 100);
  struct Case {
    const char* name;
    at::Tensor logits;
    double epsilon;
    SinkhornDomain used;  // by automatic, float32
  };
  const Case cases[] = {{"published", sharp, 0.05, SinkhornDomain::linear},
                        {"paper", sharp, 0.005, SinkhornDomain::log},
                        {"scores", scores, 0.05, SinkhornDomain::log},
                        {"sharper", sharp, 0.0005, SinkhornDomain::log},
                        {"shifted", sharp + 1000, 0.05, SinkhornDomain::linear},
                        {"shifted down", scores - 1000, 0.05, SinkhornDomain::log}};
  for (const Case& c : cases)
    for (const int64_t iterations : {1, 2, 7, 60, 300})
      for (const double w : {1.0, 1.5}) {
        INFO(c.name << " " << iterations << " iterations, relaxation " << w);
        SinkhornOptions options{.epsilon = c.epsilon, .iterations = iterations, .relaxation = w};
        for (const auto type : {at::kFloat, at::kDouble}) {
          const at::Tensor x = c.logits.to(type);
          const at::Tensor expected = Plain(x, prior, c.epsilon).run(iterations, w);
          for (const SinkhornDomain domain : kDomains) {
            options.domain = domain;
            const double span = (x.max() - x.min()).item<double>() / c.epsilon;
            if (domain == SinkhornDomain::linear && span > 300) {
              CHECK_THROWS_WITH(solve(x, prior, options), Catch::Contains("take the log domain"));
              continue;
            }
            const SinkhornResult result = solve(x, prior, options);
            INFO("type " << type << " domain " << static_cast<int>(domain));
            CHECK(difference(result.targets, expected) < (type == at::kFloat ? 2e-5 : 1e-9));
            CHECK(difference(result.targets.sum(1), at::full({64}, 1.0)) <
                  (type == at::kFloat ? 2e-6 : 1e-13));
            if (type == at::kFloat && domain == SinkhornDomain::automatic)
              CHECK(result.domain == c.used);
          }
        }
      }
}

TEST_CASE("Sinkhorn gives points without a share nothing and the others what plain loops give") {
  const at::Tensor logits = cosines(50, 13, 5);
  at::Tensor prior = long_tail(13, 10);
  for (const int64_t j : {0, 4, 12}) prior[j] = 0;
  for (const SinkhornDomain domain : kDomains) {
    const SinkhornResult result =
        solve(logits, prior * 7, {.iterations = 40, .domain = domain, .trace = true});
    Plain plain(logits, prior, 0.05);
    CHECK(difference(result.targets, plain.run(40)) < 1e-12);
    for (const int64_t j : {0, 4, 12})
      CHECK(result.targets.select(1, j).abs().max().item<double>() == 0);
    REQUIRE(result.trace.size() == 40);
    for (size_t t = 0; t < 40; ++t)
      CHECK(result.trace[t] == Approx(plain.trace[t]).epsilon(1e-6).margin(1e-12));
    const at::Tensor shares = result.targets.mean(0);
    CHECK(result.residual == Approx(difference(shares, prior / prior.sum())).margin(1e-14));
  }
  // Shares too small for float32, and for any.
  prior[1] = 1e-40;
  prior[2] = 1e-200;
  for (const auto type : {at::kFloat, at::kDouble}) {
    const SinkhornResult result = solve((logits * 8).to(type), prior, {.iterations = 30});
    CHECK(difference(result.targets, Plain((logits * 8).to(type), prior, 0.05).run(30)) < 1e-6);
  }
}

TEST_CASE("Sinkhorn's columns approach the prior and the residual says how far") {
  const at::Tensor prior = long_tail(16, 50);
  double before = 1;
  for (const int64_t iterations : {1, 5, 25, 125}) {
    const SinkhornResult result = solve(cosines(200, 16, 6), prior, {.iterations = iterations});
    CHECK(result.residual < before);
    CHECK(result.residual == Approx(difference(result.targets.mean(0), prior)).margin(1e-15));
    before = result.residual;
  }
  CHECK(before < 1e-6);
}

TEST_CASE("over-relaxation reaches the same targets in fewer iterations") {
  const at::Tensor logits = cosines(128, 20, 8), prior = long_tail(20, 100);
  SinkhornOptions options{.epsilon = 0.02, .iterations = 20000, .tolerance = 1e-12};
  for (const SinkhornDomain domain : {SinkhornDomain::linear, SinkhornDomain::log}) {
    options.domain = domain;
    options.relaxation = 1;
    const SinkhornResult plain = solve(logits, prior, options);
    options.relaxation = 1.5;
    const SinkhornResult relaxed = solve(logits, prior, options);
    CHECK(plain.change < 1e-12);
    CHECK(relaxed.change < 1e-12);
    CHECK(difference(plain.targets, relaxed.targets) < 1e-9);
    CHECK(relaxed.iterations < plain.iterations * 2 / 3);
  }
}

TEST_CASE("Sinkhorn stops after the iteration whose change is below the tolerance") {
  const at::Tensor logits = cosines(64, 10, 9), prior = long_tail(10, 20);
  const SinkhornResult all = solve(logits, prior, {.iterations = 200, .trace = true});
  CHECK(all.iterations == 200);
  CHECK(all.trace.back() == all.change);
  const double tolerance = 1e-4;
  const SinkhornResult some =
      solve(logits, prior, {.iterations = 200, .tolerance = tolerance, .trace = true});
  REQUIRE(some.iterations < 200);
  CHECK(some.trace == std::vector<double>(all.trace.begin(), all.trace.begin() + some.iterations));
  CHECK(some.change < tolerance);
  CHECK(all.trace[some.iterations - 2] >= tolerance);
  CHECK(some.targets.equal(solve(logits, prior, {.iterations = some.iterations}).targets));
}

TEST_CASE("the number of threads changes no bit of Sinkhorn's targets") {
  const int threads = at::get_num_threads();
  std::vector<SinkhornProblem> problems;
  for (uint64_t i = 0; i < 5; ++i)
    problems.push_back(
        {cosines(90 + 10 * static_cast<int64_t>(i), 33, i).to(at::kFloat), long_tail(33, 10)});
  std::vector<SinkhornResult> first;
  for (const int count : {1, 2, 4}) {
    at::set_num_threads(count);
    std::vector<SinkhornResult> results = ops::sinkhorn(problems, {});
    if (first.empty()) first = results;
    REQUIRE(results.size() == problems.size());
    for (size_t i = 0; i < results.size(); ++i) {
      CHECK(results[i].targets.equal(first[i].targets));
      CHECK(results[i].targets.equal(solve(problems[i].logits, problems[i].prior, {}).targets));
    }
  }
  at::set_num_threads(threads);
}

// Σ targets·weights as a function of one logit, by central differences.
void check_gradient(const at::Tensor& x, const at::Tensor& prior, const SinkhornOptions& options) {
  const at::Tensor weights = normal(x.sizes().vec(), 77);
  const auto loss = [&](const at::Tensor& logits) {
    return (ops::sinkhorn_with_gradient({logits, prior}, options).targets * weights).sum();
  };
  const at::Tensor logits = x.clone().requires_grad_();
  const SinkhornResult result = ops::sinkhorn_with_gradient({logits, prior}, options);
  const SinkhornResult expected = solve(x, prior, options);
  CHECK(result.targets.equal(expected.targets));
  CHECK(result.residual == expected.residual);
  CHECK(result.iterations == expected.iterations);
  const at::Tensor gradient = torch::autograd::grad({loss(logits)}, {logits})[0];
  const double step = 1e-5 * options.epsilon;
  const double size = gradient.abs().max().item<double>();
  REQUIRE(size > 0);
  for (int64_t i = 0; i < x.numel(); i += 7) {
    at::Tensor up = x.clone(), down = x.clone();
    up.data_ptr<double>()[i] += step;
    down.data_ptr<double>()[i] -= step;
    const double slope = (loss(up) - loss(down)).item<double>() / (2 * step);
    CHECK(gradient.data_ptr<double>()[i] == Approx(slope).epsilon(1e-4).margin(1e-5 * size));
  }
}

TEST_CASE("Sinkhorn's gradient equals finite differences") {
  at::Tensor prior = long_tail(7, 10);
  check_gradient(cosines(12, 7, 10), prior, {.iterations = 1});
  check_gradient(cosines(12, 7, 10), prior, {.iterations = 5});
  check_gradient(cosines(12, 7, 10), {}, {.iterations = 60});
  check_gradient(cosines(5, 9, 11), {}, {.iterations = 6, .domain = SinkhornDomain::log});
  check_gradient(cosines(12, 7, 12), prior, {.iterations = 8, .relaxation = 1.4});
  // Logits that exp() could not hold: E is made anew on the way.
  check_gradient(cosines(12, 7, 13) * 40, prior, {.iterations = 30});
  prior[2] = 0;
  check_gradient(cosines(12, 7, 14), prior, {.iterations = 5});
  const at::Tensor logits = cosines(12, 7, 14).requires_grad_();
  const at::Tensor gradient = torch::autograd::grad(
      {ops::sinkhorn_with_gradient({logits, prior}, {}).targets.square().sum()}, {logits})[0];
  CHECK(gradient.select(1, 2).abs().max().item<double>() == 0);
}

TEST_CASE("Sinkhorn's gradient cannot be differentiated again, and says so") {
  const at::Tensor logits = cosines(6, 4, 15).requires_grad_();
  const at::Tensor targets = ops::sinkhorn_with_gradient({logits, {}}, {.iterations = 3}).targets;
  CHECK_THROWS_WITH(torch::autograd::grad({targets.square().sum()}, {logits}, {}, true, true),
                    Catch::Contains("once only"));
}

// The best assignment of samples to places, each place once, by trying all.
double best_assignment(const at::Tensor& gain) {
  const int64_t n = gain.size(0);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const at::Tensor g = gain.contiguous();
  double best = -std::numeric_limits<double>::infinity();
  do {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += g.data_ptr<double>()[i * n + order[i]];
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST_CASE("Sinkhorn approaches the exact optimal transport as epsilon falls") {
  for (uint64_t key = 0; key < 6; ++key) {
    // As many samples as points, or two samples a point: then every point is two places.
    const int64_t n = key < 4 ? 7 : 8, k = key < 4 ? 7 : 4;
    const at::Tensor logits = normal({n, k}, 40 + key);
    const double exact = best_assignment(logits.repeat_interleave(n / k, 1));
    double before = std::numeric_limits<double>::infinity();
    for (const double epsilon : {0.3, 0.1, 0.03, 0.01, 0.003}) {
      const SinkhornResult result =
          solve(logits, {}, {.epsilon = epsilon, .iterations = 200000, .tolerance = 1e-11});
      INFO("problem " << key << " epsilon " << epsilon << " change " << result.change);
      REQUIRE(result.residual < 1e-4);
      // The entropic optimum loses at most ε·N·log K; shares that are off by the residual may gain
      // as much as the logits span.
      const double slack = result.residual * static_cast<double>(n * k) *
                           (logits.max() - logits.min()).item<double>();
      const double lost = exact - (result.targets * logits).sum().item<double>();
      CHECK(lost >= -slack);
      CHECK(lost < epsilon * static_cast<double>(n) * std::log(static_cast<double>(k)));
      CHECK(lost < before + slack);
      before = lost;
    }
    CHECK(before < 5e-3);
  }
}

TEST_CASE("Sinkhorn refuses bad input by name") {
  const at::Tensor logits = cosines(4, 3, 1), uniform = at::full({3}, 1.0, at::kDouble);
  const auto fails = [](const at::Tensor& x, const at::Tensor& prior,
                        const SinkhornOptions& options, ErrorCode code, const std::string& text) {
    for (const bool gradient : {false, true}) try {
        if (gradient)
          ops::sinkhorn_with_gradient({x, prior}, options);
        else
          solve(x, prior, options);
        FAIL("accepted; expected: " << text);
      } catch (const Error& error) {
        CHECK(error.code() == code);
        CHECK_THAT(error.what(), Catch::Contains(text));
      }
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  fails({}, {}, {}, ErrorCode::shape, "logits must be [N, K]");
  fails(logits[0], {}, {}, ErrorCode::shape, "logits must be [N, K]");
  fails(at::zeros({0, 3}), {}, {}, ErrorCode::shape, "not empty");
  fails(logits.to(at::kLong), {}, {}, ErrorCode::shape, "float32 or float64");
  fails(logits.to(at::kHalf), {}, {}, ErrorCode::shape, "float32 or float64");
  for (const double bad : {nan, infinity, -infinity})
    for (const auto type : {at::kFloat, at::kDouble})
      for (const int64_t place : {0, 7, 11}) {
        at::Tensor x = logits.clone().to(type);
        x.view({-1})[place] = bad;
        fails(x, {}, {}, ErrorCode::numeric, "logits are not finite");
      }
  fails(logits, at::zeros({3}, at::kDouble), {}, ErrorCode::numeric, "zero everywhere");
  fails(logits, at::full({2}, 0.5, at::kDouble), {}, ErrorCode::shape, "the prior must be [3]");
  fails(logits, at::full({3}, int64_t{1}, at::kLong), {}, ErrorCode::shape,
        "prior must be floating");
  for (const double bad : {nan, infinity, -0.1}) {
    at::Tensor prior = uniform.clone();
    prior[1] = bad;
    fails(logits, prior, {}, ErrorCode::numeric, "finite and not negative");
  }
  for (const double bad : {0.0, -1.0, nan, infinity})
    fails(logits, {}, {.epsilon = bad}, ErrorCode::invalid_param, "epsilon");
  for (const double bad : {0.9, 2.0, nan})
    fails(logits, {}, {.relaxation = bad}, ErrorCode::invalid_param, "relaxation");
  for (const double bad : {-1.0, nan})
    fails(logits, {}, {.tolerance = bad}, ErrorCode::invalid_param, "tolerance");
  fails(logits, {}, {.iterations = 0}, ErrorCode::invalid_param, "iterations");
  fails(logits, {}, {.domain = static_cast<SinkhornDomain>(9)}, ErrorCode::invalid_param, "domain");
  CHECK_THROWS_WITH(ops::sinkhorn_domain("lin"),
                    Catch::Contains("\"auto\", \"linear\" or \"log\""));
  // One bad problem among good ones.
  const SinkhornProblem both[] = {{logits, {}}, {logits / 0.0, {}}};
  CHECK_THROWS_WITH(ops::sinkhorn(both, {}), Catch::Contains("not finite"));
}

TEST_CASE("a caller with a shorter options struct gets defaults for the rest") {
  SinkhornOptions options{.iterations = 3, .relaxation = 5, .trace = true};
  options.struct_size = offsetof(SinkhornOptions, relaxation);
  const SinkhornResult result = solve(cosines(4, 3, 1), {}, options);
  CHECK(result.iterations == 3);
  CHECK(result.trace.empty());
}

}  // namespace
