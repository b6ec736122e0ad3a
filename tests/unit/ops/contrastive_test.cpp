// Contrastive losses against plain tensors, with each set of kernels, whichever this processor
// would choose.
#include "gh/ops/contrastive.hpp"

#include "contrastive_pass.hpp"
#include "support/vectors.hpp"
#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/random.hpp"
#include "gh/rows.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using gh::ops::ContrastiveOptions;
using gh::ops::ContrastiveProblem;

at::Tensor normal(at::IntArrayRef shape, uint64_t key, at::ScalarType type = at::kDouble) {
  const at::Tensor x = at::empty(shape, at::kDouble);
  gh::Random(key).fill_normal(x, 0, 1);
  return x.to(type);
}
at::Tensor points(int64_t rows, int64_t width, uint64_t key, at::ScalarType type = at::kDouble) {
  return gh::unit_rows(normal({rows, width}, key)).to(type);
}

// A kind of problem: which tensors it has, by the number of rows and the width.
struct Kind {
  std::string name;
  std::function<ContrastiveProblem(int64_t rows, int64_t width, at::ScalarType)> make;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"among rows",
       [](int64_t n, int64_t d, at::ScalarType type) {
         const at::Tensor i = at::arange(n, at::kLong);
         ContrastiveProblem p;
         p.rows = points(2 * n, d, 1, type);
         p.positive = at::cat({i + n, i});
         return p;
       }},
      {"of several ranks",
       [](int64_t n, int64_t d, at::ScalarType type) {
         const int64_t all = 3 * n + 5;
         const at::Tensor i = at::arange(n + 2, 2 * n + 2, at::kLong);
         ContrastiveProblem p;
         p.rows = points(2 * n, d, 1, type);
         p.columns = points(2 * all, d, 2, type);
         p.positive = at::cat({i + all, i});
         p.skipped = at::cat({i, i + all});
         return p;
       }},
      {"of the other view",
       [](int64_t n, int64_t d, at::ScalarType type) {
         ContrastiveProblem p;
         p.rows = points(n, d, 1, type);
         p.columns = points(2 * n, d, 2, type);
         p.positive = at::arange(n, 2 * n, at::kLong);
         return p;
       }},
      {"with a queue",
       [](int64_t n, int64_t d, at::ScalarType type) {
         ContrastiveProblem p;
         p.rows = points(n, d, 1, type);
         p.columns = points(7 * n + 3, d, 2, type);
         p.positives = gh::unit_rows(p.rows + 0.4 * points(n, d, 3, type));
         return p;
       }},
      {"with shared positives and a temperature for each row",
       [](int64_t n, int64_t d, at::ScalarType type) {
         ContrastiveProblem p;
         p.rows = normal({n, d}, 1, type);
         p.columns = normal({2 * n, d}, 2, type);
         p.positive = at::arange(n, at::kLong).floor_divide(2);
         p.temperatures = 0.5 + at::arange(n, at::kDouble) / static_cast<double>(n);
         return p;
       }},
  };
  return all;
}

// The definition, from the matrix of all scores.
at::Tensor plain(const ContrastiveProblem& p, const ContrastiveOptions& options) {
  const at::Tensor columns = p.columns.defined() ? p.columns : p.rows;
  at::Tensor scores = p.rows.matmul(columns.t());
  const at::Tensor t = p.temperatures.defined()
                           ? p.temperatures.to(scores.scalar_type())
                           : at::full({p.rows.size(0)}, options.temperature, scores.options());
  scores = scores / t.unsqueeze(1);
  const at::Tensor positive = p.positive.defined()
                                  ? scores.gather(1, p.positive.unsqueeze(1)).squeeze(1)
                                  : (p.rows * p.positives).sum(1) / t;
  const double none = -std::numeric_limits<double>::infinity();
  if (p.positive.defined()) scores = scores.scatter(1, p.positive.unsqueeze(1), none);
  if (p.skipped.defined()) scores = scores.scatter(1, p.skipped.unsqueeze(1), none);
  if (!p.columns.defined())
    scores = scores.scatter(1, at::arange(p.rows.size(0), at::kLong).unsqueeze(1), none);
  const at::Tensor odds = at::logsumexp(scores, 1) - positive;
  return (options.exponent * at::log_sigmoid(odds)).exp() * -at::log_sigmoid(-odds);
}

struct Found {
  at::Tensor losses;
  std::vector<at::Tensor> gradients;  // rows, columns, positives, those there are
};

