#include "ranks/agreement.hpp"

#include "gh/error.hpp"
#include "ranks/same_state.hpp"
#include "unit/ranks/several.hpp"

#include <catch2/catch.hpp>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <set>

using namespace gh::host;
using namespace gh::host::test;

namespace {

bool nothing(const std::string&) { return false; }

}  // namespace

TEST_CASE("texts of any length reach all ranks in their order") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  const auto text = [](int64_t rank) {
    return std::string(static_cast<size_t>(3 * rank), static_cast<char>('a' + rank));
  };
  const std::vector<std::string> all = ranks->gather_text(text(ranks->rank()));
  REQUIRE(static_cast<int64_t>(all.size()) == ranks->world());
  for (int64_t rank = 0; rank < ranks->world(); ++rank)
    CHECK(all[static_cast<size_t>(rank)] == text(rank));
  CHECK(ranks->gather_text("") ==
        std::vector<std::string>(static_cast<size_t>(ranks->world()), ""));
  ranks->leave();
}

TEST_CASE("ranks learn what they do not have in common, each name once") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  Facts facts{{"lr", "0.1"}, {"seed", "1"}, {"empty", ""}};
  CHECK(disagreements(*ranks, facts).empty());
  const bool last = ranks->rank() + 1 == ranks->world();
  if (last) facts["lr"] = std::string("0.2");
  if (!ranks->first()) facts["harmonize"] = std::string(1, 'x');
  const std::vector<Disagreement> found = disagreements(*ranks, facts);
  REQUIRE(found.size() == 2);
  CHECK(to_text({found[0]}) == "  harmonize: (absent) on rank 0, x on rank 1\n");
  CHECK(found[1].name == "lr");
  CHECK(found[1].first == "0.1");
  CHECK(found[1].other == "0.2");
  CHECK(found[1].rank == ranks->world() - 1);
  ranks->leave();
}

TEST_CASE("state that is another on one rank is named on every rank") {
  if (started_as_ranks({2, 3})) return;
  const auto ranks = join_as_told();
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (uint64_t i = 0; i < 5; ++i)
    tensors.emplace_back("method." + std::to_string(i), normal(i, {7, 9}));
  std::map<std::string, std::string> texts{{"host.names", "loss"}};
  require_same_state(*ranks, tensors, texts, nothing);
  const bool last = ranks->rank() + 1 == ranks->world();
  if (last) tensors[3].second.view({-1})[62].add_(1e-12);
  const std::string expected =
      "the state of rank " + std::to_string(ranks->world() - 1) + " is not that of rank 0: ";
  CHECK_THROWS_WITH(require_same_state(*ranks, tensors, texts, nothing),
                    Catch::StartsWith(expected + "method.3 differs. "));
  if (last) texts["host.names"] = "other";
  CHECK_THROWS_WITH(require_same_state(*ranks, tensors, texts, nothing),
                    Catch::StartsWith(expected + "host.names differs and 1 other. "));
  require_same_state(*ranks, tensors, texts, [](const std::string& name) {
    return name == "method.3" || name == "host.names";
  });
  ranks->leave();
}

TEST_CASE("a digest tells every place, type and shape apart") {
  const at::Tensor zeros = at::zeros({3, 50});
  std::set<uint64_t> seen{fast_digest(zeros), fast_digest(zeros.view({50, 3})),
                          fast_digest(zeros.to(at::kInt)), fast_digest(at::zeros({3, 51}))};
  for (int64_t i = 0; i < zeros.numel(); ++i) {
    const at::Tensor changed = zeros.clone();
    changed.view({-1})[i] = 1;
    seen.insert(fast_digest(changed));
  }
  CHECK(seen.size() == 154);
  // Of what is seen, not of how it lies in memory.
  const at::Tensor numbers = normal(1, {6, 4});
  CHECK(fast_digest(numbers.t().contiguous().t()) == fast_digest(numbers));
}
