#include "gh/interrupt.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

TEST_CASE("a loop that asks is stopped once somebody wants it") {
  gh::set_interrupted(false);
  CHECK_NOTHROW(gh::throw_if_interrupted());
  gh::set_interrupted(true);
  CHECK(gh::interrupted());
  try {
    gh::throw_if_interrupted();
    FAIL("not thrown");
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::interrupted);
    CHECK(gh::name_of(error.code()) == "interrupted");
  }
  gh::set_interrupted(false);
  CHECK_FALSE(gh::interrupted());
}

struct OnlyErrors : gh::Complaints {
  std::string text;
  void add(std::string_view key, std::string_view message) override {
    text += std::string(key) + ": " + std::string(message) + "\n";
  }
};

struct Both : OnlyErrors, gh::Warnings {
  std::string warned;
  void warn(std::string_view key, std::string_view message) override {
    warned += std::string(key) + ": " + std::string(message) + "\n";
  }
};

TEST_CASE("a warning reaches complaints that take them, and is never an error") {
  Both both;
  gh::warn(both, "queue", "longer than an epoch");
  CHECK(both.warned == "queue: longer than an epoch\n");
  CHECK(both.text.empty());
  OnlyErrors deaf;
  gh::warn(deaf, "queue", "longer than an epoch");
  CHECK(deaf.text.empty());
}

}  // namespace
