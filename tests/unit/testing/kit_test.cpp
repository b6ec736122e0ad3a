// The test kit, through its library.
#include "support/places.hpp"

#include "gh/testing.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace gh;
using namespace gh::testing;

RunFacts facts() {
  RunFacts out;
  out.view_shapes = {{3, 8, 8}};
  return out;
}

TEST_CASE("collectives of several ranks meet, and gradients come back to the own rows") {
  RankHosts ranks(facts(), 3);
  std::vector<at::Tensor> sums(3), rows(3), slopes(3);
  const auto thrown = ranks.run([&](int rank) {
    FakeHost& host = ranks.host(rank);
    at::Tensor own = at::full({2}, rank + 1.0).requires_grad_(true);
    sums[rank] = host.all_reduce_sum(own);
    rows[rank] = host.unshuffle_rows(host.shuffle_rows(own.detach()));
    (sums[rank].sum() + host.all_gather(own).sum()).backward();
    slopes[rank] = own.grad();
  });
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(ranks.host(rank).facts().world == 3);
    CHECK(thrown[rank] == nullptr);
    CHECK(sums[rank].equal(at::full({2}, 6.0)));
    CHECK(rows[rank].equal(at::full({2}, rank + 1.0)));
    CHECK(slopes[rank].equal(at::full({2}, 2.0)));
  }
}

TEST_CASE("a rank that asks for something else, or leaves, stops the others") {
  for (const bool leaves : {true, false}) {
    RankHosts ranks(facts());
    const auto thrown = ranks.run([&](int rank) {
      if (rank == 0)
        ranks.host(0).all_gather(at::full({1}, 1.0));
      else if (!leaves)
        ranks.host(1).all_reduce_sum(at::full({1}, 1.0));
    });
    REQUIRE(thrown[0] != nullptr);
    CHECK((thrown[1] == nullptr) == leaves);
    CHECK_THROWS_WITH(
        std::rethrow_exception(thrown[0]),
        Catch::Contains("same collectives") && Catch::Contains("all_gather of Float [1]"));
  }
}

TEST_CASE("components come by id, with parameters that are checked as a recipe's are") {
  Plugins plugins((test::build_dir() / "lib/ghhost/plugins").string());
  CHECK(plugins.make<Structure>("cross_polytope", "points = 4")->points(2, Random(1)).size(1) == 2);
  CHECK_THROWS_WITH(plugins.make<SslMethod>("simclr", "temperature = -1"),
                    Catch::Contains("temperature") && Catch::Contains("> 0"));
  CHECK_THROWS_WITH(plugins.make<SslMethod>("simclr", "temprature = 1"),
                    Catch::Contains("temprature") && Catch::Contains("temperature"));
  CHECK_THROWS_AS(plugins.make<SslMethod>("simclear"), Error);
}

TEST_CASE("vectors have tensors by name and numbers by key") {
  const auto file = test::source_dir() / "tests/vectors/gh_ntxent.safetensors";
  const Vectors vectors = read_vectors(file.string());
  CHECK(!vectors.tensors.empty());
  CHECK(vectors.at(vectors.tensors.begin()->first).defined());
  CHECK_THROWS_WITH(vectors.at("nothing"), Catch::Contains("no tensor nothing"));
  CHECK_THROWS_WITH(vectors.number("nothing"), Catch::Contains("no nothing"));
}

TEST_CASE("tiny pictures are the same for the same seed and tell their class") {
  const TinyPictures set(8, 8);
  const at::Tensor x = set.batch();
  CHECK(x.equal(set.batch()));
  CHECK_FALSE(x.equal(set.batch("test")));
  // Class c is bright in its quarter of the rows.
  for (int64_t i = 0; i < 8; ++i)
    CHECK(x[i].mean(std::vector<int64_t>{0, 2}).view({4, 2}).mean(1).argmax().item<int64_t>() ==
          i % TinyPictures::kClasses);
}

TEST_CASE("a slope that is wrong is seen") {
  at::Tensor x = leaf(at::tensor({1.0, 2.0}), at::kDouble);
  x.square().sum().backward();
  const auto loss = [&] { return x.detach().square().sum().item<double>(); };
  CHECK(slope_error({x}, loss) < 1e-6);
  x.mutable_grad()[1] += 0.5;
  CHECK(slope_error({x}, loss) == Approx(0.5));
}

}  // namespace
