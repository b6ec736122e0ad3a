// Linear classifiers on features that are already there: one layer, softmax, cross entropy.
//
//   ops::LinearClassifier start = ops::linear_start(100, 512, at::kFloat, random);
//   ops::LinearClassifier probe = ops::train_linear(
//       x, targets, start, {.l2 = 5e-6, .batch = 1000, .rates = rates},
//       [&](int64_t epoch) { return Random(key, epoch).permutation(x.size(0)); });
//   at::Tensor scores = ops::linear_scores(x_test, probe);                    // [N, C]
//
//   ops::LogisticRegression regression(x, targets, 100);                      // or by its minimum
//   ops::LogisticFit fit = regression.fit({.l2 = 1e-4});
//
// Any thread; calls may overlap. The number of threads changes no bit of a result. All is computed
// on the CPU; results are on the device of `x`. Nothing is differentiated.
//
// Throughout: x [N, D] float32 or float64; targets [N] int64 in 0 … C-1. ErrorCode::shape (also of
// dtypes) and invalid_param name the culprit; numeric names the first row whose loss is not finite.
#pragma once

#include "gh/export.hpp"
#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gh {
inline namespace v1 {
namespace ops {

struct LinearClassifier {
  // [C, D].
  at::Tensor weight;
  // [C].
  at::Tensor bias;
};

// As PyTorch begins a linear layer: uniform in ±1/√D, weight first.
GH_API LinearClassifier linear_start(int64_t classes, int64_t width, at::ScalarType dtype,
                                     Random random);

// x · weightᵀ + bias, [N, C] like x.
GH_API at::Tensor linear_scores(const at::Tensor& x, const LinearClassifier& classifier);

// Values are frozen; new ones are appended.
enum class LinearOptimizer : int {
  adam = 0,  // 0.9, 0.999, 1e-8
  sgd = 1    // with momentum
};

struct LinearTraining {
  LinearOptimizer optimizer = LinearOptimizer::adam;
  // Of LinearOptimizer::sgd.
  double momentum = 0.9;
  // This times weight and bias is added to their gradients.
  double l2 = 0;
  // Rows of a step; the last of an epoch may have fewer.
  int64_t batch = 1000;
  // The learning rate of each epoch; as many epochs are trained.
  std::vector<double> rates;
};

// Minimises the mean cross entropy batch by batch. `order` gives the rows of an epoch: [n] int64,
// taken from the front; `start` has the dtype of x and is not changed.
GH_API LinearClassifier train_linear(const at::Tensor& x, const at::Tensor& targets,
                                     const LinearClassifier& start, const LinearTraining& training,
                                     c10::function_ref<at::Tensor(int64_t epoch)> order);

struct LogisticOptions {
  // Weight of the penalty in the objective of LogisticRegression; ≥ 0.
  double l2 = 0;
  // Ends when a step promises to lower the objective by less than this part of it.
  double tolerance = 3e-4;
  // Passes over the rows, at most.
  int64_t passes = 200;
  // Which to learn from, [n] int64; undefined: all.
  at::Tensor rows = {};
  // Where to begin; undefined: at zeros.
  LinearClassifier start = {};
};

struct LogisticFit {
  LinearClassifier classifier;
  double l2 = 0;
  double objective = 0;
  // Passes over the rows that it took.
  int64_t passes = 0;
};

// Multinomial logistic regression:  mean cross entropy + l2/2 · |weight|²,  bias free. L-BFGS
// (Nocedal 1980) in coordinates that are whitened by the covariance of the features, as it weighs
// where each sample is of a class with the probability of that class: 20 to 50 passes instead of
// hundreds. The covariance [D, D] is found once for all fits.
class GH_API LogisticRegression {
 public:
  // Holds x and targets.
  LogisticRegression(const at::Tensor& x, const at::Tensor& targets, int64_t classes);
  ~LogisticRegression();
  LogisticRegression(const LogisticRegression&) = delete;
  LogisticRegression& operator=(const LogisticRegression&) = delete;

  LogisticFit fit(const LogisticOptions& options) const;
  // The mean curvature of the cross entropy where nothing is learnt yet: an l2 of this size halves
  // the first step. A scale for l2 that follows the scale of x.
  double curvature() const;
  // As given, on the CPU.
  const at::Tensor& x() const;
  const at::Tensor& targets() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Fits all rows with the l2 under which the rest of them tell most of a tenth right, which `random`
// draws: of equal ones the largest. Decades of curvature() are tried from above until one is worse
// than the one before, then half a decade on both sides of the best. `passes` counts all of it. At
// least 2 rows.
GH_API LogisticFit fit_with_chosen_l2(const LogisticRegression& regression, Random random);

}  // namespace ops
}  // namespace v1
}  // namespace gh
