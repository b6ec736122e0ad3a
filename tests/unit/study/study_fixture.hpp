// A directory of recipes and studies, and make-believe components, for the tests of this room.
#pragma once

#include "recipe/toml.hpp"
#include "study/expansion.hpp"
#include "study/study_file.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host::test {

inline constexpr Param kNet[] = {
    gh::integer("width", "64", "of the first stage").at_least(1).in("channels"),
    gh::path("start", nullptr, "weights").optional(),
};
inline constexpr Param kDraws[] = {
    gh::integer("samples", "100", "of the largest class").at_least(1)};
inline constexpr Param kSimclr[] = {gh::real("temperature", "0.2", "softmax temperature").above(0)};
inline constexpr Param kPoints[] = {gh::integer("points", "4", "of the structure").at_least(2)};
inline constexpr Param kKnn[] = {gh::integer("k", "20", "neighbours").at_least(1)};

class Parts final : public Catalog {
 public:
  Parts() {
    schemas_["draws"] = read_schema(kDraws);
    schemas_["net"] = read_schema(kNet);
    schemas_["simclr"] = read_schema(kSimclr);
    schemas_["etf"] = read_schema(kPoints);
    schemas_["learnt"] = read_schema(kPoints);
    schemas_["knn"] = read_schema(kKnn);
    for (const char* id : {"barlow", "sinkhorn", "probe"}) schemas_[id] = {};
  }
  Found find(gh_kind, const std::string& id) override {
    ++lookups;
    const auto found = schemas_.find(id);
    if (found == schemas_.end()) return {nullptr, nullptr, "nobody provides '" + id + "'"};
    return {&found->second, nullptr, ""};
  }
  int lookups = 0;

 private:
  std::map<std::string, Schema> schemas_;
};

inline constexpr const char* kPlain = R"(
[data]
id = "draws"
[views]
noise = 0.1
[backbone]
id = "net"
[method]
id = "simclr"
[train]
epochs = 100
batch = 10
optimizer = { id = "sgd", lr = 0.1 }
[[eval]]
id = "knn"
)";
inline constexpr const char* kGh = R"(
include = ["plain.toml"]
[harmonize]
structure = { id = "etf" }
allocator = { id = "sinkhorn" }
warm_up = 50
)";

struct Studies {
  Parts parts;
  gh::test::TemporaryDirectory dir;

  Studies() {
    dir.write("plain.toml", kPlain);
    dir.write("gh.toml", kGh);
  }

  std::filesystem::path write(const std::string& text) const {
    return dir.write("study.toml", text);
  }

  StudyFile read(const std::string& text) const {
    Diagnostics problems;
    StudyFile study = read_study(write(text), problems);
    INFO(problems.text());
    REQUIRE(!problems.has_errors());
    return study;
  }
  std::vector<StudyRow> rows(const std::string& text, const Scale* scale = nullptr) {
    return rows_of(read(text), scale);
  }
  std::vector<StudyRow> rows_of(const StudyFile& study, const Scale* scale = nullptr) {
    Diagnostics problems;
    std::vector<StudyRow> out = expand(study, parts, scale, problems);
    INFO(problems.text());
    REQUIRE(!problems.has_errors());
    return out;
  }
  // What is wrong with it, reading and expanding.
  std::string mistakes(const std::string& text, std::size_t count, const Scale* scale = nullptr) {
    Diagnostics problems;
    const StudyFile study = read_study(write(text), problems);
    if (!problems.has_errors()) expand(study, parts, scale, problems);
    INFO(problems.text());
    CHECK(problems.error_count() == count);
    return problems.text();
  }
};

inline std::vector<std::string> labels(const std::vector<StudyRow>& rows) {
  std::vector<std::string> out;
  for (const StudyRow& row : rows) out.push_back(row.label);
  return out;
}

inline const std::string kBase = "[base]\nrecipe = \"gh.toml\"\n";

}  // namespace gh::host::test
