// Products of transformed data and weights, the part of Winograd's loops that most of the time is
// spent in.
#pragma once

#include "winograd_transforms.hpp"

namespace gh {
inline namespace v1 {
namespace {

// kCount rows of kPanels panels of 16 sums.
template <int kCount, int kPanels>
struct Sums : HeldSums<kCount, kPanels * kParts> {
  static constexpr int kVectors = kPanels * kParts;
  using HeldSums<kCount, kVectors>::sum;

  // Adds left[i · step] · right[16] to row i, for each panel of the right ones.
  GH_INLINE void multiply(const float* left, int64_t step, const float* right, int64_t panel) {
    Vector r[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) r[j] = load(right + place(j, panel));
    HeldSums<kCount, kVectors>::multiply([&](int i) { return left[i * step]; }, r);
  }
  GH_INLINE void finish(float* to, int64_t panel, bool add) {
    if (add) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j)
          sum[i][j] = sum[i][j] + load(to + i * kPanel + place(j, panel));
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) store(to + i * kPanel + place(j, panel), sum[i][j]);
  }
  static GH_INLINE int64_t place(int j, int64_t panel) {
    return j / kParts * panel + j % kParts * kLanes;
  }
};

// The weights of so many panels of inputs, 16 KB a panel of outputs, stay in the first cache.
constexpr int64_t kDepth = 16;

// From the panel of inputs `first` on, and of the outputs that the pointers begin at.
template <int kCount, int kPanels>
__attribute__((noinline)) void product_rows(const Product& p, const float* weights, int64_t first,
                                            int64_t tile, float* products) {
  Sums<kCount, kPanels> sums;
  const float* a = p.data + first * p.panel + tile * kPanel;
  const float* b = weights + first * kPanel * kPanel;
  for (int64_t last = least(p.panels, first + kDepth), i = first; i < last; ++i) {
#pragma GCC unroll 4
    for (int k = 0; k < kPanel; ++k) sums.multiply(a + k, kPanel, b + k * kPanel, p.weight_panel);
    a += p.panel;
    b += kPanel * kPanel;
  }
  sums.finish(products + tile * kPanel, p.product_panel, first > 0);
}

using ProductRows = void (*)(const Product&, const float*, int64_t, int64_t, float*);
template <int kPanels>
constexpr ProductRows kProductRows[] = {
    nullptr,
    product_rows<1, kPanels>,
    product_rows<2, kPanels>,
    product_rows<3, kPanels>,
    product_rows<4, kPanels>,
    product_rows<5, kPanels>,
    product_rows<6, kPanels>,
#if defined(__AVX512F__)
    product_rows<7, kPanels>,
    product_rows<8, kPanels>,
    product_rows<9, kPanels>,
    product_rows<10, kPanels>,
    product_rows<11, kPanels>,
    product_rows<12, kPanels>,
    product_rows<13, kPanels>,
    product_rows<14, kPanels>,
#endif
};

template <int kPanels>
void product_of(const Product& p, const float* weights, float* products) {
  const int64_t cuts = (p.tiles + kRows - 1) / kRows, rows = p.tiles / cuts, more = p.tiles % cuts;
  for (int64_t first = 0; first < p.panels; first += kDepth)
    for (int64_t i = 0, tile = 0; i < cuts; ++i) {
      const int64_t count = rows + (i < more ? 1 : 0);
      kProductRows<kPanels>[count](p, weights, first, tile, products);
      tile += count;
    }
}

// With one panel of AVX-512 a row is one vector, and each product would be a load, of which there
// can be no more than products: with two panels there are half as many.
constexpr int kTogether = 2 / kParts;

void product(const Product& p) {
  int64_t out = 0;
  for (; out + kTogether <= p.outputs; out += kTogether)
    product_of<kTogether>(p, p.weights + out * p.weight_panel, p.products + out * p.product_panel);
  if (out < p.outputs)
    product_of<1>(p, p.weights + out * p.weight_panel, p.products + out * p.product_panel);
}

template <int kCount, int kPanels>
__attribute__((noinline)) void outer_rows(const OuterProduct& p, int64_t panel, int first) {
  Sums<kCount, kPanels> sums;
  const float* const z = p.gradients + first;
  const float* const v = p.data + panel * p.panel;
  for (int64_t t = 0; t < p.tiles; ++t) sums.multiply(z + t * kPanel, 1, v + t * kPanel, p.panel);
  sums.finish(p.sums + (panel * kPanel + first) * kPanel, kPanel * kPanel, p.add);
}

void outer_product(const OuterProduct& p) {
  int64_t panel = 0;
#if defined(__AVX512F__)
  for (; panel + 2 <= p.panels; panel += 2) {
    outer_rows<8, 2>(p, panel, 0);
    outer_rows<8, 2>(p, panel, 8);
  }
  if (panel < p.panels) outer_rows<16, 1>(p, panel, 0);
#else
  for (; panel < p.panels; ++panel) {
    outer_rows<6, 1>(p, panel, 0);
    outer_rows<5, 1>(p, panel, 6);
    outer_rows<5, 1>(p, panel, 11);
  }
#endif
}

}  // namespace
}  // namespace v1
}  // namespace gh
