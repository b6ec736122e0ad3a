#include "ranks/gradient_reducer.hpp"

#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace gh::host;
using namespace gh::host::test;

namespace {

constexpr int64_t kParameters = 7;

// The loss of call `call` on `rank`: its gradient for parameter p is a tensor of its own.
at::Tensor gradient(int64_t rank, int64_t step, int64_t call, int64_t p, at::IntArrayRef shape) {
  return normal(static_cast<uint64_t>(((rank * 100 + step) * 100 + call) * 100 + p), shape);
}

std::vector<at::Tensor> make_parameters(at::ScalarType dtype = at::kDouble) {
  std::vector<at::Tensor> parameters;
  for (int64_t p = 0; p < kParameters; ++p)
    parameters.push_back(normal(p, {p + 2, 5}).to(dtype).requires_grad_(true));
  return parameters;
}

void backward(const std::vector<at::Tensor>& parameters, const Ranks& ranks, int64_t step,
              int64_t call, const std::vector<int64_t>& used) {
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const int64_t p : used)
    loss = loss + (parameters[p].to(at::kDouble) *
                   gradient(ranks.rank(), step, call, p, parameters[p].sizes()))
                      .sum();
  loss.backward();
}

// The mean over ranks of what the calls of a step add up to.
at::Tensor expected(const Ranks& ranks, int64_t step, int64_t calls, int64_t p,
                    at::IntArrayRef shape) {
  at::Tensor sum = at::zeros(shape, at::kDouble);
  for (int64_t rank = 0; rank < ranks.world(); ++rank)
    for (int64_t call = 0; call < calls; ++call) sum += gradient(rank, step, call, p, shape);
  return sum / ranks.world();
}

void forget(std::vector<at::Tensor>& parameters) {
  for (at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
}

const std::vector<int64_t> kAll{0, 1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("gradients of several backward passes are averaged in any number of buckets") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  for (const int64_t bucket_bytes : {1, 600, 1 << 20}) {
    std::vector<at::Tensor> parameters = make_parameters();
    GradientReducer reducer(*ranks, parameters, bucket_bytes);
    // Calls a step: steady, then more than was learnt, then fewer, then for long.
    int64_t step = 0;
    for (const int64_t calls : {2, 2, 2, 3, 3, 1, 1, 2, 3, 1}) {
      forget(parameters);
      reducer.begin_step();
      for (int64_t call = 0; call < calls; ++call) backward(parameters, *ranks, step, call, kAll);
      std::vector<double> votes{1.0, ranks->rank() + 0.125};
      reducer.finish(votes);
      for (const int64_t p : kAll)
        CHECK(distance(parameters[p].grad(),
                       expected(*ranks, step, calls, p, parameters[p].sizes())) < 1e-14);
      const double w = static_cast<double>(ranks->world());
      CHECK(votes[0] == w);
      CHECK(votes[1] == w * (w - 1) / 2 + w * 0.125);
      ++step;
    }
    for (int64_t more = 0; more < 40; ++more, ++step) {  // long enough to learn the smaller number
      forget(parameters);
      reducer.begin_step();
      backward(parameters, *ranks, step, 0, kAll);
      reducer.finish({});
      CHECK(distance(parameters[3].grad(), expected(*ranks, step, 1, 3, {5, 5})) < 1e-14);
    }
  }
}

TEST_CASE("a parameter without gradient stays without") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  std::vector<at::Tensor> parameters = make_parameters();
  GradientReducer reducer(*ranks, parameters, 600);
  const std::vector<int64_t> sets[] = {{0, 2, 3}, {0, 2, 3}, {0, 1, 2, 3, 6}, {6}, {}, {0, 5}};
  int64_t step = 0;
  for (const auto& used : sets) {
    forget(parameters);
    reducer.begin_step();
    if (!used.empty()) backward(parameters, *ranks, step, 0, used);
    std::vector<double> votes{1};
    reducer.finish(votes);
    CHECK(votes[0] == 2);
    for (const int64_t p : kAll) {
      const bool had = std::find(used.begin(), used.end(), p) != used.end();
      REQUIRE(parameters[p].grad().defined() == had);
      if (had)
        CHECK(distance(parameters[p].grad(), expected(*ranks, step, 1, p, parameters[p].sizes())) <
              1e-14);
    }
    ++step;
  }
}

TEST_CASE("buckets leave during the backward pass and the last one waits for votes") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  std::vector<at::Tensor> parameters = make_parameters();
  GradientReducer reducer(*ranks, parameters, 1);  // a bucket each
  const auto step = [&](int64_t number, int64_t calls) {
    forget(parameters);
    reducer.begin_step();
    for (int64_t call = 0; call < calls; ++call) backward(parameters, *ranks, number, call, kAll);
  };
  step(0, 1);
  reducer.finish({});
  // Old gradients are views of the memory that is sent.
  std::vector<at::Tensor> sent, before;
  for (const at::Tensor& parameter : parameters) {
    sent.push_back(parameter.grad());
    before.push_back(parameter.grad().clone());
  }
  step(1, 1);
  for (size_t p = 1; p < parameters.size(); ++p) CHECK_FALSE(at::equal(sent[p], before[p]));
  CHECK(at::equal(sent[0], before[0]));
  std::vector<double> votes{1};
  reducer.finish(votes);
  CHECK(parameters[2].grad().is_alias_of(sent[2]));
  // Once two calls a step are known, the first sends nothing.
  step(2, 2);
  reducer.finish({});
  for (size_t p = 0; p < parameters.size(); ++p) before[p] = sent[p].clone();
  forget(parameters);
  reducer.begin_step();
  backward(parameters, *ranks, 3, 0, kAll);
  for (size_t p = 0; p < parameters.size(); ++p) CHECK((p == 0 || at::equal(sent[p], before[p])));
  backward(parameters, *ranks, 3, 1, kAll);
  CHECK_FALSE(at::equal(sent[2], before[2]));
  reducer.finish({});
  CHECK(distance(parameters[2].grad(), expected(*ranks, 3, 2, 2, {4, 5})) < 1e-14);
}

