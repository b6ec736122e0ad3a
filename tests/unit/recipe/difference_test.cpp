#include "recipe/difference.hpp"

#include "recipe/diagnostics.hpp"
#include "recipe/toml.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh::host;

Table table(const char* text) {
  Diagnostics problems;
  return *parse_toml(text, "test", problems);
}

TEST_CASE("differences of recipes: changed, added and removed keys, lists of tables by number") {
  const Table was = table("seed = 1\n[a]\nx = 1.0\ny = [1, 2]\n[[e]]\nk = 5\n[[e]]\nk = 6\n");
  const Table is = table("seed = 1\n[a]\nx = 2.0\nz = \"new\"\n[[e]]\nk = 5\n[[e]]\nk = 7\n");
  const auto found = numeric_differences(was, is);
  REQUIRE(found.size() == 4);
  CHECK(to_text(found) ==
        "  a.x: 1.0 → 2.0\n  a.y: [1, 2] → (absent)\n  a.z: (absent) → \"new\"\n  e.1.k: 6 → 7\n");
  CHECK(numeric_differences(was, was).empty());
}

TEST_CASE("differences that change no number are none") {
  const Table was =
      table("name = \"a\"\n[loader]\nthreads = 1\non_error = \"stop\"\n[checkpoint]\nkeep = 1\n");
  const Table is =
      table("name = \"b\"\n[loader]\nthreads = 2\non_error = \"skip\"\n[checkpoint]\nkeep = 3\n");
  const auto found = numeric_differences(was, is);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "loader.on_error");
}

TEST_CASE("the part of a recipe that changes numbers") {
  const Table whole = table(
      "name = \"a\"\nseed = 1\n[loader]\nthreads = 1\n[checkpoint]\nkeep = 1\n"
      "[train]\nbatch = 4\n[[eval]]\nk = 5\n");
  CHECK(to_toml(numeric_part(whole)) ==
        to_toml(table("seed = 1\n[loader]\n[train]\nbatch = 4\n[[eval]]\nk = 5\n")));
}

}  // namespace
