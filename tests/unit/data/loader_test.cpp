#include "data/loader.hpp"
#include "support/fake_data.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using namespace gh::host;
using test::FakeSet;

ViewPlan strong_views(int size) {
  ViewPlan plan = *preset_views("bcl-32", {});
  plan.groups[0].size = size;
  plan.groups[0].blur = {.p = 0.5, .sigma = {0.1, 2.0}};
  plan.groups[0].solarize = {.p = 0.3, .threshold = 128};
  plan.groups[0].cutout = {.p = 0.3, .side = 0.4, .fill = {1, 2, 3}};
  return plan;
}

ViewPlan noisy(double noise) {
  ViewGroup group;
  group.count = 2;
  group.noise = noise;
  return {.groups = {group}};
}

struct Epoch {
  std::vector<at::Tensor> views;
  at::Tensor indices;
};

Epoch all_batches(Loader& loader, EpochPlan plan) {
  loader.begin(std::move(plan));
  std::vector<std::vector<at::Tensor>> views;
  std::vector<at::Tensor> indices;
  while (const auto batch = loader.next()) {
    views.resize(batch->views.size());
    for (std::size_t v = 0; v < views.size(); ++v) views[v].push_back(batch->views[v].clone());
    indices.push_back(batch->indices);
  }
  Epoch out;
  for (const auto& parts : views) out.views.push_back(at::cat(parts));
  if (!indices.empty()) out.indices = at::cat(indices);
  return out;
}

bool same(const Epoch& a, const Epoch& b) {
  bool equal = a.indices.equal(b.indices) && a.views.size() == b.views.size();
  for (std::size_t v = 0; equal && v < a.views.size(); ++v) equal = a.views[v].equal(b.views[v]);
  return equal;
}

EpochPlan pass(int64_t epoch, int64_t n, int64_t batch) {
  return {.epoch = epoch, .order = shuffled_order(7, epoch, n, {}), .batch = batch};
}

TEST_CASE("batches are the same bytes for any number of threads and any depth of prefetch") {
  const FakeSet drawn = test::small_pictures(70), on_disk = test::files(70);
  const auto weights = std::make_shared<const std::vector<float>>(70, 0.7f);
  for (const FakeSet* source : {&drawn, &on_disk}) {
    const SampleSet set = source->samples();
    const ViewPlan plan = strong_views(source == &drawn ? 32 : 48);
    std::optional<Epoch> first;
    for (const auto& [threads, prefetch] : {std::pair{1, 1}, {2, 3}, {4, 1}, {5, 9}}) {
      Loader loader(set, plan, 3, {.threads = threads, .prefetch = prefetch});
      EpochPlan epoch = pass(2, 70, 16);
      epoch.weights = weights;
      const Epoch got = all_batches(loader, epoch);
      CHECK(got.indices.size(0) == 70);
      if (!first) first = got;
      CHECK(same(got, *first));
    }
  }
}

TEST_CASE("views depend on seed, epoch, sample, view and weight, not on the batch they are in") {
  const FakeSet drawn = test::small_pictures(40);
  const SampleSet set = drawn.samples();
  const ViewPlan plan = strong_views(32);
  const auto run = [&](uint64_t seed, int64_t epoch, int64_t batch, float weight) {
    Loader loader(set, plan, seed, {.threads = 2});
    EpochPlan p{.epoch = epoch, .order = at::arange(40, at::kLong), .batch = batch};
    p.weights = std::make_shared<const std::vector<float>>(40, weight);
    return all_batches(loader, p);
  };
  const Epoch base = run(1, 0, 8, 0.5f);
  CHECK(same(base, run(1, 0, 13, 0.5f)));
  CHECK_FALSE(same(base, run(2, 0, 8, 0.5f)));
  CHECK_FALSE(same(base, run(1, 1, 8, 0.5f)));
  CHECK_FALSE(same(base, run(1, 0, 8, 1.0f)));
  CHECK_FALSE(base.views[0].equal(base.views[1]));
}

TEST_CASE("a pass can begin in the middle of an epoch") {
  const FakeSet on_disk = test::files(50);
  const SampleSet set = on_disk.samples();
  const ViewPlan plan = strong_views(32);
  Loader loader(set, plan, 3, {.threads = 2});
  const Epoch whole = all_batches(loader, pass(4, 50, 8));
  EpochPlan later = pass(4, 50, 8);
  later.first_batch = 3;
  const Epoch rest = all_batches(loader, later);
  CHECK(rest.indices.equal(whole.indices.slice(0, 24)));
  CHECK(rest.views[1].equal(whole.views[1].slice(0, 24)));
  later.first_batch = 7;  // past the end
  CHECK_FALSE(all_batches(loader, later).indices.defined());
}

