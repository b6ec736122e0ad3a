#include "plugins/component_trials.hpp"

#include "gh/two_view.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/softmax.h>

#include <catch2/catch.hpp>

#include <map>

namespace {

using namespace gh;
using namespace gh::host;

class GivenParams final : public Params {
 public:
  bool has(std::string_view) const override { return true; }
  bool boolean(std::string_view) const override { return false; }
  int64_t integer(std::string_view) const override { return 8; }
  double real(std::string_view) const override { return 1; }
  std::string_view text(std::string_view) const override { return "mlp"; }
  std::span<const int64_t> integers(std::string_view) const override { return {}; }
  std::span<const double> reals(std::string_view) const override { return {}; }
  std::span<const std::string_view> texts(std::string_view) const override { return {}; }
  const Params& table(std::string_view) const override { return *this; }
};

template <class Interface, class T, class... Arguments>
ComponentPtr<Interface> made(const Arguments&... arguments) {
  return ComponentPtr<Interface>(new T(arguments...),
                                 {[](void* object) { delete static_cast<Interface*>(object); }});
}

class Plain : public TwoViewMethod {
 public:
  Plain() : TwoViewMethod(GivenParams()) {}
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    return (z1 - z2).pow(2).sum(1);
  }
};

class Silent : public Plain {
 public:
  void step(const Batch& batch, Step& step) override {
    host().log("apart", 1);
    step.backward(losses(embed(batch.views[0]), embed(batch.views[1])).mean());
  }
};

// Projects in its first stage, not in its second, where it logs something else.
class Two final : public Silent {
 public:
  void plan_stages(const RunFacts&, Stages& out) const override {
    out.add("a", 3);
    out.add("b", 2);
  }
  void step(const Batch& batch, Step& step) override {
    if (host().progress().stage == "a") return Plain::step(batch, step);
    Silent::step(batch, step);
  }
};

class Failing final : public Plain {
 public:
  void build(Host&) override { fail(ErrorCode::out_of_memory, "no"); }
};

RunFacts two_vectors() {
  RunFacts facts;
  facts.samples = 1 << 20;
  facts.batch = 512;
  facts.epochs = 2;
  facts.view_shapes = {{2}, {2}};
  return facts;
}

TEST_CASE("a method is seen to project, and what it logs, without the run's data") {
  const auto plain = observe_method([] { return made<SslMethod, Plain>(); }, two_vectors(), 0);
  REQUIRE(plain);
  CHECK(plain->projects);
  CHECK(plain->logged.contains("loss_base"));
  const auto silent = observe_method([] { return made<SslMethod, Silent>(); }, two_vectors(), 0);
  REQUIRE(silent);
  CHECK_FALSE(silent->projects);
  CHECK(silent->logged == std::set<std::string, std::less<>>{"apart"});
}

TEST_CASE("every stage of a method is tried; one that fails says nothing") {
  const auto two = observe_method([] { return made<SslMethod, Two>(); }, two_vectors(), 0);
  REQUIRE(two);
  CHECK_FALSE(two->projects);
  CHECK(two->logged == std::set<std::string, std::less<>>{"alignment", "apart", "effective_rank",
                                                          "loss_base", "uniformity", "unit_std"});
  CHECK_FALSE(observe_method([] { return made<SslMethod, Failing>(); }, two_vectors(), 0));
}

struct Soft : Allocator {
  at::Tensor assign(const AssignRequest& request, AssignReport&) override {
    return at::softmax(request.logits, 1);
  }
};
struct Constant : Allocator {
  at::Tensor assign(const AssignRequest& request, AssignReport&) override {
    return at::full(request.logits.sizes(), 0.25);
  }
};
struct Refusing : Allocator {
  at::Tensor assign(const AssignRequest& request, AssignReport&) override {
    require(!request.differentiable, ErrorCode::unsupported, "no");
    return request.logits;
  }
};
struct Broken : Allocator {
  at::Tensor assign(const AssignRequest&, AssignReport&) override {
    fail(ErrorCode::internal, "no");
  }
};

TEST_CASE("an allocator is seen to give gradients, or not, or not to tell") {
  AllocatorFacts facts;
  facts.points = 4;
  CHECK(gives_gradients([] { return made<Allocator, Soft>(); }, facts, 0) == true);
  CHECK(gives_gradients([] { return made<Allocator, Constant>(); }, facts, 0) == false);
  CHECK(gives_gradients([] { return made<Allocator, Refusing>(); }, facts, 0) == false);
  CHECK_FALSE(gives_gradients([] { return made<Allocator, Broken>(); }, facts, 0).has_value());
}

}  // namespace
