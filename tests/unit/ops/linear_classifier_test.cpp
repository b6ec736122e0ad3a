// Linear classifiers against plain tensors, with each set of kernels, whichever this processor
// would choose.
#include "linear_pass.hpp"

#include "support/vectors.hpp"
#include "unit/ops/kernel_list.hpp"
#include "unit/ops/threads.hpp"

#include "gh/error.hpp"
#include "gh/ops/linear_classifier.hpp"
#include "gh/random.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using gh::ops::LinearClassifier;
using gh::ops::LinearOptimizer;
using gh::ops::LogisticFit;
using gh::ops::LogisticRegression;
using gh::test::largest_difference;

at::Tensor normal(at::IntArrayRef shape, uint64_t key, at::ScalarType type = at::kDouble) {
  const at::Tensor x = at::empty(shape, at::kDouble);
  gh::Random(key).fill_normal(x, 0, 1);
  return x.to(type);
}

at::Tensor labels(int64_t rows, int64_t classes, uint64_t key) {
  const at::Tensor out = at::empty({rows}, at::kLong);
  gh::Random random(key);
  for (int64_t i = 0; i < rows; ++i) out.data_ptr<int64_t>()[i] = random.below(classes);
  return out;
}

// Classes that overlap: what is learnt depends on all of them.
struct Problem {
  at::Tensor x, targets;
  int64_t classes;
};
Problem overlapping(int64_t rows, int64_t width, int64_t classes, at::ScalarType type) {
  const at::Tensor targets = labels(rows, classes, 1), middles = normal({classes, width}, 2);
  return {(middles.index_select(0, targets) + 2 * normal({rows, width}, 3) + 0.5).to(type), targets,
          classes};
}

// softmax − one-hot, and the losses, of scores in float64.
at::Tensor errors_of(const at::Tensor& scores, const at::Tensor& targets) {
  return scores.softmax(1) - at::one_hot(targets, scores.size(1));
}
double loss_of(const at::Tensor& scores, const at::Tensor& targets) {
  return -scores.log_softmax(1).gather(1, targets.unsqueeze(1)).sum().item<double>();
}

template <class T>
constexpr at::ScalarType kType = c10::CppTypeToScalarType<T>::value;

template <class T>
auto all_kernels() {
  return gh::test::all_kernels<gh::LinearKernels<T>>();
}

template <class T>
struct Passed {
  at::Tensor weight, bias;
  double loss = 0;
  int64_t bad = 0;
};

template <class T>
Passed<T> gradient(const gh::LinearKernels<T>& kernels, const Problem& p, const at::Tensor& rows,
                   const LinearClassifier& at, double factor) {
  const gh::LinearLayout layout(p.classes, p.x.size(1), kernels.lanes, kernels.vectors);
  gh::LinearPass<T> pass(p.x, layout, rows.numel(), kernels);
  const at::Tensor weight = gh::pack_weight<T>(layout, at.weight),
                   bias = gh::pack_bias<T>(layout, at.bias);
  const at::Tensor sums = at::full({layout.size()}, 7, kType<T>),
                   lanes = at::full({layout.all_lanes}, 7, kType<T>);
  const auto into = [](const at::Tensor& to) {
    return
        [to](int64_t first, int64_t n, const T* g) { std::copy_n(g, n, to.data_ptr<T>() + first); };
  };
  const auto take_weight = into(sums), take_bias = into(lanes);
  Passed<T> out;
  out.bad = pass.gradient({rows.data_ptr<int64_t>(), 0, rows.numel()}, weight.data_ptr<T>(),
                          bias.data_ptr<T>(), p.targets.data_ptr<int64_t>(), static_cast<T>(factor),
                          &out.loss, {take_weight, take_bias});
  out.weight = gh::unpack_weight<T>(layout, sums.data_ptr<T>());
  out.bias = lanes.narrow(0, 0, p.classes);
  return out;
}

