#include "gh/digest.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

namespace {

// FIPS 180-2, appendix B.
TEST_CASE("digests are SHA-256") {
  CHECK(gh::Digest().hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(gh::Digest().add("abc").hex() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  gh::Digest million;
  for (int i = 0; i < 1000; ++i) million.add(std::string(1000, 'a'));
  CHECK(million.hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a digest is read once") {
  gh::Digest digest;
  digest.add("a");
  gh::Digest moved = std::move(digest);
  moved.hex();
  CHECK_THROWS_AS(moved.hex(), gh::Error);
  CHECK_THROWS_AS(moved.add("b"), gh::Error);
}

}  // namespace
