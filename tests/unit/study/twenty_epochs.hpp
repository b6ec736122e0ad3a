// A recipe of twenty epochs, and parts for it that nobody makes: tests of what runs share.
#pragma once

#include "recipe/recipe.hpp"

#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace gh::test {

using namespace gh::host;
using gh::Param;
using Overrides = std::vector<std::string>;

inline constexpr Param kMethod[] = {gh::real("temperature", "0.2", "of a softmax")};
inline constexpr Param kAllocator[] = {gh::integer("iterations", "300", "at most")};
inline constexpr Param kPoints[] = {gh::integer("points", "4", "on the sphere")};
inline constexpr Param kEval[] = {gh::integer("k", "20", "neighbours")};

class Parts final : public Catalog {
 public:
  Parts() {
    schemas_ = {{"method", read_schema(kMethod)},
                {"allocator", read_schema(kAllocator)},
                {"other", read_schema(kAllocator)},
                {"points", read_schema(kPoints)},
                {"eval", read_schema(kEval)},
                {"data", {}},
                {"net", {}}};
  }
  Found find(gh_kind, const std::string& id) override {
    const auto found = schemas_.find(id);
    if (found == schemas_.end()) return {nullptr, nullptr, "no " + id};
    return {&found->second, nullptr, ""};
  }

 private:
  std::map<std::string, Schema> schemas_;
};

// Twenty epochs, of which eight are the warm-up. The prior moves in the eighth.
inline constexpr const char* kRecipe = R"(
name = "base"
[data]
id = "data"
[views]
noise = 0.1
[backbone]
id = "net"
[method]
id = "method"
[harmonize]
structure = { id = "points" }
allocator = { id = "allocator" }
warm_up = 8
[train]
epochs = 20
batch = 8
optimizer = { id = "sgd", lr = 0.1 }
schedule = { id = "step", warm_up = 3, milestones = [12, 15] }
[[eval]]
id = "eval"
when = ["end"]
)";

struct TwentyEpochs {
  Parts parts;
  TemporaryDirectory dir;
  std::filesystem::path file = dir.path() / "recipe.toml";

  TwentyEpochs() { std::ofstream(file) << kRecipe; }
  Recipe load(const Overrides& overrides = {}) {
    Diagnostics problems;
    Recipe recipe = load_recipe(file, overrides, parts, problems);
    INFO(problems.text());
    REQUIRE(!problems.has_errors());
    return recipe;
  }
};

}  // namespace gh::test
