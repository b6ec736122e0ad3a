// `plugins info` and `plugins check` on well-behaved, unruly and deadly plugins.
#include "visitor.hpp"

#include "plugins/inspect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace gh::host;
using namespace zoo;
using Code = PluginErrorCode;
using Catch::Contains;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

SearchPath zoo_path(const std::string& name) { return {{{animal(name), "--plugin"}}, {}}; }

}  // namespace

TEST_CASE("a well-behaved plugin keeps its contracts") {
  const PluginReport report = inspect_in_child({}, animal("good").string(), InspectDepth::check);
  INFO(report.text);
  CHECK(report.ok());
  CHECK(report.violations.empty());
  const std::string remarks = joined(report.remarks);
  CHECK_THAT(remarks, Contains("dataset/zoo_needy: create: not constructed: it needs root"));
  CHECK_THAT(
      remarks,
      Contains("dataset/zoo_count: open(absent): data not present: fetch it from the zoo shop"));
  CHECK(report.remarks.size() == 2);
  CHECK_THAT(report.text, Contains("keeps its contracts"));
}

TEST_CASE("every broken contract is found") {
  const PluginReport report = inspect_in_child({}, animal("unruly").string(), InspectDepth::check);
  INFO(report.text);
  REQUIRE(report.error);
  CHECK(report.error->code == Code::conformance);
  const std::string found = joined(report.violations);
  CHECK_THAT(found, Contains("structure/zoo_long: points(2): expected unit rows"));
  CHECK_THAT(
      found,
      Contains("structure/zoo_whim: points(2): expected the same points for the same Random"));
  CHECK_THAT(found,
             Contains("allocator/zoo_greedy: assign with no prior: expected rows that sum to 1"));
  CHECK_THAT(
      found,
      Contains("allocator/zoo_greedy: assign with prior with zeros: expected finite targets"));
  CHECK_THAT(found,
             Contains("backbone/zoo_wide: make([2]): expected Float [4, 3], found Float [4, 2]"));
  CHECK_THAT(found,
             Contains("dataset/zoo_drift: train: expected targets Long [3], found Long [2]"));
  CHECK_THAT(found, Contains("dataset/zoo_drift: train: expected exactly one sample 0, found 2"));
  CHECK_THAT(found, Contains("dataset/zoo_drift: train: expected a fingerprint, found none"));
  CHECK_THAT(found, Contains("ssl/zoo_forgetful: step 1: expected a gradient for each trainable"));
  CHECK_THAT(found,
             Contains("ssl/zoo_forgetful: visit_state: expected every trainable to be visited"));
  CHECK_THAT(found, Contains("ssl/zoo_late: visit_state: expected every trainable to be visited"));
  CHECK_THAT(found, Contains("evaluator/zoo_thrower: check: threw internal: tantrum"));
}

TEST_CASE("what a component declares is held against what it does") {
  const PluginReport report = inspect_in_child({}, animal("odd").string(), InspectDepth::check);
  INFO(report.text);
  const std::string found = joined(report.violations);
  CHECK_THAT(found, Contains("ssl/zoo_boaster: step 0: answers query(kProjects)"));
  for (const std::string& line : report.violations) CHECK_THAT(line, Contains("zoo_boaster"));
  CHECK_THAT(joined(report.remarks),
             Contains("allocator/zoo_blunt: assign, differentiable: refuses only while training"));
}

TEST_CASE("a component that kills the process is named, and this process lives") {
  const PluginReport report =
      inspect_in_child({}, animal("create_segfaults").string(), InspectDepth::check);
  REQUIRE(report.error);
  CHECK(report.error->code == Code::crashed);
  CHECK_THAT(report.error->message, Contains("while structure/zoo_create_segfaults: create"));
  CHECK(inspect_in_child({}, animal("create_segfaults").string(), InspectDepth::info).ok());
}

TEST_CASE("a component that throws in create does not conform") {
  const PluginReport report =
      inspect_in_child({}, animal("create_throws").string(), InspectDepth::check);
  REQUIRE(report.error);
  CHECK(report.error->code == Code::conformance);
  CHECK_THAT(report.error->message, Contains("refuses to be born"));
}

TEST_CASE("a plugin that cannot be loaded keeps its own error code") {
  CHECK(inspect_in_child({}, animal("wrong_magic").string(), InspectDepth::info).error->code ==
        Code::bad_magic);
  CHECK(inspect_in_child({}, animal("entry_exits").string(), InspectDepth::info).error->code ==
        Code::crashed);
  CHECK(inspect_in_child({}, animal("entry_hangs").string(), InspectDepth::info, {},
                         std::chrono::milliseconds(300))
            .error->code == Code::timed_out);
  CHECK(inspect_in_child({}, (animal("good").parent_path() / "absent.so").string(),
                         InspectDepth::info)
            .error->code == Code::not_found);
}

TEST_CASE("info says what a component says of itself, and nothing for what it leaves out") {
  const PluginReport report = inspect_in_child(zoo_path("good"), "zoo_pull", InspectDepth::info);
  INFO(report.text);
  CHECK_THAT(report.text, Contains("together\n  paper     Keeper, 1999\n  views     2\n"));
  const auto json = nlohmann::json::parse(report.json);
  for (const auto& c : json["plugin"]["components"]) {
    CHECK(c.contains("paper") == (c["id"] == "zoo_pull"));
    CHECK(!c.contains("ranks"));
  }
}

TEST_CASE(
    "a plugin of SDK 1.0, whose components are shorter, loads and says no more than it knew") {
  const PluginReport report = inspect_in_child({}, animal("elder").string(), InspectDepth::info);
  REQUIRE(report.ok());
  const auto json = nlohmann::json::parse(report.json);
  REQUIRE(json["plugin"]["components"].size() == 2);
  CHECK(json["plugin"]["components"][1]["id"] == "zoo_elder_too");
  CHECK(!json["plugin"]["components"][1].contains("paper"));
}

TEST_CASE("info finds a plugin by kind/id, id and name, and prints a block to paste") {
  for (const char* what : {"structure/zoo_cross", "zoo_cross", "zoo_good"}) {
    const PluginReport report = inspect_in_child(zoo_path("good"), what, InspectDepth::info);
    INFO(report.text);
    REQUIRE(report.ok());
    CHECK(report.file == animal("good"));
    CHECK_THAT(report.text, Contains("[harmonize.structure]\n    id = \"zoo_cross\"") &&
                                Contains("points = 4") && Contains("number of points"));
    const auto json = nlohmann::json::parse(report.json);
    CHECK(json["ok"] == true);
    CHECK(json["plugin"]["components"].size() >= 8);
    CHECK(json["plugin"]["components"][0]["params"][0]["default_toml"] == "4");
  }
  const PluginReport missing =
      inspect_in_child(zoo_path("good"), "structure/zoo_cros", InspectDepth::info);
  REQUIRE(missing.error);
  CHECK(missing.error->code == Code::not_found);
  CHECK_THAT(missing.error->message, Contains("structure/zoo_cross"));
}
