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
  const PluginReport report =
      inspect_in_child({}, animal("good").string(), {.depth = InspectDepth::check});
  INFO(report.text);
  CHECK(report.ok());
  CHECK(report.violations.empty());
  const std::string remarks = joined(report.remarks);
  CHECK_THAT(remarks, Contains("dataset/zoo_needy: create: NOT TRIED: it needs root"));
  CHECK_THAT(remarks,
             Contains("dataset/zoo_count: open(absent): NOT TRIED: data not present: fetch "
                      "it from the zoo shop"));
  CHECK_THAT(report.text, Contains("keeps its contracts"));
}

TEST_CASE("every broken contract is found") {
  const PluginReport report =
      inspect_in_child({}, animal("unruly").string(), {.depth = InspectDepth::check});
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
  const PluginReport report =
      inspect_in_child({}, animal("odd").string(), {.depth = InspectDepth::check});
  INFO(report.text);
  const std::string found = joined(report.violations);
  CHECK_THAT(found, Contains("ssl/zoo_boaster: step 0: answers query(kProjects)"));
  for (const std::string& line : report.violations) CHECK_THAT(line, Contains("zoo_boaster"));
  CHECK_THAT(joined(report.remarks),
             Contains("allocator/zoo_blunt: assign, differentiable: refuses only while training"));
}

// What `plugins check` must say of each component of careless.cpp, and nothing else.
struct Mistake {
  const char* component;
  const char* function;
  const char* said;
  const char* likely = "";
};
const Mistake kMistakes[] = {
    {"ssl/mean_forgotten", "visit_state", "resumed inside an epoch", "a queue, a twin"},
    {"ssl/mask_forgotten", "visit_state", "resumed inside an epoch", "what begin_epoch() makes"},
    {"ssl/own_rows", "two ranks", "same state on every rank, found that \"seen\" differs",
     "all_gather() before storing"},
    {"ssl/lone_collective", "two ranks", "same collectives in the same order", "a condition"},
    {"ssl/twin_awake", "train(false)", "found the encoder \"twin\" in train mode",
     "forgets a twin"},
    {"ssl/shuffled_gradient", "step", "rows without gradient for shuffle_rows()"},
    {"ssl/never_unshuffled", "step", "expected unshuffle_rows() for each shuffle_rows()"},
    {"ssl/embeds_in_step", "step", "embed_all() in begin_… or end_… only"},
    {"ssl/gathers_in_embed_all", "begin_epoch", "no collective within embed_all()"},
    {"ssl/projects_in_vain", "step", "a loss of what Step::project() gives"},
    {"ssl/global_noise", "step", "aten::randn_like drawing", "no generator was passed"},
    {"ssl/library_noise", "step", "std::rand drawing"},
    {"ssl/keeps_graph", "visit_state", "\"centre\" holding on to the graph"},
    {"ssl/clips_in_step", "step", "gradients to be left alone inside step()", "reads .grad"},
    {"ssl/drops_gh", "step", "what harmonize() returns to be added to a loss"},
    {"ssl/never_gh", "step", "a call of Step::harmonize(), found none"},
    {"ssl/tracks_twice", "step", "one call of harmonize() a step that feeds the prior"},
    {"ssl/detached_gh", "step", "embeddings with gradients for harmonize()"},
    {"ssl/gathers_for_gh", "two ranks",
     "the 8 rows of this call's batch for harmonize(), found 16"},
    {"ssl/any_views", "check", "a complaint about 1 view, found none", "view_shapes.size()"},
    {"ssl/full_batches", "step", "threw c10::Error", "the batch is taken to be full"},
    {"ssl/single_only", "step", "threw c10::Error", "host.facts().dtype"},
    {"ssl/spoils_views", "step", "changed the batch it was given", "in place"},
    {"ssl/centres_embeddings", "embed", "does not depend on the rest of the batch"},
    {"ssl/misspelt_key", "check", "complains about \"embeding\"", "misspelt"},
    {"ssl/throws_in_check", "check", "threw invalid_param: too few samples", "out.add()"},
    {"ssl/odd_log_name", "step", "a name of [a-z0-9_], found \"Mean Norm\" for log()"},
    {"ssl/strong_beyond_one", "end_epoch", "values of strength in 0 … 1, found 2 … 2"},
    {"ssl/counts_in_static", "same seed again", "the same run from the same seed", "statics"},
    {"ssl/teacher_forgotten", "visit_state", "encoder() of a method that loaded", "a teacher"},
    {"ssl/reduces_accumulated", "step", "threw unsupported", "facts.accumulate > 1"},
    {"ssl/trains_itself", "step", "leave the weights to the optimiser", "after_update()"},
    {"ssl/twin_learns", "step", "the encoder \"twin\" collects some", "requires_grad(false)"},
    {"ssl/rare_choice", "", " with mode = tilted: ", "create failed (internal): parameter 'tilt'"},
    {"structure/coincident", "points(8)", "two that coincide"},
    {"structure/global_points", "points(2)", "aten::randn drawing"},
    {"allocator/spoils_prior", "assign", "changed the prior it was given"},
    {"allocator/fit_forgotten", "visit_state", "targets differ", "fit()"},
    {"allocator/needs_company", "assign", "finite targets, found NaN"},
    {"backbone/unregistered", "copy_from", "whose tensors it took over", "add_parameter()"},
    {"backbone/always_batch", "forward, evaluation mode", "not depend on the rest of the batch"},
    {"backbone/always_counts", "forward, evaluation mode", "expected mean to stay as it is"},
    {"backbone/spoils_samples", "make([2])", "changed the samples it was given", "in place"},
    {"backbone/own_layers", "make([2])", "layers of BackboneRequest::layers", "SDCLR"},
    {"dataset/same_fingerprint", "test", "another fingerprint than that of train"},
    {"dataset/test_is_train", "test", "other samples than those of train", "name of the split"},
    {"dataset/leaves_open", "", "open file(s)", "not closed"},
    {"dataset/broken_file", "train", "found that read() threw io: number-19.bin"},
    {"dataset/not_a_number", "train", "finite values, found NaN"},
    {"dataset/from_one", "train", "a name for class 4, found 4 names", "counted from 1"},
    {"dataset/one_is_longer", "train", "of shape [2], found [3]"},
    {"dataset/counts_reads", "train", "the same whenever", "read() draws"},
    {"evaluator/spoils_features", "evaluate", "changed the features it was given", "clone()"},
    {"evaluator/wants_test", "check", "a data set without a test split", "split_checks.hpp"},
    {"evaluator/remembers", "evaluate", "same results when asked again"},
    {"evaluator/gradients_off", "evaluate", "gradients are off for all", "a guard"},
    {"evaluator/leaves_thread", "", "thread(s) that still run", "not joined"},
    {"evaluator/ends_process", "evaluate", "the process to live on", "SIGSEGV"},
    {"evaluator/odd_metric", "evaluate", "found \"top-1 (%)\" for a metric"},
    {"evaluator/ragged", "evaluate", "rows of 2 cells in table classes, found one of 1"},
    {"evaluator/gives_up", "evaluate", "threw c10::Error"},
};

