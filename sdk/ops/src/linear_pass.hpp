// Batches of a linear classifier on several threads: scores, errors and gradients, in blocks for the
// kernels of linear_kernels.hpp. Every sum runs in an order that depends on shapes alone.
#pragma once

#include "linear_kernels.hpp"

#include "gh/tensor.hpp"

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <vector>

namespace gh {
inline namespace v1 {

// How classes and dims lie in memory: panel after panel [dims][vectors·lanes].
struct LinearLayout {
  LinearLayout(int64_t classes, int64_t width, int64_t lanes, int64_t most_vectors);
  int64_t classes, width;
  int64_t lanes;                 // of a vector
  int64_t dims;                  // width, rounded up to whole blocks of dims
  int64_t all_lanes = 0;         // classes, rounded up to whole vectors
  std::vector<int64_t> vectors;  // of each panel
  std::vector<int64_t> first;    // lane of each panel

  int64_t panels() const { return static_cast<int64_t>(vectors.size()); }
  int64_t size() const { return all_lanes * dims; }
};

// [classes, width] ↔ packed [size()] of the same dtype; lanes and dims without a value are zero.
template <class T>
at::Tensor pack_weight(const LinearLayout& layout, const at::Tensor& weight);
template <class T>
at::Tensor unpack_weight(const LinearLayout& layout, const T* packed);
// [classes] → [all_lanes]; lanes without a class have −∞, so that their softmax is zero.
template <class T>
at::Tensor pack_bias(const LinearLayout& layout, const at::Tensor& bias);

template <class T>
class LinearPass {
 public:
  // x [N, width], contiguous; outlives this. At most `batch` rows at a time.
  LinearPass(const at::Tensor& x, const LinearLayout& layout, int64_t batch,
             const LinearKernels<T>& kernels);

  // The scores of x's `count` rows `rows` (null: `first` and those that follow it).
  struct Rows {
    const int64_t* rows;
    int64_t first, count;
  };
  void scores(const Rows& rows, const T* weight, const T* bias);
  // The same, turned into errors: factor · (softmax − one-hot). Returns the first row of x whose
  // loss is not finite, or −1. `loss`, unless null, gets the sum of the losses.
  int64_t errors(const Rows& rows, const T* weight, const T* bias, const int64_t* targets, T factor,
                 double* loss);
  // x itself, in the place of scores; the layout has as many classes as x is wide.
  void values(const Rows& rows);
  // What scores(), errors() or values() left: out[count][classes].
  void unpack_scores(T* out) const;

  // xᵀ · errors: `weight` is called with pieces [first, first + n) of the packed gradient, `bias`
  // with lanes [first, first + n) of the sums of errors. From any thread, each piece once.
  using Use = c10::function_ref<void(int64_t first, int64_t n, const T* gradient)>;
  void gradient(Use weight, Use bias) const;

 private:
  T* block(int64_t index) const;   // of packed rows
  T* panels(int64_t index) const;  // its scores
  int64_t rows_of(int64_t index) const;
  void load(const Rows& rows, int64_t index);
  void multiply(int64_t index, const T* weight, const T* bias);

  LinearLayout layout_;
  const LinearKernels<T>& kernels_;
  at::Tensor x_, packed_, scores_;
  int64_t count_ = 0;
};

}  // namespace v1
}  // namespace gh