TEST_CASE("ranks share out every batch of the whole") {
  const FakeSet all = test::vectors(53);
  const SampleSet set = all.samples();
  const ViewPlan plan = noisy(0.1);
  const auto run = [&](int64_t rank, int64_t world, bool drop_last) {
    Loader loader(set, plan, 3, {});
    EpochPlan p = pass(0, 53, 12);
    p.rank = rank;
    p.world = world;
    p.drop_last = drop_last;
    return all_batches(loader, p).indices;
  };
  const at::Tensor whole = run(0, 1, false);
  const at::Tensor ranks[3] = {run(0, 3, false), run(1, 3, false), run(2, 3, false)};
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t r = 0; r < 3; ++r)
      CHECK(ranks[r]
                .slice(0, 4 * b, 4 * b + 4)
                .equal(whole.slice(0, 12 * b + 4 * r, 12 * b + 4 * r + 4)));
  // Five are left: one for each rank, two for nobody.
  for (const at::Tensor& rank : ranks) CHECK(rank.size(0) == 17);
  CHECK(run(1, 3, true).size(0) == 16);
  Loader loader(set, plan, 3, {});
  EpochPlan uneven = pass(0, 53, 10);
  uneven.world = 3;
  CHECK_THROWS_WITH(loader.begin(uneven), Catch::Contains("evenly over 3 ranks"));
}

TEST_CASE("an unreadable sample stops the pass with its name, or is replaced and told of") {
  const auto broken = [](int64_t i) { return i == 17 || i == 18 || i == 29; };
  const FakeSet on_disk = test::files(30, broken);
  const SampleSet set = on_disk.samples();
  const ViewPlan plan = strong_views(32);
  for (const int threads : {1, 3}) {
    Loader loader(set, plan, 3, {.threads = threads});
    loader.begin({.order = at::arange(30, at::kLong), .batch = 10});
    CHECK(loader.next().has_value());
    CHECK_THROWS_WITH(loader.next(), Catch::Contains("'train', sample 17: picture-17.png: ") &&
                                         Catch::Contains("loader.on_error = \"skip\"") &&
                                         Catch::Contains("ghhost data check"));
  }
  for (const int threads : {1, 3}) {
    Loader loader(set, plan, 3, {.threads = threads, .skip_unreadable = true});
    loader.begin({.order = at::arange(30, at::kLong), .batch = 10});
    std::vector<std::string> skipped;
    std::vector<int64_t> got;
    while (const auto batch = loader.next()) {
      skipped.insert(skipped.end(), batch->skipped.begin(), batch->skipped.end());
      for (int64_t i = 0; i < batch->indices.size(0); ++i)
        got.push_back(batch->indices[i].item<int64_t>());
    }
    CHECK(skipped.size() == 3);  // 17 tries 18 as well, which counts in its own place
    CHECK((got[17] == 19 && got[18] == 19 && got[29] == 0 && got[16] == 16));
  }
  const FakeSet hopeless = test::files(5, [](int64_t) { return true; });
  const SampleSet nothing = hopeless.samples();
  Loader loader(nothing, plan, 3, {.skip_unreadable = true});
  loader.begin({.order = at::arange(5, at::kLong), .batch = 5});
  CHECK_THROWS_AS(loader.next(), Error);
}

TEST_CASE("what a caller keeps of a batch is not overwritten") {
  const FakeSet drawn = test::small_pictures(64);
  const SampleSet set = drawn.samples();
  const ViewPlan plan = strong_views(32);
  Loader loader(set, plan, 3, {.threads = 2, .prefetch = 1});
  loader.begin({.order = at::arange(64, at::kLong), .batch = 4});
  const at::Tensor kept = loader.next()->views[0].select(0, 1);
  const at::Tensor copy = kept.clone();
  while (loader.next()) {
  }
  CHECK(kept.equal(copy));
}