TEST_CASE("each mistake that authors make is found once, with where and why") {
  const PluginReport report =
      inspect_in_child({}, animal("careless").string(), {.depth = InspectDepth::check});
  INFO(report.text);
  REQUIRE(report.error);
  CHECK(report.error->code == Code::crashed);  // one of them; the others are tried all the same
  for (const Mistake& mistake : kMistakes) {
    std::vector<std::string> found;
    for (const std::string& line : report.violations)
      if (line.starts_with(mistake.component) &&
          line.find_first_of(": ") == std::string_view(mistake.component).size())
        found.push_back(line);
    INFO(mistake.component << "\n" << joined(found));
    CHECK(found.size() == 1);
    const std::string all = joined(found);
    CHECK_THAT(all, Contains(std::string(": ") + mistake.function) && Contains(mistake.said) &&
                        Contains(mistake.likely));
  }
  CHECK(report.violations.size() == std::size(kMistakes));
}

TEST_CASE("a component that kills the process is named, and this process lives") {
  const PluginReport report =
      inspect_in_child({}, animal("create_segfaults").string(), {.depth = InspectDepth::check});
  REQUIRE(report.error);
  CHECK(report.error->code == Code::crashed);
  CHECK_THAT(report.error->message, Contains("while structure/zoo_create_segfaults: create"));
  CHECK(inspect_in_child({}, animal("create_segfaults").string(), {.depth = InspectDepth::info})
            .ok());
}

TEST_CASE("a component that throws in create does not conform") {
  const PluginReport report =
      inspect_in_child({}, animal("create_throws").string(), {.depth = InspectDepth::check});
  REQUIRE(report.error);
  CHECK(report.error->code == Code::conformance);
  CHECK_THAT(joined(report.violations), Contains("refuses to be born"));
}

TEST_CASE("a plugin that cannot be loaded keeps its own error code") {
  CHECK(inspect_in_child({}, animal("wrong_magic").string(), {.depth = InspectDepth::info})
            .error->code == Code::bad_magic);
  CHECK(inspect_in_child({}, animal("entry_exits").string(), {.depth = InspectDepth::info})
            .error->code == Code::crashed);
  CHECK(inspect_in_child({}, animal("entry_hangs").string(),
                         {.depth = InspectDepth::info, .timeout = std::chrono::milliseconds(300)})
            .error->code == Code::timed_out);
  CHECK(inspect_in_child({}, (animal("good").parent_path() / "absent.so").string(),
                         {.depth = InspectDepth::info})
            .error->code == Code::not_found);
}

TEST_CASE("info says what a component says of itself, and nothing for what it leaves out") {
  const PluginReport report =
      inspect_in_child(zoo_path("good"), "zoo_pull", {.depth = InspectDepth::info});
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
  const PluginReport report =
      inspect_in_child({}, animal("elder").string(), {.depth = InspectDepth::info});
  REQUIRE(report.ok());
  const auto json = nlohmann::json::parse(report.json);
  REQUIRE(json["plugin"]["components"].size() == 2);
  CHECK(json["plugin"]["components"][1]["id"] == "zoo_elder_too");
  CHECK(!json["plugin"]["components"][1].contains("paper"));
}

TEST_CASE("info finds a plugin by kind/id, id and name, and prints a block to paste") {
  for (const char* what : {"structure/zoo_cross", "zoo_cross", "zoo_good"}) {
    const PluginReport report =
        inspect_in_child(zoo_path("good"), what, {.depth = InspectDepth::info});
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
      inspect_in_child(zoo_path("good"), "structure/zoo_cros", {.depth = InspectDepth::info});
  REQUIRE(missing.error);
  CHECK(missing.error->code == Code::not_found);
  CHECK_THAT(missing.error->message, Contains("structure/zoo_cross"));
}
