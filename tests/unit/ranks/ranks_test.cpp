#include "ranks/ranks.hpp"

#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <cstdio>
#include <cstdlib>
#include <set>

using namespace gh::host;
using namespace gh::host::test;
using gh::Random;

TEST_CASE("alone every operation is the identity") {
  const auto ranks = Ranks::alone();
  CHECK(ranks->rank() == 0);
  CHECK(ranks->world() == 1);
  CHECK(ranks->first());
  at::Tensor x = normal(1, {4, 3});
  const at::Tensor before = x.clone();
  CHECK(ranks->all_gather(x).is_same(x));
  CHECK(ranks->all_reduce_sum(x).is_same(x));
  CHECK(at::equal(ranks->shuffle_rows(x, Random(1)), x));
  CHECK(at::equal(ranks->unshuffle_rows(x, Random(1)), x));
  CHECK(ranks->broadcast_text("text") == "text");
  ranks->broadcast(std::span(&x, 1));
  ranks->sum_in_place(x);
  ranks->start_sum(x)();
  ranks->barrier();
  CHECK(at::equal(x, before));
  CHECK(Ranks::join(Launch{}, {})->world() == 1);
}

TEST_CASE("rows are gathered in the order of ranks in any dtype") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const int64_t w = ranks->world();
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                           at::kByte, at::kBool}) {
    const at::Tensor all = (normal(3, {4 * w, 2, 3}) * 50).to(dtype);
    CHECK(at::equal(ranks->all_gather(own_rows(*ranks, all)), all));
  }
  const at::Tensor all = normal(4, {5, 2 * w});
  const at::Tensor transposed = all.t();  // not contiguous
  CHECK(at::equal(ranks->all_gather(own_rows(*ranks, transposed)), transposed));
  CHECK(ranks->all_gather(at::zeros({0, 7})).sizes() == at::IntArrayRef({0, 7}));
  const at::Tensor counted = ranks->all_reduce_sum(at::full({2}, ranks->rank() + 1, at::kLong));
  CHECK(counted[0].item<int64_t>() == w * (w + 1) / 2);
  at::Tensor strided = at::zeros({2, 3}).t();
  strided.fill_(1);
  ranks->sum_in_place(strided);
  CHECK(at::equal(strided, at::full({3, 2}, static_cast<float>(w))));
}

// Each rank's loss uses its own rows against everybody's; what is trained is the mean of the
// losses.
TEST_CASE("gradients through gathering and summing are those of one process") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const int64_t w = ranks->world(), b = 4;
  const at::Tensor all = normal(5, {b * w, 6}), coefficients = normal(6, {b * w, b * w});

  at::Tensor whole = all.clone().requires_grad_(true);
  const at::Tensor moments = whole.t().mm(whole) / (b * w);
  ((whole.mm(whole.t()) * coefficients).tanh().sum(1).mean() + moments.pow(3).sum()).backward();

  at::Tensor own = own_rows(*ranks, all).requires_grad_(true);
  const at::Tensor everybody = ranks->all_gather(own);
  CHECK(everybody.requires_grad());
  const at::Tensor local =
      (own.mm(everybody.t()) * own_rows(*ranks, coefficients)).tanh().sum(1).mean();
  const at::Tensor shared = ranks->all_reduce_sum(own.t().mm(own)) / (b * w);
  CHECK(distance(shared, moments) < 1e-14);
  (local + shared.pow(3).sum()).backward();
  // Parameters would average over ranks; an input row has only this rank.
  CHECK(distance(own.grad() / w, own_rows(*ranks, whole.grad())) < 1e-13);

  CHECK_FALSE(ranks->all_gather(all).requires_grad());
  CHECK_FALSE(ranks->all_gather(own.detach()).requires_grad());
}

TEST_CASE("shuffled rows are a permutation over ranks and come back") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const int64_t w = ranks->world(), b = 8;
  const at::Tensor all = normal(7, {w * b, 3, 2}).to(at::kFloat);
  const at::Tensor own = own_rows(*ranks, all);
  int64_t foreign = 0;
  for (uint64_t key = 0; key < 5; ++key) {
    const at::Tensor shuffled = ranks->shuffle_rows(own, Random(key));
    const at::Tensor permutation = Random(key).permutation(w * b);
    const at::Tensor expected = at::zeros_like(all).index_copy(0, permutation, all);
    CHECK(at::equal(shuffled, own_rows(*ranks, expected)));
    CHECK(at::equal(ranks->unshuffle_rows(shuffled, Random(key)), own));
    for (int64_t row = 0; row < b; ++row)
      foreign += (shuffled[row] == own).flatten(1).all(1).any().item<bool>() ? 0 : 1;
  }
  CHECK(foreign > 5);
  // Strided input, integers, one row a rank.
  const at::Tensor index = at::arange(w * 2, at::kLong).view({2, w}).t();
  const at::Tensor mine = own_rows(*ranks, index);
  CHECK(at::equal(ranks->unshuffle_rows(ranks->shuffle_rows(mine, Random(9)), Random(9)), mine));
}

TEST_CASE("everybody gets the tensors and texts of rank 0") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const auto make = [&](int64_t rank) {
    std::vector<at::Tensor> tensors;
    tensors.push_back(at::full({}, rank + 7, at::kLong));
    tensors.push_back(at::full({3}, rank == 0, at::kBool));
    tensors.push_back((normal(10 + rank, {2, 3}) * 3).to(at::kHalf));
    tensors.push_back(at::zeros({0}));
    tensors.push_back(normal(20 + rank, {4, 5}).t());
    tensors.push_back(at::arange(9 << 20, at::kFloat) + 3 * rank);  // 36 MB
    tensors.push_back(normal(40 + rank, {3}).requires_grad_(true));
    return tensors;
  };
  std::vector<at::Tensor> tensors = make(ranks->rank());
  const std::vector<at::Tensor> expected = make(0);
  ranks->broadcast(tensors);
  for (size_t i = 0; i < tensors.size(); ++i) CHECK(at::equal(tensors[i], expected[i]));
  CHECK(tensors.back().requires_grad());

  const std::string text("a\0b", 3);
  CHECK(ranks->broadcast_text(ranks->first() ? text : "something longer") == text);
  CHECK(ranks->broadcast_text(ranks->first() ? "" : "x").empty());
  ranks->barrier();
}

// For a launcher by hand: torchrun --no-python --nproc-per-node 2 test_ranks "a launched program".
TEST_CASE("a launched program", "[.launched]") {
  const auto variable = [](const char* name) { return std::getenv(name); };
  const Launch launch = read_launch(variable);
  std::printf("%s, attempt \"%s\"\n", describe(launch).c_str(), launch.attempt.c_str());
  RanksPlan plan;
  plan.timeout_seconds = 20;
  const auto ranks = Ranks::join(launch, plan);
  const char* count = std::getenv("TORCHELASTIC_RESTART_COUNT");
  if (std::getenv("GH_FAIL_FIRST") != nullptr && std::string(count) == "0" && ranks->rank() == 1)
    std::_Exit(3);
  const at::Tensor sum = ranks->all_reduce_sum(at::full({1}, ranks->rank() + 1.0, at::kDouble));
  std::printf("rank %ld: sum %g\n", static_cast<long>(ranks->rank()), sum.item<double>());
  CHECK(sum.item<double>() == static_cast<double>(ranks->world() * (ranks->world() + 1)) / 2);
  ranks->barrier();
}
