#include "gh/module.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

namespace {

class Scale : public gh::Layer {
 public:
  explicit Scale(double value, int64_t size = 3) {
    weight_ = add_parameter("weight", at::full({size}, value));
    count_ = add_buffer("count", at::full({}, static_cast<int64_t>(value), at::kLong));
    mean_ = add_buffer("mean", at::full({size}, 10 * value));
  }
  at::Tensor forward(const at::Tensor& x) override { return x * weight_; }
  at::Tensor weight_, count_, mean_;
};

class Tree : public gh::Layer {
 public:
  Tree(double a, double b, double own) {
    left_ = add_child("left", std::make_shared<Scale>(a));
    own_ = add_parameter("own", at::full({2}, own));
    right_ = add_child("right", std::make_shared<gh::Sequential>());
    right_->then(std::make_shared<Scale>(b)).then(std::make_shared<Scale>(b + 1));
  }
  at::Tensor forward(const at::Tensor& x) override { return right_->forward(left_->forward(x)); }
  void add_again(std::string_view name) { add_parameter(name, at::zeros({1})); }
  void add_null() { add_child<Scale>("nothing", nullptr); }

  std::shared_ptr<Scale> left_;
  std::shared_ptr<gh::Sequential> right_;
  at::Tensor own_;
};

std::vector<std::string> names(const std::vector<gh::NamedTensor>& list) {
  std::vector<std::string> out;
  for (const auto& t : list) out.push_back(t.name);
  return out;
}

// As a checkpoint does it, by the rule of gh::State::tensor.
class MapState final : public gh::State {
 public:
  std::map<std::string, at::Tensor> values;
  bool load = false;

  bool loading() const override { return load; }
  void tensor(std::string_view name, at::Tensor& value) override {
    at::NoGradGuard no_grad;
    if (!load) {
      const bool fresh =
          values.emplace(name, value.defined() ? value.detach().clone() : at::Tensor()).second;
      REQUIRE(fresh);
      return;
    }
    const at::Tensor& saved = values.at(std::string(name));
    const bool fits = saved.defined() && value.defined() && saved.sizes() == value.sizes() &&
                      saved.scalar_type() == value.scalar_type();
    if (fits)
      value.detach().copy_(saved);
    else
      value = saved;
  }
  void integer(std::string_view, int64_t&) override {}
  void real(std::string_view, double&) override {}
  void text(std::string_view, std::string&) override {}
};

double first(const at::Tensor& t) { return t.flatten()[0].item<double>(); }

}  // namespace

TEST_CASE("names are dotted; own tensors come first, then children in order") {
  const Tree tree(1, 2, 5);
  CHECK(names(tree.parameters()) ==
        std::vector<std::string>{"own", "left.weight", "right.0.weight", "right.1.weight"});
  CHECK(names(tree.buffers()) == std::vector<std::string>{"left.count", "left.mean",
                                                          "right.0.count", "right.0.mean",
                                                          "right.1.count", "right.1.mean"});
  for (const auto& p : tree.parameters()) CHECK(p.tensor.requires_grad());
  for (const auto& b : tree.buffers()) CHECK_FALSE(b.tensor.requires_grad());
}

TEST_CASE("a module refuses names that would clash and children that are not there") {
  Tree tree(1, 2, 5);
  for (const char* name : {"own", "left", "", "a.b"})
    CHECK_THROWS_AS(tree.add_again(name), gh::Error);
  CHECK_THROWS_AS(tree.add_null(), gh::Error);
  CHECK_NOTHROW(tree.add_again("other"));
}

TEST_CASE("the mode reaches the whole tree") {
  Tree tree(1, 2, 5);
  CHECK(tree.training());
  tree.train(false);
  CHECK_FALSE(tree.training());
  CHECK_FALSE(tree.left_->training());
  CHECK_FALSE(tree.right_->training());
  tree.train();
  CHECK(tree.left_->training());
}

TEST_CASE("sequential applies its layers in order") {
  Tree tree(2, 3, 0);
  CHECK(tree.forward(at::ones({3})).equal(at::full({3}, 2.0 * 3.0 * 4.0)));
}

