// What the operators of linear_classifier.hpp ask of their tensors.
#pragma once

#include "gh/ops/linear_classifier.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

// [rows, width], not empty, float32 or float64.
void check_linear_rows(const at::Tensor& x);
// [rows] int64 in 0 … classes-1.
void check_linear_targets(const at::Tensor& targets, const at::Tensor& x, int64_t classes);
// weight [C, D] and bias [C] with the dtype of x.
void check_linear_classifier(const ops::LinearClassifier& classifier, const at::Tensor& x);
// [n] int64 in 0 … rows-1, not empty.
void check_linear_order(const at::Tensor& order, int64_t rows);
[[noreturn]] void fail_linear_row(int64_t row);

}  // namespace v1
}  // namespace gh
