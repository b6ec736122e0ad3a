#include "study/study_plan.hpp"

#include "study/outcomes.hpp"
#include "study/worker.hpp"
#include "study_fixture.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <filesystem>
#include <fstream>
#include <set>

namespace {

using namespace gh::host;
using namespace gh::host::test;
using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

const std::string kWeights =
    "[axes]\n\"harmonize.weight\" = [1.0, 2.0]\n[[arm]]\nlabel = \"GH\"\n[[arm]]\nlabel = "
    "\"plain\"\n"
    "recipe = \"plain.toml\"\naxes = false\n";

struct Planned {
  Studies s;
  std::filesystem::path directory = s.dir / "out";
  std::string data = "data";

  StudyPlan plan(const std::string& text, bool write = true) {
    const StudyFile study = s.read(text);
    const std::vector<StudyRow> rows = s.rows_of(study);
    std::filesystem::create_directories(directory);
    DataFacts facts(directory / "none", [&](const Recipe&) { return DataFact{data, 95}; });
    const PlanRequest request{.study = study,
                              .rows = rows,
                              .seeds = seeds_of(study, rows),
                              .directory = directory,
                              .scale = "",
                              .plugins = {},
                              .plugin_rules = {},
                              .data = facts,
                              .plugin_of =
                                  [](gh_kind, const std::string& id) {
                                    return PluginVersion{id, "1", ""};
                                  },
                              .builds = Builds::by_version};
    StudyPlan out = make_plan(request);
    if (write) write_plan(request, out);
    return out;
  }