template <class T>
void compare_kernels(double tolerance) {
  struct Shape {
    int64_t rows, width, classes, taken;
  };
  for (const auto& [name, kernels] : all_kernels<T>())
    for (const Shape& s :
         {Shape{1, 1, 1, 1}, Shape{9, 5, 2, 7}, Shape{70, 16, 17, 64}, Shape{200, 67, 37, 130},
          Shape{900, 129, 100, 899}, Shape{150, 33, 300, 65}}) {
      INFO(name << ", " << s.rows << " × " << s.width << ", " << s.classes << " classes");
      const Problem p = overlapping(s.rows, s.width, s.classes, kType<T>);
      const LinearClassifier at = {normal({s.classes, s.width}, 4, kType<T>),
                                   normal({s.classes}, 5, kType<T>)};
      const at::Tensor rows = gh::Random(6).permutation(s.rows).narrow(0, 0, s.taken).contiguous();
      const Passed<T> found = gradient(*kernels, p, rows, at, 0.25);
      const at::Tensor x = p.x.index_select(0, rows).to(at::kDouble);
      const at::Tensor targets = p.targets.index_select(0, rows);
      const at::Tensor scores = x.matmul(at.weight.to(at::kDouble).t()) + at.bias.to(at::kDouble);
      const at::Tensor errors = 0.25 * errors_of(scores, targets);
      CHECK(found.bad == -1);
      const double size = 1 + errors.abs().sum().item<double>();
      CHECK(found.loss == Approx(loss_of(scores, targets)).epsilon(tolerance).margin(tolerance));
      CHECK(largest_difference(found.weight, errors.t().matmul(x)) < tolerance * size);
      CHECK(largest_difference(found.bias, errors.sum(0)) < tolerance * size);
    }
}

TEST_CASE("linear: gradients of all kernels are those of plain tensors") {
  compare_kernels<float>(1e-5);
  compare_kernels<double>(1e-13);
}

