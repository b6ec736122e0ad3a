// Batches of a linear classifier on several threads: scores and gradients, in blocks for the
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

// The rows of x that a batch has: count of them at `rows`, or from `first` on where it is null.
struct LinearRows {
  const int64_t* rows;
  int64_t first, count;
  int64_t operator[](int64_t i) const { return rows ? rows[i] : first + i; }
};

// A batch is cut into at most kLinearParts parts, which threads take in turn. Each goes forth and
// back through its own rows, which stay in a core's cache meanwhile; then the parts' gradients are
// added in order.
inline constexpr int64_t kLinearParts = 8;

template <class T>
class LinearPass {
 public:
  // x [N, width], contiguous. At most `batch` rows at a time.
  LinearPass(const at::Tensor& x, const LinearLayout& layout, int64_t batch,
             const LinearKernels<T>& kernels);

  // out[count][classes] = x · weightᵀ + bias
  void scores(const LinearRows& rows, const T* weight, const T* bias, T* out) const;

  // `weight` is called with pieces [first, first + n) of a packed gradient, `bias` with lanes
  // [first, first + n) of one; from any thread, each piece once.
  using Take = c10::function_ref<void(int64_t first, int64_t n, const T* gradient)>;
  struct Use {
    Take weight, bias;
  };
  // Of factor · Σ cross entropy. Returns the first row of x whose loss is not finite, or −1; then
  // nothing was called. `loss`, unless null, gets the sum of the losses added.
  int64_t gradient(const LinearRows& rows, const T* weight, const T* bias, const int64_t* targets,
                   T factor, double* loss, const Use& use);
  // Σ xᵀ x, as a gradient; the layout has as many classes as x is wide.
  void squares(const LinearRows& rows, const Use& use);

 private:
  // Where a worker has its packed rows and their scores.
  struct Room {
    T *packed, *scores;
  };
  struct Outcome {
    double loss = 0;
    int64_t bad = -1;
  };
  using Forth = c10::function_ref<Outcome(const LinearRows& block, const T* packed, T* scores)>;

  Room room(int64_t worker) const;
  void pack(const LinearRows& block, T* packed) const;
  void multiply(const T* packed, int64_t rows, const T* weight, const T* bias, T* scores) const;
  Outcome errors(const LinearRows& block, const int64_t* targets, T factor, bool with_loss,
                 T* scores) const;
  void back(const Room& room, int64_t rows, T* sums) const;
  int64_t in_parts(const LinearRows& rows, Forth forth, double* loss, const Use& use);

  LinearLayout layout_;
  const LinearKernels<T>& kernels_;
  at::Tensor x_, rooms_, sums_;
  std::vector<int64_t> place_, step_;  // of a class's score in a block: place + row · step
  int64_t blocks_ = 0;                 // of a part, at most
  int64_t workers_ = 0;
};

}  // namespace v1
}  // namespace gh
