// The oracle is a second Philox4x32-10, written from the paper's description and held against the
// known answers published with Random123.
#include "gh/random.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

namespace {

using Block = std::array<uint32_t, 4>;

Block reference_philox(Block x, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto product0 = static_cast<unsigned __int128>(x[0]) * 0xD2511F53u;
    const auto product1 = static_cast<unsigned __int128>(x[2]) * 0xCD9E8D57u;
    const auto high = [](unsigned __int128 p) { return static_cast<uint32_t>(p >> 32); };
    const auto low = [](unsigned __int128 p) { return static_cast<uint32_t>(p); };
    x = {high(product1) ^ x[1] ^ key[0], low(product1), high(product0) ^ x[3] ^ key[1],
         low(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x;
}

std::vector<uint32_t> draw(gh::Random random, int count) {
  std::vector<uint32_t> out;
  for (int i = 0; i < count; ++i) out.push_back(random.bits32());
  return out;
}

// Pearson's statistic of counts against equal shares.
double chi_square(const std::vector<int64_t>& counts) {
  double total = 0;
  for (const int64_t c : counts) total += static_cast<double>(c);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int64_t c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("the oracle reproduces the published Philox4x32-10 vectors") {
  CHECK(reference_philox({0, 0, 0, 0}, {0, 0}) ==
        Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(reference_philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                         {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(reference_philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is Philox over a block counter, keyed by key and stream number") {
  CHECK(draw(gh::Random(0), 4) ==
        std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint64_t key = 0x0123456789abcdef;
  const uint64_t stream = 0xfedcba9876543210;
  const std::vector<uint32_t> words = draw(gh::Random(key, stream), 4 * 100);
  for (uint32_t block = 0; block < 100; ++block) {
    const Block expected =
        reference_philox({block, 0, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
    REQUIRE(std::equal(expected.begin(), expected.end(), words.begin() + 4 * block));
  }
}

TEST_CASE("what a draw consumes is frozen") {
  gh::Random words(3, 4), random(3, 4);
  const auto next64 = [&] {
    const uint64_t high = words.bits32();
    return high << 32 | words.bits32();
  };
  CHECK(random.bits64() == next64());
  CHECK(random.uniform() == std::ldexp(static_cast<double>(next64() >> 11), -53));
  const double u = std::ldexp(static_cast<double>(next64() >> 11), -53);
  const double v = std::ldexp(static_cast<double>(next64() >> 11), -53);
  const double radius = std::sqrt(-2 * std::log(1 - u));
  CHECK(random.normal() == Approx(radius * std::cos(2 * M_PI * v)).margin(1e-12));
  CHECK(random.normal() == Approx(radius * std::sin(2 * M_PI * v)).margin(1e-12));
  CHECK(random.below(1000) == static_cast<int64_t>(next64() % 1000));
}

TEST_CASE("stream keys are frozen") {
  // Computed with an independent implementation of the same chain of splitmix64 finalisers.
  CHECK(gh::stream_key(0, "") == 0xa706dd2f4d197e6fu);
  CHECK(gh::stream_key(7, "queue") == 0x2ca21fca28889e98u);
  CHECK(gh::stream_key(0xffffffffffffffffu, "views/1") == 0x2d32c0dee97182e7u);
  CHECK(draw(gh::Random(7, 5).fork("queue"), 8) == draw(gh::Random(0x2ca21fca28889e98u, 5), 8));
}

TEST_CASE("stream keys tell names apart") {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 100; ++seed)
    for (const char* name : {"", "a", "b", "ab", "ba", "abc", "queue", "queue1", "queue "})
      keys.insert(gh::stream_key(seed, name));
  CHECK(keys.size() == 900);
  CHECK(gh::stream_key(0, std::string_view("a\0", 2)) != gh::stream_key(0, "a"));
}

TEST_CASE("a stream is the same in any order of creation and on any thread") {
  std::vector<std::vector<uint32_t>> forward(64), backward(64);
  for (uint64_t i = 0; i < 64; ++i) forward[i] = draw(gh::Random(1, i), 33);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&backward, t] {
      for (uint64_t i = 64; i-- > 0;)
        if (i % 4 == t) backward[i] = draw(gh::Random(1, i), 33);
    });
  for (std::thread& t : threads) t.join();
  CHECK(forward == backward);
}

TEST_CASE("a fork does not depend on draws made before, nor do draws on forks") {
  gh::Random fresh(11), used(11);
  for (int i = 0; i < 7; ++i) used.bits32();
  CHECK(draw(fresh.fork("x"), 16) == draw(used.fork("x"), 16));
  CHECK(draw(fresh.fork("x"), 16) != draw(fresh.fork("y"), 16));
  CHECK(draw(fresh.fork("x"), 16) != draw(gh::Random(11), 16));
  CHECK(draw(gh::Random(11, 1).fork("x"), 16) != draw(gh::Random(11, 2).fork("x"), 16));
  gh::Random plain(11);
  for (int i = 0; i < 7; ++i) plain.bits32();
  CHECK(draw(used, 16) == draw(plain, 16));
}

TEST_CASE("sister streams are not correlated") {
  const int n = 20000;
  for (const auto& [a, b] :
       {std::pair(gh::Random(1), gh::Random(2)), std::pair(gh::Random(1, 0), gh::Random(1, 1)),
        std::pair(gh::Random(1).fork("a"), gh::Random(1).fork("b"))}) {
    gh::Random x = a, y = b;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x.normal() * y.normal();
    CHECK(std::abs(sum / n) < 4 / std::sqrt(n));  // four standard errors
  }
}

TEST_CASE("below is even, and stays in range at both ends") {
  gh::Random random(5);
  std::vector<int64_t> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[static_cast<std::size_t>(random.below(7))];
  CHECK(chi_square(counts) < 22.5);  // 99.9 % of six degrees of freedom

  for (int i = 0; i < 10; ++i) CHECK(random.below(1) == 0);
  CHECK_THROWS_AS(random.below(0), gh::Error);
  CHECK_THROWS_AS(random.below(-3), gh::Error);
}

TEST_CASE("below rejects instead of folding the uneven end") {
  // With n = 3/4 of 2^63, a plain remainder of 64 bits would give the first third 50 % more often
  // than the rest.
  const int64_t n = (int64_t{1} << 62) + (int64_t{1} << 61);
  gh::Random random(6);
  std::vector<int64_t> thirds(3);
  for (int i = 0; i < 30000; ++i) {
    const int64_t x = random.below(n);
    REQUIRE(x >= 0);
    REQUIRE(x < n);
    ++thirds[static_cast<std::size_t>(x / (n / 3))];
  }
  CHECK(chi_square(thirds) < 13.9);  // 99.9 % of two degrees of freedom
}

TEST_CASE("uniform covers [0, 1) evenly") {
  gh::Random random(8);
  std::vector<int64_t> bins(16);
  for (int i = 0; i < 64000; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    ++bins[static_cast<std::size_t>(16 * u)];
  }
  CHECK(chi_square(bins) < 37.7);  // 99.9 % of fifteen degrees of freedom
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform(-2, 3);
    REQUIRE(u >= -2);
    REQUIRE(u < 3);
  }
}

TEST_CASE("normal has the moments of a Gaussian") {
  gh::Random random(9);
  const int n = 200000;
  double moments[5] = {};
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / n;
  }
  // Five standard errors each; var(x^k) = 1, 2, 15, 96.
  CHECK(std::abs(moments[1]) < 5 * std::sqrt(1.0 / n));
  CHECK(std::abs(moments[2] - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(moments[3]) < 5 * std::sqrt(15.0 / n));
  CHECK(std::abs(moments[4] - 3) < 5 * std::sqrt(96.0 / n));
}

TEST_CASE("permutation is one, every arrangement as likely as another") {
  gh::Random random(10);
  std::vector<int64_t> counts(6);
  for (int i = 0; i < 12000; ++i) {
    const at::Tensor p = random.permutation(3);
    REQUIRE(p.scalar_type() == at::kLong);
    const int64_t* x = p.data_ptr<int64_t>();
    REQUIRE(std::set<int64_t>(x, x + 3) == std::set<int64_t>{0, 1, 2});
    ++counts[static_cast<std::size_t>(2 * x[0] + (x[1] > x[2]))];
  }
  CHECK(chi_square(counts) < 20.6);  // 99.9 % of five degrees of freedom
  CHECK(random.permutation(0).numel() == 0);
  CHECK(random.permutation(1).item<int64_t>() == 0);
}

TEST_CASE("filling follows the stream in row-major order for any layout and dtype") {
  const at::Tensor flat = at::empty({12}, at::kDouble);
  gh::Random(12).fill_normal(flat, 0, 1);
  gh::Random one_by_one(12);
  for (int64_t i = 0; i < 12; ++i) REQUIRE(flat[i].item<double>() == one_by_one.normal());

  const at::Tensor transposed = at::zeros({4, 3}, at::kFloat).t();
  gh::Random(12).fill_normal(transposed, 0, 1);
  CHECK(transposed.flatten().allclose(flat.to(at::kFloat)));

  at::Tensor leaf = at::zeros({5});
  leaf.set_requires_grad(true);
  gh::Random(13).fill_uniform(leaf, 2, 3);
  CHECK(leaf.is_leaf());
  CHECK(leaf.min().item<float>() >= 2);
  CHECK(leaf.max().item<float>() <= 3);
}

TEST_CASE("a LibTorch generator is a function of the stream alone") {
  gh::Random used(14);
  used.bits32();
  const at::Tensor a = at::randn({8}, gh::Random(14).generator());
  CHECK(a.equal(at::randn({8}, used.generator())));
  CHECK(!a.equal(at::randn({8}, gh::Random(15).generator())));
}
