// Plugins beside each other, and what outlives them.
#include "visitor.hpp"

#include "recipe/schema.hpp"

#include <ATen/ops/ones.h>

using namespace gh::host;
using namespace zoo;

namespace {

struct Report final : gh::AssignReport {
  void scalar(std::string_view name, double value) override {
    if (name == "calls") calls = value;
  }
  double calls = 0;
};

}  // namespace

TEST_CASE(
    "two plugins whose insides have the same names do not meet, nor end with their registry") {
  const at::Tensor x = at::ones({2, 3}, at::kDouble).requires_grad_();
  at::Tensor doubled, tripled;
  {
    Registry registry({});
    for (const char* name : {"rival_2", "rival_3"}) {
      const auto error = registry.load(animal(name));
      INFO((error ? error->message : ""));
      REQUIRE(!error);
    }
    const auto params = make_params({}, {});
    const auto two = registry.create<gh::Allocator>("zoo_rival_2", *params);
    const auto three = registry.create<gh::Allocator>("zoo_rival_3", *params);
    Report of_two, of_three;
    gh::AssignRequest request;
    request.logits = x;
    two->assign(request, of_two);
    doubled = two->assign(request, of_two);
    tripled = three->assign(request, of_three);
    CHECK(of_two.calls == 2);
    CHECK(of_three.calls == 1);
  }
  // Components and registry are gone; the graphs that lead through both plugins are not.
  CHECK(doubled.sum().item<double>() == 12);
  CHECK(tripled.sum().item<double>() == 18);
  (doubled.sum() + 10 * tripled.sum()).backward();
  CHECK(x.grad().eq(2 + 10 * 3).all().item<bool>());
}