TEST_CASE("linear: gradients are the differences of losses") {
  const Problem p = overlapping(50, 6, 5, at::kDouble);
  const at::Tensor rows = at::arange(50, at::kLong);
  const auto& kernels = *all_kernels<double>().back().kernels;
  LinearClassifier at = {normal({5, 6}, 4), normal({5}, 5)};
  const Passed<double> here = gradient(kernels, p, rows, at, 1);
  constexpr double kStep = 1e-5;
  for (const bool bias : {false, true}) {
    double* const values = (bias ? at.bias : at.weight).data_ptr<double>();
    const at::Tensor expected = (bias ? here.bias : here.weight).contiguous();
    for (int64_t i = 0; i < expected.numel(); ++i) {
      const double before = values[i];
      values[i] = before + kStep;
      const double above = gradient(kernels, p, rows, at, 1).loss;
      values[i] = before - kStep;
      const double below = gradient(kernels, p, rows, at, 1).loss;
      values[i] = before;
      CHECK((above - below) / (2 * kStep) ==
            Approx(expected.data_ptr<double>()[i]).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("linear: softmax of far scores is exact, and nothing overflows") {
  Problem p = {at::eye(3, at::kFloat), at::arange(3, at::kLong), 3};
  const LinearClassifier at = {at::eye(3, at::kFloat) * 1e4, at::zeros({3})};
  for (const auto& [name, kernels] : all_kernels<float>()) {
    INFO(name);
    const Passed<float> found = gradient(*kernels, p, p.targets, at, 1);
    CHECK(found.loss == 0);
    CHECK(found.weight.eq(0).all().item<bool>());
    const Passed<float> wrong = gradient(*kernels, {p.x, (p.targets + 1) % 3, 3}, p.targets, at, 1);
    CHECK(wrong.loss == Approx(3e4));
  }
}

template <class T>
void compare_shares(double tolerance) {
  // One row and two classes, whose scores are 0 and −z: the second's share is 1 / (1 + exp(z)).
  const Problem p = {at::full({1, 1}, 1, kType<T>), at::zeros({1}, at::kLong), 2};
  for (const auto& [name, kernels] : all_kernels<T>())
    for (double z = 0; z < 80; z += 0.0371) {
      const LinearClassifier at = {at::zeros({2, 1}, kType<T>), at::zeros({2}, kType<T>)};
      at.bias[1] = -z;
      const double exact = -at.bias[1].template item<double>();
      const double found = gradient(*kernels, p, p.targets, at, 1).bias[1].template item<double>();
      if (std::abs(found * (1 + std::exp(exact)) - 1) > tolerance) FAIL(name << " at " << z);
    }
}

TEST_CASE("linear: softmax is as good as its type") {
  compare_shares<float>(4e-7);
  compare_shares<double>(1e-15);
}

// ---- training ----

std::vector<double> decaying(double rate, double ratio, int64_t epochs) {
  std::vector<double> out;
  for (int64_t e = 0; e < epochs; ++e)
    out.push_back(rate * std::pow(ratio, static_cast<double>(e) / static_cast<double>(epochs)));
  return out;
}

TEST_CASE("linear: Adam gives the published probe's weights and accuracies") {
  const auto file = gh::test::find_vector("eval_linear_probe");
  if (!file) return;
  const auto& t = *file;
  const auto epochs = static_cast<int64_t>(gh::test::number(*file, "epochs"));
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const bool wide = type == at::kDouble;
    const std::string end = wide ? "_f64" : "";
    const double tolerance = wide ? 1e-9 : 1e-4;
    const LinearClassifier probe = gh::ops::train_linear(
        t.at("train").to(type), t.at("train_label"), {t.at("W0").to(type), t.at("b0").to(type)},
        {.l2 = gh::test::number(*file, "l2"),
         .batch = static_cast<int64_t>(gh::test::number(*file, "batch")),
         .rates = decaying(gh::test::number(*file, "lr_first"),
                           gh::test::number(*file, "lr_ratio_total"), epochs)},
        [&](int64_t epoch) { return t.at("batch_order")[epoch]; });
    CHECK(largest_difference(probe.weight, t.at("W" + end)) < tolerance);
    CHECK(largest_difference(probe.bias, t.at("b" + end)) < tolerance);
    const at::Tensor scores = gh::ops::linear_scores(t.at("test").to(type), probe);
    CHECK(largest_difference(scores, t.at("logits" + end)) < 10 * tolerance);
    const at::Tensor truth = t.at("test_label");
    const at::Tensor hit = std::get<1>(scores.topk(3, 1)).eq(truth.unsqueeze(1)).to(at::kDouble);
    const at::Tensor expected = t.at("top1_top3" + end);
    CHECK(hit.select(1, 0).mean().item<double>() == Approx(expected[0].item<double>()));
    CHECK(hit.sum(1).mean().item<double>() == Approx(expected[1].item<double>()));
    for (int64_t c = 0; c < probe.weight.size(0); ++c)
      CHECK(100 * hit.select(1, 0).masked_select(truth.eq(c)).mean().item<double>() ==
            Approx(t.at("per_class" + end)[c].item<double>()));
  }
}

TEST_CASE("linear: SGD is plain momentum on the mean gradient, last batch smaller") {
  const Problem p = overlapping(50, 7, 4, at::kDouble);
  const LinearClassifier start = gh::ops::linear_start(4, 7, at::kDouble, gh::Random(1));
  const auto order = [](int64_t epoch) {
    return gh::Random(2, static_cast<uint64_t>(epoch)).permutation(50);
  };
  const std::vector<double> rates = {0.3, 0.1, 0.03};
  const LinearClassifier found = gh::ops::train_linear(
      p.x, p.targets, start,
      {.optimizer = LinearOptimizer::sgd, .momentum = 0.8, .l2 = 0.01, .batch = 16, .rates = rates},
      order);
  at::Tensor w = start.weight.clone(), b = start.bias.clone();
  at::Tensor mw = at::zeros_like(w), mb = at::zeros_like(b);
  for (std::size_t e = 0; e < rates.size(); ++e)
    for (const at::Tensor& rows : order(static_cast<int64_t>(e)).split(16)) {
      const at::Tensor x = p.x.index_select(0, rows);
      const at::Tensor g = errors_of(x.matmul(w.t()) + b, p.targets.index_select(0, rows)) /
                           static_cast<double>(rows.numel());
      mw = 0.8 * mw + g.t().matmul(x) + 0.01 * w;
      mb = 0.8 * mb + g.sum(0) + 0.01 * b;
      w = w - rates[e] * mw;
      b = b - rates[e] * mb;
    }
  CHECK(largest_difference(found.weight, w) < 1e-12);
  CHECK(largest_difference(found.bias, b) < 1e-12);
}

TEST_CASE("linear: the first weights fill ±1/√D evenly") {
  const LinearClassifier start = gh::ops::linear_start(100, 64, at::kFloat, gh::Random(3));
  CHECK(start.weight.abs().max().item<double>() <= 0.125);
  CHECK(start.weight.abs().max().item<double>() > 0.124);
  CHECK(start.weight.mean().item<double>() == Approx(0).margin(0.005));
  CHECK(start.weight.var().item<double>() == Approx(0.125 * 0.125 / 3).epsilon(0.05));
  CHECK(start.bias.abs().max().item<double>() > 0.11);
}

// ---- logistic regression ----

double gradient_norm(const Problem& p, const LinearClassifier& at, double l2) {
  const at::Tensor x = p.x.to(at::kDouble), w = at.weight.to(at::kDouble);
  const at::Tensor g = errors_of(x.matmul(w.t()) + at.bias.to(at::kDouble), p.targets) /
                       static_cast<double>(p.x.size(0));
  const double of_weight = (g.t().matmul(x) + l2 * w).norm().item<double>();
  return std::hypot(of_weight, g.sum(0).norm().item<double>());
}

TEST_CASE("linear: logistic regression ends where the gradient of the whole vanishes") {
  // Wider than a block of the factorisation, badly scaled, one class rare.
  Problem p = overlapping(2500, 90, 6, at::kDouble);
  p.x = p.x * at::arange(1, 91, at::kDouble).pow(-1.5) * 10;
  p.targets = p.targets.masked_fill(p.targets.eq(5), 0);
  p.targets = p.targets.masked_fill(p.targets.eq(4), 1);
  p.targets[7] = 4;
  for (const double l2 : {1e-1, 1e-3}) {
    const LogisticRegression regression(p.x, p.targets, 5);
    const LogisticFit fit = regression.fit({.l2 = l2, .tolerance = 1e-11, .passes = 1000});
    CHECK(fit.passes < 1000);
    CHECK(gradient_norm({p.x, p.targets, 5}, fit.classifier, l2) < 1e-5);
    const at::Tensor scores = p.x.matmul(fit.classifier.weight.t()) + fit.classifier.bias;
    const double squares = fit.classifier.weight.square().sum().item<double>();
    CHECK(fit.objective == Approx(loss_of(scores, p.targets) / 2500 + l2 / 2 * squares));
    const LogisticFit again =
        regression.fit({.l2 = l2, .tolerance = 1e-7, .start = fit.classifier});
    CHECK(again.passes == 1);
    CHECK(largest_difference(again.classifier.weight, fit.classifier.weight) < 1e-10);
  }
  const Problem narrow = {p.x.to(at::kFloat), p.targets, 5};
  const LogisticFit fit =
      LogisticRegression(narrow.x, narrow.targets, 5).fit({.l2 = 1e-3, .tolerance = 1e-8});
  CHECK(gradient_norm(narrow, fit.classifier, 1e-3) < 1e-3);
  // A class that nobody has falls behind for ever; the search does not.
  const LogisticFit empty = LogisticRegression(p.x, p.targets, 8).fit({.l2 = 1e-3});
  CHECK(empty.passes < 60);
  CHECK(gh::ops::linear_scores(p.x, empty.classifier).argmax(1).max().item<int64_t>() < 5);
}

TEST_CASE("linear: fits of some rows are fits of a problem that has no others") {
  const Problem p = overlapping(400, 10, 4, at::kDouble);
  const at::Tensor rows = gh::Random(8).permutation(400).narrow(0, 0, 150).contiguous();
  const LogisticFit some =
      LogisticRegression(p.x, p.targets, 4).fit({.l2 = 0.01, .tolerance = 1e-14, .rows = rows});
  const LogisticFit alone =
      LogisticRegression(p.x.index_select(0, rows), p.targets.index_select(0, rows), 4)
          .fit({.l2 = 0.01, .tolerance = 1e-14});
  CHECK(some.objective == Approx(alone.objective).epsilon(1e-10));
  CHECK(largest_difference(some.classifier.weight, alone.classifier.weight) < 1e-4);
}

TEST_CASE("linear: the chosen l2 follows the scale of features and helps where there is noise") {
  // Few rows of many features, of which two matter, and labels that are often wrong.
  Problem p = {normal({300, 100}, 1, at::kFloat), {}, 2};
  p.targets = (p.x.select(1, 0) + p.x.select(1, 1) + normal({300}, 4)).gt(0).to(at::kLong);
  const at::Tensor test = normal({2000, 100}, 9, at::kFloat);
  const at::Tensor truth = (test.select(1, 0) + test.select(1, 1)).gt(0).to(at::kLong);
  const auto accuracy = [&](const LogisticFit& fit, double scale) {
    const at::Tensor said = gh::ops::linear_scores(test * scale, fit.classifier).argmax(1);
    return said.eq(truth).to(at::kDouble).mean().item<double>();
  };
  const LogisticRegression plain(p.x, p.targets, 2), large(p.x * 4, p.targets, 2);
  const LogisticFit fit = gh::ops::fit_with_chosen_l2(plain, gh::Random(5));
  const LogisticFit scaled = gh::ops::fit_with_chosen_l2(large, gh::Random(5));
  CHECK(scaled.l2 == Approx(16 * fit.l2));
  CHECK(accuracy(scaled, 4) == Approx(accuracy(fit, 1)).margin(0.002));
  CHECK(accuracy(fit, 1) > accuracy(plain.fit({.l2 = 1e-9}), 1) + 0.03);
  const LogisticRegression one(p.x.narrow(0, 0, 1), p.targets.narrow(0, 0, 1), 2);
  CHECK_THROWS_WITH(gh::ops::fit_with_chosen_l2(one, gh::Random(5)), Catch::Contains("2 rows"));
}

TEST_CASE("linear: features that do not vary at all leave the classes' shares") {
  const at::Tensor x = at::full({40, 3}, 2.0, at::kFloat);
  const at::Tensor targets = at::arange(40, at::kLong).remainder(4).gt(0).to(at::kLong);
  const LogisticFit fit =
      gh::ops::fit_with_chosen_l2(LogisticRegression(x, targets, 2), gh::Random(1));
  const at::Tensor scores = gh::ops::linear_scores(x.narrow(0, 0, 1), fit.classifier).softmax(1);
  CHECK(scores[0][1].item<double>() == Approx(0.75).margin(0.01));
}

// ---- threads and refusals ----

TEST_CASE("linear: the number of threads changes no bit") {
  const Problem p = overlapping(3000, 70, 30, at::kFloat);
  const auto results = [&](int threads) {
    Threads now(threads);
    const LinearClassifier start = gh::ops::linear_start(30, 70, at::kFloat, gh::Random(1));
    const LinearClassifier trained = gh::ops::train_linear(
        p.x, p.targets, start, {.l2 = 1e-4, .batch = 700, .rates = {0.1, 0.01}}, [](int64_t epoch) {
          return gh::Random(2, static_cast<uint64_t>(epoch)).permutation(3000);
        });
    const LogisticFit fit =
        gh::ops::fit_with_chosen_l2(LogisticRegression(p.x, p.targets, 30), gh::Random(3));
    return std::vector<at::Tensor>{trained.weight, trained.bias, fit.classifier.weight,
                                   fit.classifier.bias, gh::ops::linear_scores(p.x, trained)};
  };
  const auto one = results(1);
  for (const int threads : {2, 3}) {
    const auto more = results(threads);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].equal(more[i]));
  }
}

TEST_CASE("linear: what cannot be learnt from is refused by name") {
  Problem p = overlapping(300, 5, 3, at::kFloat);
  const LinearClassifier start = gh::ops::linear_start(3, 5, at::kFloat, gh::Random(1));
  const auto train = [&](const at::Tensor& x, const at::Tensor& targets, const at::Tensor& order) {
    return gh::ops::train_linear(x, targets, start, {.batch = 100, .rates = {0.1}},
                                 [&](int64_t) { return order; });
  };
  const at::Tensor all = at::arange(300, at::kLong);
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    at::Tensor bad = p.x.clone();
    bad[210][2] = value;
    bad[250][0] = value;
    CHECK_THROWS_WITH(train(bad, p.targets, all), Catch::Contains("row 210"));
    CHECK_THROWS_WITH(LogisticRegression(bad, p.targets, 3), Catch::Contains("not finite"));
    CHECK_NOTHROW(train(bad, p.targets, all.narrow(0, 0, 200)));
  }
  CHECK_THROWS_WITH(train(p.x, p.targets + 1, all), Catch::Contains("target 3"));
  CHECK_THROWS_WITH(train(p.x, p.targets.narrow(0, 0, 10), all), Catch::Contains("[300] int64"));
  CHECK_THROWS_WITH(train(p.x, p.targets, all + 1), Catch::Contains("row 300"));
  CHECK_THROWS_WITH(train(p.x.to(at::kDouble), p.targets, all), Catch::Contains("like x"));
  CHECK_THROWS_WITH(train(p.x.narrow(1, 0, 4), p.targets, all), Catch::Contains("[classes, 4]"));
  CHECK_THROWS_WITH(gh::ops::linear_scores(p.x[0], start), Catch::Contains("[rows, width]"));
  CHECK_THROWS_WITH(LogisticRegression(p.x, p.targets, 3).fit({.l2 = -1}), Catch::Contains("l2"));
}

}  // namespace