TEST_CASE("passes follow each other, and queued ones can be forgotten") {
  const FakeSet all = test::vectors(20);
  const SampleSet set = all.samples();
  const ViewPlan plan = noisy(0.1);
  Loader loader(set, plan, 3, {.threads = 3});
  const auto count = [&] {
    int64_t n = 0;
    while (const auto batch = loader.next()) n += batch->indices.size(0);
    return n;
  };
  const auto begins = [&](int64_t epoch) {
    return loader.next()->indices.equal(shuffled_order(7, epoch, 20, {}).slice(0, 0, 6));
  };
  loader.begin(pass(0, 20, 6));
  loader.begin(pass(1, 20, 6));
  CHECK(begins(0));
  CHECK(count() == 14);
  CHECK(begins(1));
  loader.reset();
  CHECK(loader.idle());
  loader.begin(pass(2, 20, 6));
  CHECK(begins(2));
  CHECK(count() == 14);
  CHECK(loader.idle());
  CHECK_THROWS_AS(loader.next(), Error);
}

TEST_CASE("noise on vectors has the standard deviation asked for") {
  FakeSet zeros = test::vectors(20000);
  zeros.give = [](int64_t, SampleSink& sink) { sink.vector(std::vector<float>(3)); };
  const SampleSet set = zeros.samples();
  const ViewPlan plan = noisy(0.3);
  Loader loader(set, plan, 1, {});
  const Epoch epoch = all_batches(loader, pass(0, 20000, 512));
  CHECK(epoch.views[0].std().item<double>() == Approx(0.3).margin(0.005));
  CHECK(epoch.views[0].mean().item<double>() == Approx(0).margin(0.005));
  CHECK_FALSE(epoch.views[0].equal(epoch.views[1]));
}

TEST_CASE("an epoch visits every sample once, in an order of its own") {
  CHECK(std::get<0>(shuffled_order(4, 0, 100, {}).sort()).equal(at::arange(100, at::kLong)));
  CHECK(shuffled_order(4, 0, 100, {}).equal(shuffled_order(4, 0, 100, {})));
  CHECK_FALSE(shuffled_order(4, 0, 100, {}).equal(shuffled_order(4, 1, 100, {})));
  const at::Tensor subset = at::full({2}, 42, at::kLong);
  CHECK(shuffled_order(4, 0, 100, subset).equal(subset));
}

TEST_CASE("bytes normalised by tensor operations equal what the kernels write") {
  const FakeSet drawn = test::small_pictures(6);
  const SampleSet set = drawn.samples();
  ViewPlan plan = *preset_views(
      "simclr-32", {.mean = {0.4914, 0.4822, 0.4465}, .std = {0.2023, 0.1994, 0.2010}});
  const NormalizePlan& normalize = plan.groups[0].normalize;
  ViewMaker floats(set, plan, 5, 1, ViewFormat::floats), bytes(set, plan, 5, 1, ViewFormat::bytes);
  std::vector<float> f(3 * 32 * 32);
  std::vector<uint8_t> b(3 * 32 * 32);
  void* const to_f[] = {f.data()};
  void* const to_b[] = {b.data()};
  floats.make(4, 2, 0, to_f);
  bytes.make(4, 2, 0, to_b);
  const at::Tensor expected =
      normalized(at::from_blob(b.data(), {1, 3, 32, 32}, at::kByte), normalize);
  CHECK(expected.equal(at::from_blob(f.data(), {1, 3, 32, 32}, at::kFloat)));
}

#if !defined(__SANITIZE_ADDRESS__)  // which ends the program at such a request
TEST_CASE("a batch that no memory holds is an error, not the end of the program") {
  const FakeSet drawn = test::small_pictures(20000, 8);
  const SampleSet set = drawn.samples();
  const ViewPlan plan = strong_views(46000);  // more than there are addresses
  Loader loader(set, plan, 3, {.threads = 2});
  loader.begin(pass(0, 20000, 20000));
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("lower train.batch"));
}
#endif

TEST_CASE("views and samples of different kinds are refused") {
  const FakeSet all = test::vectors(4), drawn = test::small_pictures(4);
  const SampleSet vectors = all.samples(), pictures = drawn.samples();
  const ViewPlan strong = strong_views(32), plain = noisy(0);
  CHECK_THROWS_WITH(Loader(vectors, strong, 0, {}), Catch::Contains("are vectors"));
  CHECK_THROWS_WITH(Loader(pictures, plain, 0, {}), Catch::Contains("are pictures"));
}

}  // namespace