template <class Losses>
Found differentiate(ContrastiveProblem p, const at::Tensor& upstream, Losses losses) {
  std::vector<at::Tensor> leaves;
  for (at::Tensor* t : {&p.rows, &p.columns, &p.positives})
    if (t->defined()) {
      *t = t->clone().set_requires_grad(true);
      leaves.push_back(*t);
    }
  Found out;
  const at::Tensor found = losses(p);
  out.losses = found.detach();
  out.gradients = torch::autograd::grad({found}, leaves, {upstream});
  return out;
}

// Off by no more than `tolerance` of the largest value.
void check_close(const at::Tensor& found, const at::Tensor& expected, double tolerance) {
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  CHECK(gh::test::largest_difference(found.to(at::kDouble), expected) < tolerance * scale);
}
void compare(const Found& found, const Found& expected, double tolerance) {
  check_close(found.losses, expected.losses, tolerance);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  for (size_t i = 0; i < found.gradients.size(); ++i) {
    CAPTURE(i);
    check_close(found.gradients[i], expected.gradients[i], tolerance);
  }
}

TEST_CASE("contrastive: losses and gradients are those of the matrix of all scores") {
  for (const Kind& kind : kinds())
    for (const auto& [rows, width] :
         std::vector<std::pair<int64_t, int64_t>>{{2, 1}, {5, 3}, {48, 16}, {61, 37}, {210, 130}})
      for (const double exponent : {0.0, 0.5, 2.0}) {
        const ContrastiveOptions options{.temperature = 0.3, .exponent = exponent};
        CAPTURE(kind.name, rows, width, exponent);
        const ContrastiveProblem p = kind.make(rows, width, at::kDouble);
        const at::Tensor upstream = normal({p.rows.size(0)}, 9);
        const Found expected =
            differentiate(p, upstream, [&](const auto& q) { return plain(q, options); });
        compare(differentiate(p, upstream,
                              [&](const auto& q) { return contrastive_losses(q, options); }),
                expected, 1e-11);
        const ContrastiveProblem single = kind.make(rows, width, at::kFloat);
        const Found rounded = differentiate(single, upstream.to(at::kFloat), [&](const auto& q) {
          return contrastive_losses(q, options);
        });
        CHECK(rounded.losses.scalar_type() == at::kFloat);
        compare(rounded, expected, 1e-5);
      }
}

template <class T>
void check_sets(double tolerance) {
  constexpr at::ScalarType type = c10::CppTypeToScalarType<T>::value;
  for (const int64_t width : {3, 100})
    for (const bool among : {true, false}) {
      gh::ContrastiveScores s;
      s.rows = points(90, width, 1, type);
      if (!among) s.columns = points(500, width, 2, type);
      for (int64_t i = 0; i < 90; ++i) {
        s.positive.push_back(among ? (i + 45) % 90 : 7 + 3 * i);
        s.skipped.push_back(i);
        s.inverse.push_back(1 / (0.2 + 0.01 * static_cast<double>(i)));
      }
      gh::ContrastiveWeights w;
      const auto& first = *gh::test::all_kernels<gh::ContrastiveKernels<T>>().back().kernels;
      w.log_sum = negative_log_sums<T>(s, first);
      for (int64_t i = 0; i < 90; ++i) w.weight.push_back(1 + static_cast<double>(i % 7));
      const at::Tensor rows = rows_gradient<T>(s, w, first);
      const at::Tensor columns = among ? rows : columns_gradient<T>(s, w, first);
      for (const auto& [name, kernels] : gh::test::all_kernels<gh::ContrastiveKernels<T>>()) {
        CAPTURE(name, width, among);
        const std::vector<double> sums = negative_log_sums<T>(s, *kernels);
        for (size_t i = 0; i < sums.size(); ++i)
          CHECK(sums[i] == Approx(w.log_sum[i]).epsilon(tolerance));
        CHECK(gh::test::largest_difference(rows_gradient<T>(s, w, *kernels), rows) <
              20 * tolerance);
        if (!among)
          CHECK(gh::test::largest_difference(columns_gradient<T>(s, w, *kernels), columns) <
                20 * tolerance);
      }
    }
}

TEST_CASE("contrastive: every set of kernels says the same") {
  check_sets<float>(2e-6);
  check_sets<double>(1e-14);
}

