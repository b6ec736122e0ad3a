#include "study/data_facts.hpp"

#include "study_fixture.hpp"

#include "gh/error.hpp"

#include <filesystem>
#include <fstream>

namespace {

using namespace gh::host;
using namespace gh::host::test;
using Catch::Matchers::Contains;

struct Facts {
  Studies s;
  int reads = 0;

  Recipe recipe(const std::string& overrides = "") {
    return s.rows(kBase + "overrides = [" + overrides + "]\n")[0].recipe;
  }
  std::filesystem::path file() const { return s.dir / "data.json"; }
  ReadData reader() {
    return [this](const Recipe& r) -> DataFact {
      ++reads;
      return {"fingerprint " + std::to_string(r.integer("data.samples")),
              r.integer("data.samples")};
    };
  }
};

TEST_CASE("data are read once for each table, whatever else a recipe has, and never again") {
  Facts f;
  {
    DataFacts facts(f.file(), f.reader());
    CHECK(facts.of(f.recipe()).fingerprint == "fingerprint 100");
    CHECK(facts.of(f.recipe("'seed=3', 'train.batch=5'")).samples == 100);
    CHECK(f.reads == 1);
    CHECK(facts.of(f.recipe("'data.samples=7'")).samples == 7);
    CHECK(f.reads == 2);
    facts.save();
  }
  DataFacts again(f.file(), f.reader());
  CHECK(again.of(f.recipe()).fingerprint == "fingerprint 100");
  CHECK(again.of(f.recipe("'data.samples=7'")).samples == 7);
  CHECK(f.reads == 2);
}

TEST_CASE("what is damaged is read anew") {
  Facts f;
  for (const char* text : {"", "[]", "{\"a\": 3}", "{\"a\": {\"stamp\": 3}}"}) {
    f.s.dir.write("data.json", text);
    DataFacts facts(f.file(), f.reader());
    CHECK(facts.of(f.recipe()).samples == 100);
  }
  CHECK(f.reads == 4);
}

TEST_CASE("a file that a recipe names counts by its content, wherever its time goes") {
  Facts f;
  const auto weights = f.s.dir.write("weights", "first");
  const auto fingerprint = [&] {
    DataFacts facts(f.file(), f.reader());
    const std::string out = facts.of(f.recipe("'+backbone.start=weights'")).fingerprint;
    facts.save();
    return out;
  };
  const std::string first = fingerprint();
  CHECK(first != "fingerprint 100");
  f.s.dir.write("weights", "other");
  std::filesystem::last_write_time(
      weights, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(10));
  CHECK(fingerprint() != first);
  f.s.dir.write("weights", "first");
  std::filesystem::last_write_time(
      weights, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(20));
  CHECK(fingerprint() == first);
}

TEST_CASE("what is not there is told by its key, and asked for once") {
  Facts f;
  DataFacts facts(f.file(), f.reader());
  CHECK_THROWS_WITH(facts.of(f.recipe("'+backbone.start=gone'")),
                    Contains("backbone.start: ") && Contains("gone is not there"));
  int reads = 0;
  DataFacts missing(f.file(), [&](const Recipe&) -> DataFact {
    ++reads;
    gh::fail(gh::ErrorCode::missing_data, "no pictures");
  });
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(missing.of(f.recipe()), Contains("no pictures"));
  CHECK(reads == 1);
}

}  // namespace