TEST_CASE("converting to double keeps every handle, the registry and integer buffers") {
  Tree tree(1, 2, 5);
  const at::Tensor outside = tree.parameters()[1].tensor;
  tree.to(at::kCPU, at::kDouble);
  CHECK(outside.scalar_type() == at::kDouble);
  CHECK(outside.is_same(tree.left_->weight_));
  CHECK(tree.left_->mean_.scalar_type() == at::kDouble);
  CHECK(tree.left_->count_.scalar_type() == at::kLong);
  for (const auto& p : tree.parameters()) {
    CHECK(p.tensor.requires_grad());
    CHECK(p.tensor.is_leaf());
  }
  // The gradient arrives in the new dtype at the old handle.
  tree.forward(at::ones({3}, at::kDouble)).sum().backward();
  CHECK(outside.grad().scalar_type() == at::kDouble);
  CHECK(first(outside.grad()) == 6);  // 2 · 3
}

TEST_CASE("requires_grad switches parameters only") {
  Tree tree(1, 2, 5);
  tree.requires_grad(false);
  for (const auto& p : tree.parameters()) CHECK_FALSE(p.tensor.requires_grad());
  CHECK_FALSE(tree.forward(at::ones({3})).requires_grad());
  tree.requires_grad(true);
  CHECK(tree.forward(at::ones({3})).requires_grad());
}

TEST_CASE("copy_from copies values, not handles") {
  Tree to(1, 2, 5);
  const Tree from(7, 8, 9);
  const at::Tensor handle = to.left_->weight_;
  to.copy_from(from);
  CHECK(to.left_->weight_.is_same(handle));
  CHECK(first(handle) == 7);
  CHECK(first(to.own_) == 9);
  CHECK(to.left_->count_.item<int64_t>() == 7);
  CHECK(first(to.right_->buffers()[3].tensor) == 90);
  CHECK(handle.requires_grad());
  {
    at::NoGradGuard no_grad;
    from.left_->weight_.fill_(0);
  }
  CHECK(first(handle) == 7);
}

TEST_CASE("modules that differ cannot be copied or averaged") {
  Tree tree(1, 2, 5);
  Scale small(1, 3), large(1, 4);
  for (const auto attempt : {0, 1, 2, 3}) {
    INFO(attempt);
    const auto run = [&] {
      if (attempt == 0) tree.copy_from(small);
      if (attempt == 1) small.copy_from(large);
      if (attempt == 2) gh::average_into(tree, small, 0.5);
      if (attempt == 3) gh::average_into(small, large, 0.5);
    };
    try {
      run();
      FAIL("accepted");
    } catch (const gh::Error& e) {
      CHECK(e.code() == gh::ErrorCode::shape);
    }
  }
}

TEST_CASE("average_into moves parameters by the momentum and copies buffers") {
  Tree twin(1, 2, 5);
  const Tree online(3, 4, 6);
  gh::average_into(twin, online, 0.75);
  CHECK(first(twin.left_->weight_) == Approx(0.75 * 1 + 0.25 * 3));
  CHECK(first(twin.own_) == Approx(0.75 * 5 + 0.25 * 6));
  CHECK(first(twin.left_->mean_) == 30);
  CHECK(twin.left_->count_.item<int64_t>() == 3);
  CHECK(twin.left_->weight_.is_leaf());
  CHECK(first(online.left_->weight_) == 3);
}

TEST_CASE("a module's state survives saving and loading, in place") {
  Tree saved(1, 2, 5), loaded(0, 0, 0);
  MapState state;
  saved.visit_state(state, "net");
  CHECK(state.values.size() == 10);
  CHECK(state.values.count("net.right.1.mean") == 1);
  CHECK(state.values.count("net.own") == 1);

  const at::Tensor handle = loaded.left_->weight_;
  state.load = true;
  loaded.visit_state(state, "net");
  CHECK(first(handle) == 1);
  CHECK(loaded.left_->count_.item<int64_t>() == 1);
  CHECK(first(loaded.right_->parameters()[1].tensor) == 3);
  CHECK(handle.requires_grad());
}

TEST_CASE("state of another shape or dtype is refused, not skipped") {
  Tree saved(1, 2, 5);
  MapState state;
  saved.visit_state(state, "net");
  state.load = true;
  SECTION("shape") { state.values["net.left.weight"] = at::zeros({4}); }
  SECTION("dtype") { state.values["net.left.weight"] = at::zeros({3}, at::kDouble); }
  SECTION("absent") { state.values["net.left.weight"] = at::Tensor(); }
  CHECK_THROWS_AS(saved.visit_state(state, "net"), gh::Error);
}
