// How well two labelings of the same samples agree: clusters and classes, surrogate labels and
// true ones.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>

namespace gh {
inline namespace v1 {
namespace ops {

struct Agreement {
  // How many were compared.
  int64_t samples = 0;
  // In nats.
  double mutual_information = 0;
  // Mutual information over the arithmetic or geometric mean of both entropies; 1 when both
  // labelings are constant, 0 when there is no information otherwise.
  double nmi_arithmetic = 0, nmi_geometric = 0;
  // Share of samples whose class is the commonest one of their cluster.
  double purity = 0;
};

// `clusters` and `classes` [n] int64, any device. Samples with a negative label on either side are
// left out. Throws Error shape when lengths or dtypes differ from that. Any thread.
GH_API Agreement agreement(const at::Tensor& clusters, const at::Tensor& classes);

}  // namespace ops
}  // namespace v1
}  // namespace gh