TEST_CASE("contrastive: few scores are kept, and change no bit; many are not") {
  gh::ContrastiveScores s;
  s.rows = points(70, 9, 1, at::kFloat);
  s.columns = points(500, 9, 2, at::kFloat);
  gh::ContrastiveWeights w;
  for (int64_t i = 0; i < 70; ++i) {
    s.positive.push_back(i);
    s.inverse.push_back(3);
    w.weight.push_back(1 + static_cast<double>(i));
  }
  const auto& kernels = gh::best_kernels<gh::ContrastiveKernels<float>>();
  at::Tensor kept;
  w.log_sum = negative_log_sums<float>(s, kernels, &kept);
  REQUIRE(kept.defined());
  CHECK(rows_gradient<float>(s, w, kernels, kept).equal(rows_gradient<float>(s, w, kernels)));

  s.columns = points(gh::kContrastiveKept / 70 + 1, 1, 2, at::kFloat);
  s.rows = points(70, 1, 1, at::kFloat);
  at::Tensor many;
  negative_log_sums<float>(s, kernels, &many);
  CHECK(!many.defined());
}

TEST_CASE("contrastive: gradients are those of finite differences") {
  for (const Kind& kind : kinds())
    for (const double exponent : {0.0, 0.5, 2.0}) {
      const ContrastiveOptions options{.temperature = 0.5, .exponent = exponent};
      ContrastiveProblem p = kind.make(4, 3, at::kDouble);
      const at::Tensor upstream = normal({p.rows.size(0)}, 9);
      const Found found =
          differentiate(p, upstream, [&](const auto& q) { return contrastive_losses(q, options); });
      size_t leaf = 0;
      for (at::Tensor* t : {&p.rows, &p.columns, &p.positives}) {
        if (!t->defined()) continue;
        const at::Tensor gradient = found.gradients[leaf++].contiguous();
        double* const values = t->data_ptr<double>();
        for (int64_t i = 0; i < t->numel(); ++i) {
          CAPTURE(kind.name, exponent, leaf, i);
          constexpr double kStep = 1e-5;
          const double before = values[i];
          const auto at = [&](double value) {
            values[i] = value;
            return (contrastive_losses(p, options) * upstream).sum().item<double>();
          };
          const double slope = (at(before + kStep) - at(before - kStep)) / (2 * kStep);
          values[i] = before;
          CHECK(gradient.data_ptr<double>()[i] == Approx(slope).margin(1e-8));
        }
      }
    }
}

TEST_CASE("contrastive: the number of threads changes no bit") {
  for (const Kind& kind : kinds()) {
    const ContrastiveProblem p = kind.make(150, 40, at::kFloat);
    const at::Tensor upstream = normal({p.rows.size(0)}, 9, at::kFloat);
    const auto run = [&](int threads) {
      const Threads some(threads);
      return differentiate(p, upstream, [](const auto& q) {
        return contrastive_losses(q, {.temperature = 0.2, .exponent = 2});
      });
    };
    const Found one = run(1);
    for (const int threads : {2, 3, 5}) {
      const Found many = run(threads);
      CAPTURE(kind.name, threads);
      CHECK(one.losses.equal(many.losses));
      for (size_t i = 0; i < one.gradients.size(); ++i)
        CHECK(one.gradients[i].equal(many.gradients[i]));
    }
  }
}

// Two rows (1, 0) and (cos a, sin a): odds are in closed form.
TEST_CASE("contrastive: neither certain nor hopeless rows lose digits") {
  const auto run = [](double positive, double negative, double exponent) {
    ContrastiveProblem p;
    p.rows = at::full({1, 1}, 1.0, at::kDouble).set_requires_grad(true);
    p.columns = at::full({1, 1}, negative, at::kDouble);
    p.positives = at::full({1, 1}, positive, at::kDouble).set_requires_grad(true);
    const at::Tensor loss = contrastive_losses(p, {.temperature = 1, .exponent = exponent});
    const auto gradient =
        torch::autograd::grad({loss}, {p.positives}, {at::full({1}, 1.0, at::kDouble)});
    return std::pair(loss.item<double>(), gradient[0].item<double>());
  };
  // 1 − p = e⁻⁶⁰, far below the roundings of 1
  const double rest = std::exp(-60.0);
  CHECK(run(60, 0, 0).first == Approx(rest).epsilon(1e-12));
  CHECK(run(60, 0, 0).second == Approx(-rest).epsilon(1e-12));
  CHECK(run(60, 0, 2).first == Approx(rest * rest * rest).epsilon(1e-12));
  CHECK(run(60, 0, 2).second == Approx(-3 * rest * rest * rest).epsilon(1e-12));
  // p = e⁻⁹⁰⁰, which float64 has not
  CHECK(run(0, 900, 0).first == Approx(900).epsilon(1e-14));
  CHECK(run(0, 900, 2).second == Approx(-1).epsilon(1e-14));
}

