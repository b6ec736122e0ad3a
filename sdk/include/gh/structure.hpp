// The contract of a uniform structure: the points on the unit sphere that GH pulls the embedding
// towards.
#pragma once

#include "gh/error.hpp"
#include "gh/params.hpp"
#include "gh/random.hpp"
#include "gh/tensor.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {

// Training thread.
class GH_API Structure {
 public:
  virtual ~Structure();
  // Complains when its parameters cannot be met in `width` dimensions, naming the parameter to
  // change.
  virtual void check(int64_t width, Complaints& out) const;
  // [K, width] float64, unit rows, CPU. A pure function of parameters, width and random. The host
  // computes the certificate (largest and smallest cosine, zero-sum residual) itself.
  virtual at::Tensor points(int64_t width, Random random) const = 0;
  // The smallest largest cosine that any K points in `width` dimensions can have, where it is
  // known; NaN otherwise.
  virtual double best_cosine(int64_t width) const;
  // True: the points are trained along with the network, rows put back on the sphere after each
  // step.
  virtual bool learnable() const;
  virtual void* query(const char* interface_id);
};

}  // namespace v1
}  // namespace gh
