#include "study/job_list.hpp"

#include "support/temporary_directory.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using namespace gh::host;
using Catch::Matchers::Contains;

// Nothing in it is as it is by default.
JobList full_list() {
  Job job;
  job.id = "0123abcd";
  job.label = "GH, w = 0.5";
  job.arm = "GH";
  job.axes = {{"harmonize.weight", "0.5"}, {"data.id", "\"cifar\""}};
  job.seed = "3";
  job.baseline = "SimCLR";
  job.recipe = "recipes/0123abcd.toml";
  job.directory = "runs/gh";
  job.epochs = 1000;
  job.until = 500;
  job.from = "ffff";
  job.from_epoch = 100;
  job.seconds = 0.1;
  job.unintended = {"train.batch"};
  job.scaled = "train.epochs: 1000 → 40";
  JobList list;
  list.name = "π, K";
  list.file = "/studies/a.toml";
  list.baseline = "SimCLR";
  list.metrics = {"linear_probe", "few"};
  list.layout = "paper";
  list.blocks = {"data.longtail.ratio"};
  list.retries = 0;
  list.scale = "small";
  list.plugins = {"/plugins/a.so"};
  list.jobs = {job, job};
  list.jobs[1].id = "4567";
  list.jobs[1].label = "SimCLR";
  return list;
}

void check_same(const Job& a, const Job& b) {
  CHECK(a.id == b.id);
  CHECK(a.label == b.label);
  CHECK(a.arm == b.arm);
  CHECK(a.axes == b.axes);
  CHECK(a.seed == b.seed);
  CHECK(a.baseline == b.baseline);
  CHECK(a.recipe == b.recipe);
  CHECK(a.directory == b.directory);
  CHECK(a.epochs == b.epochs);
  CHECK(a.until == b.until);
  CHECK(a.from == b.from);
  CHECK(a.from_epoch == b.from_epoch);
  CHECK(a.seconds == b.seconds);
  CHECK(a.unintended == b.unintended);
  CHECK(a.scaled == b.scaled);
}

void check_same(const JobList& a, const JobList& b) {
  CHECK(a.name == b.name);
  CHECK(a.file == b.file);
  CHECK(a.baseline == b.baseline);
  CHECK(a.metrics == b.metrics);
  CHECK(a.layout == b.layout);
  CHECK(a.blocks == b.blocks);
  CHECK(a.retries == b.retries);
  CHECK(a.scale == b.scale);
  CHECK(a.plugins == b.plugins);
  REQUIRE(a.jobs.size() == b.jobs.size());
  for (std::size_t i = 0; i < a.jobs.size(); ++i) check_same(a.jobs[i], b.jobs[i]);
}

TEST_CASE("jobs are read as they were written, whatever they are") {
  const gh::test::TemporaryDirectory dir;
  write_jobs(dir.path(), full_list());
  check_same(read_jobs(dir.path()), full_list());

  Job plain;
  plain.id = "1";
  plain.recipe = "recipes/a.toml";
  plain.directory = "runs/a";
  JobList list;
  list.layout = "rows";
  list.jobs = {plain};
  write_jobs(dir.path(), list);
  check_same(read_jobs(dir.path()), list);
}

TEST_CASE("a job is found by its id, and one that another row has, too, is marked") {
  JobList list = full_list();
  CHECK(list.find("4567") == &list.jobs[1]);
  CHECK(list.find("456") == nullptr);
  const gh::test::TemporaryDirectory dir;
  list.jobs.push_back(list.jobs[0]);
  list.jobs[2].label = "the same again";
  write_jobs(dir.path(), list);
  const JobList read = read_jobs(dir.path());
  CHECK(!read.jobs[0].repeated);
  CHECK(!read.jobs[1].repeated);
  CHECK(read.jobs[2].repeated);
  CHECK(read.find(list.jobs[0].id) == &read.jobs[0]);
}

TEST_CASE("no jobs, damaged ones and those of another version are told apart") {
  const gh::test::TemporaryDirectory dir;
  const auto code_of = [&](const std::string& message) {
    try {
      read_jobs(dir.path());
    } catch (const gh::Error& error) {
      CHECK_THAT(error.what(), Contains("jobs.json") && Contains(message));
      return error.code();
    }
    return gh::ErrorCode::internal;
  };
  CHECK(code_of("study plan") == gh::ErrorCode::missing_data);
  for (const char* text :
       {"", "{", "[]", "{\"format\": 1}", "{\"format\": 1, \"jobs\": [{\"id\": 3}]}",
        "{\"format\": 1, \"jobs\": [{\"epochs\": \"x\"}]}", "{\"format\": 1, \"jobs\": 3}"}) {
    INFO(text);
    dir.write("jobs.json", text);
    CHECK(code_of("") == gh::ErrorCode::invalid_param);
  }
  dir.write("jobs.json", "{\"format\": 2, \"jobs\": []}");
  CHECK(code_of("another version") == gh::ErrorCode::invalid_param);
}

TEST_CASE("no job leads out of the study's directory") {
  const gh::test::TemporaryDirectory dir;
  for (const std::string path : {"", "/tmp/x", "..", "../x", "a/../../x"}) {
    INFO(path);
    JobList list = full_list();
    list.jobs[0].directory = path;
    write_jobs(dir.path(), list);
    CHECK_THROWS_WITH(read_jobs(dir.path()), Contains("leads out"));
    list = full_list();
    list.jobs[1].recipe = path;
    write_jobs(dir.path(), list);
    CHECK_THROWS_WITH(read_jobs(dir.path()), Contains("leads out"));
  }
}

}  // namespace