TEST_CASE("contrastive: a row without negatives costs nothing, one that is no number stays none") {
  ContrastiveProblem p;
  p.rows = points(2, 5, 1).set_requires_grad(true);
  p.positive = at::arange(1, -1, -1, at::kLong);
  for (const double exponent : {0.0, 2.0}) {
    const at::Tensor losses = contrastive_losses(p, {.exponent = exponent});
    const auto gradient = torch::autograd::grad({losses.sum()}, {p.rows});
    CHECK(losses.abs().max().item<double>() == 0);
    CHECK(gradient[0].abs().max().item<double>() == 0);
  }
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    ContrastiveProblem bad = kinds()[2].make(60, 8, type);
    bad.columns[100][3] = std::numeric_limits<double>::quiet_NaN();
    CHECK(contrastive_losses(bad, {}).isnan().all().item<bool>());
  }
}

TEST_CASE("nt_xent of one rank's samples is that of all samples' rows") {
  const at::Tensor a = points(12, 6, 1), b = points(12, 6, 2);
  const ContrastiveOptions options{.temperature = 0.4, .exponent = 1.5};
  const at::Tensor all = gh::ops::nt_xent(a, b, options);
  for (const int64_t first : {0, 4, 8}) {
    const at::Tensor mine =
        gh::ops::nt_xent(a.narrow(0, first, 4), b.narrow(0, first, 4), a, b, first, options);
    CHECK(gh::test::largest_difference(mine, all.narrow(0, first, 4)) < 1e-14);
  }
}

TEST_CASE("contrastive: gradients gathered from ranks add up to those of one") {
  const ContrastiveOptions options{.temperature = 0.4, .exponent = 2};
  const auto gradients = [&](auto losses) {
    const at::Tensor a = points(12, 6, 1).set_requires_grad(true),
                     b = points(12, 6, 2).set_requires_grad(true);
    return torch::autograd::grad({losses(a, b)}, {a, b});
  };
  const auto one = gradients(
      [&](const auto& a, const auto& b) { return gh::ops::nt_xent(a, b, options).sum(); });
  const auto many = gradients([&](const auto& a, const auto& b) {
    at::Tensor total = at::zeros({}, at::kDouble);
    for (const int64_t first : {0, 4, 8})
      total = total +
              gh::ops::nt_xent(a.narrow(0, first, 4), b.narrow(0, first, 4), a, b, first, options)
                  .sum();
    return total;
  });
  for (size_t i = 0; i < 2; ++i) CHECK(gh::test::largest_difference(one[i], many[i]) < 1e-13);
}

TEST_CASE("contrastive: what does not fit is refused with what was expected") {
  const ContrastiveProblem good = kinds()[1].make(4, 3, at::kDouble);
  const auto refused = [&](auto change, ContrastiveOptions options, const std::string& says) {
    ContrastiveProblem p = good;
    change(p);
    try {
      contrastive_losses(p, options);
      FAIL("not refused: " << says);
    } catch (const gh::Error& e) {
      CHECK(std::string(e.what()).find(says) != std::string::npos);
    }
  };
  refused([](auto& p) { p.rows = p.rows[0]; }, {}, "rows must be [n, d]");
  refused([](auto& p) { p.rows = p.rows.to(at::kHalf); }, {}, "float32 or float64");
  refused([](auto& p) { p.columns = p.columns.to(at::kFloat); }, {},
          "columns must be like the rows");
  refused([](auto& p) { p.positives = p.rows; }, {}, "either among the columns or beside them");
  refused([](auto& p) { p.positive = p.positive + 100; }, {}, "positive must name columns");
  refused([](auto& p) { p.skipped = p.skipped.narrow(0, 0, 3); }, {}, "skipped must be [8] int64");
  refused(
      [](auto& p) {
        p.columns = at::Tensor();
        p.skipped = at::Tensor();
        p.positive = p.positive % 8;
      },
      {}, "mutual positives");
  refused([](auto& p) { p.temperatures = at::zeros({8}, at::kDouble); }, {}, "got 0 for row 0");
  refused([](auto&) {}, {.temperature = 0}, "temperature must be above 0");
  refused([](auto&) {}, {.exponent = -1}, "exponent must be finite and not negative");
}

}  // namespace