  // As a run that ended leaves its directory.
  void end(const Job& job, const std::string& state, int epochs = 100) const {
    const auto run = directory / job.directory;
    std::filesystem::create_directories(run);
    std::filesystem::copy_file(directory / job.recipe, run / "recipe.toml",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(run / "status.json")
        << "{\"state\": \"" << state << "\", \"epoch\": " << epochs << ", \"message\": \""
        << (state == "failed" ? "no memory" : "") << "\", \"updated\": \"2020-01-01T00:00:00Z\"}";
  }
};

const Job& job_of(const StudyPlan& plan, const std::string& label, const std::string& seed) {
  for (const Job& job : plan.list.jobs)
    if (job.label == label && job.seed == seed) return job;
  FAIL("no job " << label << " " << seed);
  return plan.list.jobs.front();
}
const PlannedJob& state_of_job(const StudyPlan& plan, const std::string& label,
                               const std::string& seed) {
  return plan.jobs[static_cast<std::size_t>(&job_of(plan, label, seed) - plan.list.jobs.data())];
}

TEST_CASE("a study is planned as a job for each row and seed, each with a recipe of its own") {
  Planned p;
  const StudyPlan plan =
      p.plan("seeds = [0, 1]\nbaseline = \"plain\"\nmetrics = [\"knn\"]\n" + kBase + kWeights);
  std::set<std::string> ids, directories;
  std::size_t runs = 0;
  for (const Job& job : plan.list.jobs) {
    ids.insert(job.id);
    directories.insert(job.directory);
    CHECK(std::filesystem::exists(p.directory / job.recipe));
    if (job.until == 0) ++runs;
  }
  CHECK(runs == 6);
  CHECK(ids.size() == plan.list.jobs.size());
  CHECK(directories.size() == plan.list.jobs.size());
  const Job& job = job_of(plan, "GH, weight = 2.0", "1");
  CHECK(job.arm == "GH");
  CHECK(job.baseline == "plain");
  CHECK(job.epochs == 100);
  CHECK_THAT(job.directory, Contains("runs/gh-weight-2.0-seed-1-" + job.id));
  Diagnostics problems;
  const Recipe recipe = load_recipe(p.directory / job.recipe, {}, p.s.parts, problems);
  CHECK(!problems.has_errors());
  CHECK(recipe.integer("seed") == 1);
  CHECK(recipe.real("harmonize.weight") == 2.0);

  const JobList read = read_jobs(p.directory);
  CHECK(read.jobs.size() == plan.list.jobs.size());
  CHECK(read.metrics == Strings{"knn"});
  CHECK(std::filesystem::exists(p.directory / "study.toml"));
}

TEST_CASE("runs that train alike begin with a trunk, which counts once") {
  Planned p;
  const StudyPlan plan = p.plan("seeds = [0, 1]\n" + kBase + kWeights);
  // The two weights go together until the warm-up ends; the plain method has no points to look at.
  REQUIRE(plan.list.jobs.size() == 8);
  for (int seed = 0; seed < 2; ++seed) {
    const Job& trunk = plan.list.jobs[static_cast<std::size_t>(seed)];
    CHECK(trunk.until == 50);
    CHECK(trunk.from.empty());
    for (const char* label : {"GH, weight = 1.0", "GH, weight = 2.0"}) {
      const Job& job = job_of(plan, label, std::to_string(seed));
      CHECK(job.from == trunk.id);
      CHECK(job.from_epoch == 50);
      CHECK(state_of_job(plan, label, job.seed).steps == 50 * 10);  // 95 samples by 10
    }
    CHECK(job_of(plan, "plain", std::to_string(seed)).from.empty());
  }
  CHECK(plan.epochs_saved == 2 * 50);
  CHECK(state_of_job(plan, "plain", "0").steps == 100 * 10);
}

TEST_CASE("a trunk that may have begun keeps its recipe, whichever row is the first now") {
  Planned p;
  const auto weights = [](const char* list) {
    return std::string("seeds = [0]\n") + kBase + "[axes]\n\"harmonize.weight\" = " + list + "\n";
  };
  const auto recipe_of = [&](const StudyPlan& plan) {
    REQUIRE(plan.list.jobs.front().until == 50);
    return gh::read_regular_file((p.directory / plan.list.jobs.front().recipe).string());
  };
  const std::string first = recipe_of(p.plan(weights("[1.0, 2.0]")));
  CHECK_THAT(first, Contains("weight = 1.0"));
  CHECK(recipe_of(p.plan(weights("[2.0, 1.0, 3.0]"))) == first);
  CHECK(recipe_of(p.plan(weights("[3.0, 4.0]"))) == first);
}

TEST_CASE("a run that began with a trunk has not trained that part itself") {
  Planned p;
  const std::string text = "seeds = [0]\n" + kBase + kWeights;
  p.end(job_of(p.plan(text), "GH, weight = 1.0", "0"), "interrupted", 60);
  for (int again = 0; again < 2; ++again) {
    const StudyPlan plan = p.plan(text);
    const Job& job = job_of(plan, "GH, weight = 1.0", "0");
    CHECK(job.from.empty());
    CHECK(own_epochs(job) == 50);
    CHECK(state_of_job(plan, "GH, weight = 1.0", "0").steps == 50 * 10);
  }
}

TEST_CASE("a run whose directory was removed is new") {
  Planned p;
  const std::string text = "seeds = [0, 1]\n" + kBase + kWeights;
  const StudyPlan first = p.plan(text);
  const Outcome done{.attempts = {{.started = "s", .ended = "e", .end = {.code = 0}}}};
  for (const Job& job : first.list.jobs) write_outcome(outcomes_of(p.directory), job.id, done);
  p.end(job_of(first, "plain", "0"), "finished");
  const StudyPlan plan = p.plan(text);
  CHECK(state_of_job(plan, "plain", "0").state == ArmState::done);
  CHECK(state_of_job(plan, "plain", "1").state == ArmState::fresh);
  CHECK(job_of(plan, "GH, weight = 1.0", "0").from == plan.list.jobs[0].id);
}

TEST_CASE("what is there is done, to be gone on with or failed; what is not is new") {
  Planned p;
  const std::string text = "seeds = [0, 1, 2, 3, 4]\n" + kBase + kWeights;
  const StudyPlan first = p.plan(text);
  p.end(job_of(first, "plain", "0"), "finished");
  p.end(job_of(first, "plain", "1"), "interrupted", 30);
  p.end(job_of(first, "plain", "2"), "failed", 20);
  p.end(job_of(first, "plain", "3"), "running", 20);  // in 2020
  const StudyPlan plan = p.plan(text);
  CHECK(state_of_job(plan, "plain", "0").state == ArmState::done);
  CHECK(state_of_job(plan, "plain", "1").state == ArmState::resumable);
  CHECK(state_of_job(plan, "plain", "2").state == ArmState::failed);
  CHECK(state_of_job(plan, "plain", "2").why == "no memory");
  CHECK(state_of_job(plan, "plain", "3").state == ArmState::resumable);
  CHECK(state_of_job(plan, "plain", "4").state == ArmState::fresh);
  CHECK(state_of_job(plan, "GH, weight = 1.0", "0").state == ArmState::fresh);
  CHECK(plan.dropped.empty());
}

TEST_CASE("a run is new by the key in which the nearest one is another") {
  Planned p;
  const StudyPlan first = p.plan("seeds = [0]\n" + kBase + kWeights);
  for (const Job& job : first.list.jobs)
    if (job.until == 0) p.end(job, "finished");
  const std::string changed =
      "seeds = [0, 1]\n" + kBase +
      "[axes]\n\"harmonize.weight\" = [2.0, 3.0]\n[[arm]]\nlabel = \"new name\"\n";
  const StudyPlan plan = p.plan(changed);
  // The same run by another name lies where it lay.
  CHECK(state_of_job(plan, "new name, weight = 2.0", "0").state == ArmState::done);
  CHECK(job_of(plan, "new name, weight = 2.0", "0").directory ==
        job_of(first, "GH, weight = 2.0", "0").directory);
  const PlannedJob& other_seed = state_of_job(plan, "new name, weight = 2.0", "1");
  REQUIRE(other_seed.differences.size() == 1);
  CHECK(other_seed.differences[0].key == "seed");
  const PlannedJob& other = state_of_job(plan, "new name, weight = 3.0", "0");
  CHECK(other.nearest == "new name, weight = 2.0");
  REQUIRE(other.differences.size() == 1);
  CHECK(other.differences[0].key == "harmonize.weight");
  CHECK(other.differences[0].was == "2.0");
  CHECK(other.differences[0].is == "3.0");
  // What the file has no longer stays, and is named.
  CHECK(plan.dropped.size() == 2);
  CHECK(std::filesystem::exists(p.directory / job_of(first, "plain", "0").directory));

  p.data = "others";
  const StudyPlan on_others = p.plan(changed, false);
  REQUIRE(state_of_job(on_others, "new name, weight = 2.0", "0").differences.size() == 1);
  CHECK_THAT(state_of_job(on_others, "new name, weight = 2.0", "0").differences[0].key,
             Contains("data"));
}

TEST_CASE("an arm that is added later begins with the trunk that is there") {
  Planned p;
  const StudyPlan first = p.plan("seeds = [0]\n" + kBase + kWeights);
  const Job trunk = first.list.jobs[0];
  REQUIRE(trunk.until == 50);
  for (const Job& job : first.list.jobs) p.end(job, "finished", 50);
  // Another arm stands before those that were there.
  const StudyPlan plan =
      p.plan("seeds = [0]\n" + kBase + "[axes]\n\"harmonize.weight\" = [0.5, 1.0, 2.0]\n");
  REQUIRE(plan.list.jobs[0].until == 50);
  CHECK(plan.list.jobs[0].id == trunk.id);
  CHECK(plan.jobs[0].state == ArmState::done);
  CHECK(job_of(plan, "weight = 0.5", "0").from == trunk.id);
  CHECK(plan.epochs_saved == 50);
}

TEST_CASE("a trunk is planned for two runs that are new, and no other") {
  Planned p;
  const std::string text = "seeds = [0]\n" + kBase + kWeights;
  const StudyPlan first = p.plan(text);
  // One has begun by itself: the other has nobody to share with.
  p.end(job_of(first, "GH, weight = 1.0", "0"), "interrupted", 20);
  const StudyPlan plan = p.plan(text);
  CHECK(plan.list.jobs.size() == 3);
  for (const Job& job : plan.list.jobs) {
    CHECK(job.until == 0);
    CHECK(job.from.empty());
    CHECK(job.from_epoch == 0);
  }
  CHECK(state_of_job(plan, "GH, weight = 2.0", "0").steps == 100 * 10);
  CHECK(plan.epochs_saved == 0);
}

TEST_CASE("trunks within trunks count what each of them trains") {
  Planned p;
  p.s.dir.write("gh.toml", std::string(kGh) +
                               "[train.schedule]\nid = \"step\"\nwarm_up = 0\n"
                               "milestones = [80]\ngamma = 0.5\n");
  const StudyPlan plan =
      p.plan("seeds = [0]\n" + kBase +
             "[axes]\n\"harmonize.weight\" = [1.0, 2.0]\n\"train.schedule.gamma\" = [0.1, 0.5]\n");
  // 50 epochs for all, then to 80 for each weight, then alone.
  REQUIRE(plan.list.jobs.size() == 3 + 4);
  CHECK(plan.list.jobs[0].until == 50);
  for (int i = 1; i < 3; ++i) {
    CHECK(plan.list.jobs[static_cast<std::size_t>(i)].until == 80);
    CHECK(plan.list.jobs[static_cast<std::size_t>(i)].from == plan.list.jobs[0].id);
    CHECK(plan.list.jobs[static_cast<std::size_t>(i)].from_epoch == 50);
  }
  CHECK(plan.epochs_saved == 4 * 100 - (50 + 2 * 30 + 4 * 20));
}

TEST_CASE("rows that are the same run share it") {
  Planned p;
  const StudyPlan plan = p.plan("seeds = [0]\n" + kBase +
                                "[[arm]]\nlabel = \"a\"\n[[arm]]\nlabel = \"b\"\n"
                                "overrides = [\"harmonize.weight=1.0\", \"loader.threads=3\"]\n");
  REQUIRE(plan.list.jobs.size() == 2);
  CHECK(plan.list.jobs[0].id == plan.list.jobs[1].id);
  CHECK(plan.list.jobs[0].directory == plan.list.jobs[1].directory);
  CHECK(!plan.list.jobs[0].repeated);
  CHECK(plan.list.jobs[1].repeated);
}

TEST_CASE("all data that are missing are told at once, with who needs them") {
  Planned p;
  const StudyFile study = p.s.read("seeds = [0]\n" + kBase + "[axes]\n\"data.samples\" = [1, 2]\n");
  const std::vector<StudyRow> rows = p.s.rows_of(study);
  DataFacts facts(p.directory / "none", [](const Recipe& r) -> DataFact {
    gh::fail(gh::ErrorCode::missing_data, "no pictures ", r.integer("data.samples"));
  });
  const PlanRequest request{.study = study,
                            .rows = rows,
                            .seeds = {0},
                            .directory = p.directory,
                            .scale = "",
                            .plugins = {},
                            .plugin_rules = {},
                            .data = facts,
                            .plugin_of = {},
                            .builds = Builds::by_version};
  try {
    make_plan(request);
    FAIL("planned");
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::missing_data);
    CHECK_THAT(error.what(), Contains("no pictures 1\n    needed by samples = 1") &&
                                 Contains("no pictures 2\n    needed by samples = 2"));
  }
}

TEST_CASE("times are those of finished runs of the same kind, or measured ones") {
  Planned p;
  const std::string text = "seeds = [0, 1]\n" + kBase + kWeights;
  const StudyPlan first = p.plan(text);
  const Job& done = job_of(first, "plain", "0");
  p.end(done, "finished");
  std::ofstream(p.directory / done.directory / "timing.jsonl")
      << "{\"epoch\": 1, \"seconds\": 9}\n{\"epoch\": 2, \"seconds\": 1}\n"
         "{\"epoch\": 3, \"seconds\": 3}\n{\"result\": \"results/0.json\", \"seconds\": 5}\nhalf a";
  StudyPlan plan = p.plan(text);
  Costs costs(p.directory / "costs.json");
  costs.set_measured(state_of_job(plan, "GH, weight = 1.0", "0").cost_class,
                     {.epoch = 4, .evaluations = 0, .memory = 7, .disk = 100, .runs = 0});
  read_finished(plan, p.directory, costs);
  estimate(plan, costs);
  CHECK(job_of(plan, "plain", "1").seconds == Approx(2 * 100 + 5));  // without the first epoch
  CHECK(job_of(plan, "GH, weight = 2.0", "1").seconds == Approx(4 * 50));
  CHECK(plan.list.jobs[0].seconds == Approx(4 * 50));
  CHECK(plan.left.runs == 7);
  CHECK(plan.left.epochs == 100 + 6 * 50);
  CHECK(plan.left.seconds == Approx(205 + 6 * 200));
  CHECK(plan.left.memory == 7);
  CHECK(plan.left.unknown == 0);

  costs.save();
  const Costs again(p.directory / "costs.json");
  CHECK(again.of(state_of_job(plan, "GH, weight = 2.0", "0").cost_class)->epoch == 4);
}

}  // namespace
