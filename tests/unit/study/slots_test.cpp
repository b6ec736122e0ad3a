#include "study/slots.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace {

using namespace gh::host;
using Cores = std::vector<int>;

TEST_CASE("a single slot has all cores") {
  const std::vector<RunSlot> slots = make_slots(1, {0, 1, 2}, {});
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].cores.empty());
  CHECK(slots[0].gpu.empty());
}

TEST_CASE("slots get as many cores as each other, and none that another has") {
  const std::vector<RunSlot> slots = make_slots(2, {4, 5, 6, 9, 10}, {});
  CHECK(slots[0].cores == Cores{4, 5});
  CHECK(slots[1].cores == Cores{6, 9});
}

TEST_CASE("more slots than cores share them evenly") {
  std::multiset<int> used;
  for (const RunSlot& slot : make_slots(6, {0, 3}, {})) {
    CHECK(slot.cores.size() == 1);
    used.insert(slot.cores.begin(), slot.cores.end());
  }
  CHECK(used.count(0) == 3);
  CHECK(used.count(3) == 3);
}

TEST_CASE("GPUs go round, under the names that are visible") {
  CHECK(gpu_names(2, nullptr) == std::vector<std::string>{"0", "1"});
  CHECK(gpu_names(2, "3,GPU-7f") == std::vector<std::string>{"3", "GPU-7f"});
  CHECK(gpu_names(0, "").empty());
  const std::vector<RunSlot> slots = make_slots(3, {0, 1, 2}, gpu_names(2, "3,GPU-7f"));
  CHECK(slots[0].gpu == "3");
  CHECK(slots[1].gpu == "GPU-7f");
  CHECK(slots[2].gpu == "3");
}

}  // namespace
