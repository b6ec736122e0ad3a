// No point takes more than its share, every sample has a point, and the closest pairs come first.
#include "gh/testing.hpp"

#include <ATen/ops/tensor.h>

#include <cstdio>

namespace {
struct Quiet final : gh::AssignReport {
  void scalar(std::string_view, double) override {}
} report;
}  // namespace

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);
  const auto allocator = plugins.make<gh::Allocator>("capacity");
  gh::AssignRequest request;
  // All prefer the first point, the third sample most.
  request.logits = at::tensor({0.9, 0.1, 0.8, 0.3, 1.0, 0.0, 0.7, 0.6}).view({4, 2});
  request.indices = at::tensor({0, 1, 2, 3}, at::kLong);
  const auto to = [&](std::initializer_list<double> prior) {
    request.prior = at::tensor(std::vector<double>(prior), at::kDouble);
    return allocator->assign(request, report).argmax(1);
  };
  const bool halves = to({0.5, 0.5}).equal(at::tensor({0, 1, 0, 1}, at::kLong));
  const bool skewed = to({0.75, 0.25}).equal(at::tensor({0, 0, 0, 1}, at::kLong));
  gh::testing::HeardComplaints heard;
  gh::AllocatorFacts facts;
  facts.differentiable = true;
  allocator->check(facts, heard);
  std::printf("halves %d, skewed %d, says %s", halves, skewed, heard.text.c_str());
  return halves && skewed && heard.text.starts_with(".harmonize.targets: ") ? 0 : 1;
}
