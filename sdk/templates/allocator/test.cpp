// @NAME@: where all logits are the same, targets are the prior.
#include "gh/testing.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cstdio>

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);  // the built library
  const auto allocator = plugins.make<gh::Allocator>("@NAME@");
  struct Quiet final : gh::AssignReport {
    void scalar(std::string_view, double) override {}
  } report;
  gh::AssignRequest request;
  request.logits = at::zeros({5, 3}, at::kDouble);
  request.prior = at::tensor({0.5, 0.3, 0.2}, at::kDouble);
  request.indices = at::arange(5, at::kLong);
  const at::Tensor targets = allocator->assign(request, report);
  const double off = (targets - request.prior).abs().max().item<double>();
  std::printf("off by %.2g\n", off);
  return off < 1e-9 ? 0 : 1;
}