TEST_CASE("a step given up halfway leaves no trace") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  std::vector<at::Tensor> parameters = make_parameters();
  GradientReducer reducer(*ranks, parameters, 600);
  for (int64_t step = 0; step < 4; ++step) {
    forget(parameters);
    reducer.begin_step();
    backward(parameters, *ranks, 50 + step, 0, kAll);
    if (step == 2) reducer.finish({});  // looked at, then discarded
    forget(parameters);
    reducer.begin_step();
    backward(parameters, *ranks, step, 0, kAll);
    reducer.finish({});
    for (const int64_t p : kAll)
      CHECK(distance(parameters[p].grad(), expected(*ranks, step, 1, p, parameters[p].sizes())) <
            1e-14);
  }
}

TEST_CASE("gradients zeroed in place instead of forgotten are right too") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  std::vector<at::Tensor> parameters = make_parameters();
  GradientReducer reducer(*ranks, parameters, 600);
  for (int64_t step = 0; step < 4; ++step) {
    for (at::Tensor& parameter : parameters)
      if (parameter.grad().defined()) parameter.mutable_grad().zero_();
    reducer.begin_step();
    const int64_t calls = step < 3 ? 1 : 2;  // the last step accumulates after sending
    for (int64_t call = 0; call < calls; ++call) backward(parameters, *ranks, step, call, kAll);
    reducer.finish({});
    for (const int64_t p : kAll)
      CHECK(distance(parameters[p].grad(),
                     expected(*ranks, step, calls, p, parameters[p].sizes())) < 1e-14);
  }
}

TEST_CASE("dtypes and layouts mix and votes stay exact") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const at::ScalarType mixes[][3] = {{at::kFloat, at::kDouble, at::kFloat},
                                     {at::kDouble, at::kFloat, at::kBFloat16},
                                     {at::kBFloat16, at::kFloat, at::kDouble},
                                     {at::kHalf, at::kHalf, at::kHalf}};
  for (const auto& mix : mixes) {
    std::vector<at::Tensor> parameters;
    for (int64_t p = 0; p < kParameters; ++p)
      parameters.push_back(normal(p, {4, 5}).to(mix[p % 3]).requires_grad_(true));
    parameters[1] = normal(1, {5, 4}).to(mix[1]).t().detach().requires_grad_(true);
    GradientReducer reducer(*ranks, parameters, 300);
    for (int64_t step = 0; step < 3; ++step) {
      forget(parameters);
      reducer.begin_step();
      backward(parameters, *ranks, step, 0, kAll);
      std::vector<double> votes{1, 1.0 / 3, ranks->rank() == 0 ? 1e-3 : -1e300, 0};
      if (step == 1) votes[3] = std::numeric_limits<double>::quiet_NaN();
      if (step == 2) votes[3] = std::numeric_limits<double>::infinity();
      reducer.finish(votes);
      const double w = static_cast<double>(ranks->world());
      CHECK(votes[0] == w);
      CHECK(votes[1] == (w == 2 ? 1.0 / 3 + 1.0 / 3 : 1.0 / 3 + 1.0 / 3 + 1.0 / 3));
      CHECK(votes[2] == (w - 1) * -1e300);
      CHECK(std::isnan(votes[3]) == (step == 1));
      CHECK(std::isinf(votes[3]) == (step == 2));
      for (const int64_t p : kAll) {
        const at::Tensor& result = parameters[p].grad();
        CHECK(result.scalar_type() == parameters[p].scalar_type());
        CHECK(result.strides() == parameters[p].strides());
        const double bound = result.scalar_type() == at::kDouble  ? 1e-14
                             : result.scalar_type() == at::kFloat ? 1e-6
                                                                  : 0.02;
        CHECK(distance(result, expected(*ranks, step, 1, p, {4, 5})) < bound);
      }
    }
  }
}

TEST_CASE("a reducer without parameters still counts votes and one that is gone leaves no hook") {
  if (started_as_ranks({2})) return;
  const auto ranks = join_as_told();
  std::vector<double> votes{0.5, 2};
  GradientReducer(*ranks, {}).finish(votes);
  CHECK(votes == std::vector<double>{1, 4});
  std::vector<at::Tensor> parameters = make_parameters();
  {
    GradientReducer reducer(*ranks, parameters);
    CHECK_THROWS(GradientReducer(*ranks, parameters));
  }
  backward(parameters, *ranks, 0, 0, kAll);
  const at::Tensor own = gradient(ranks->rank(), 0, 0, 3, parameters[3].sizes());
  CHECK(distance(parameters[3].grad(), own) < 1e-14);
  GradientReducer again(*ranks, parameters);
  ranks->barrier();
}

TEST_CASE("one rank's gradients are left as they are") {
  const auto ranks = Ranks::alone();
  std::vector<at::Tensor> parameters = make_parameters();
  GradientReducer reducer(*ranks, parameters);
  reducer.begin_step();
  backward(parameters, *ranks, 0, 0, {1});
  const at::Tensor before = parameters[1].grad();
  std::vector<double> votes{3};
  reducer.finish(votes);
  CHECK(parameters[1].grad().is_same(before));
  CHECK(votes[0] == 3);
}
