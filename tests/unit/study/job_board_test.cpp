#include "study/job_board.hpp"

#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace {

using namespace gh::host;
using Indices = std::vector<std::size_t>;

Job job(const std::string& id, double seconds, const std::string& from = "") {
  Job job;
  job.id = id;
  job.directory = "runs/" + id;
  job.from = from;
  job.seconds = seconds;
  return job;
}

// By its definition: every chain, one after the other.
double longest_by_hand(const JobList& list, const std::string& id) {
  double longest = 0;
  for (const Job& next : list.jobs)
    if (next.from == id) longest = std::max(longest, longest_by_hand(list, next.id));
  return list.find(id)->seconds + longest;
}

Attempt ended(int code) { return {.started = "s", .ended = "e", .end = {.code = code}}; }

TEST_CASE("a path is the longest chain of those that wait for it") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    JobList list;
    for (int i = 0; i < 12; ++i) {
      const int from = static_cast<int>(random() % 12);
      list.jobs.push_back(job(std::to_string(i), static_cast<double>(random() % 100),
                              from < i ? std::to_string(from) : ""));
    }
    std::shuffle(list.jobs.begin(), list.jobs.end(), random);
    const std::vector<double> paths = longest_paths(list);
    for (std::size_t i = 0; i < paths.size(); ++i)
      CHECK(paths[i] == longest_by_hand(list, list.jobs[i].id));
  }
}

TEST_CASE("jobs that wait for what is not there, or for themselves, are refused") {
  JobList list;
  list.jobs = {job("a", 1, "b")};
  CHECK_THROWS_WITH(longest_paths(list), Catch::Contains("runs/a") && Catch::Contains("not there"));
  list.jobs = {job("a", 1, "b"), job("b", 1, "a"), job("c", 1)};
  CHECK_THROWS_WITH(longest_paths(list), Catch::Contains("begins with itself"));
}

TEST_CASE("the longest path begins, and nothing before what it begins with is done") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  list.jobs = {job("short", 5), job("trunk", 1), job("long", 7), job("x", 8, "trunk"),
               job("y", 2, "trunk")};
  JobBoard board(list, dir.path(), 1);
  CHECK(board.ready() == Indices{1, 2, 0});
  board.set_busy(1, true);
  CHECK(board.ready() == Indices{2, 0});
  write_outcome(dir.path(), "trunk", {.attempts = {ended(0)}});
  board.refresh(1);
  board.set_busy(1, false);
  CHECK(board.ready() == Indices{3, 2, 0, 4});
  CHECK_FALSE(board.all_settled());
}

TEST_CASE("where times are not known, most epochs are the longest path") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  list.jobs = {job("plain", 7), job("trunk", 0), job("arm", 0, "trunk")};
  for (Job& one : list.jobs) one.epochs = 30;
  list.jobs[1].until = list.jobs[2].from_epoch = 20;
  list.jobs[0].epochs = 25;
  CHECK(JobBoard(list, dir.path(), 1).ready() == Indices{1, 0});
  list.jobs[0].epochs = 35;
  CHECK(JobBoard(list, dir.path(), 1).ready() == Indices{0, 1});
}

TEST_CASE("of equal ones, what has begun is brought to its end first") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  for (const char* id : {"a", "b", "c", "d"}) list.jobs.push_back(job(id, 5));
  write_outcome(dir.path(), "c", {.attempts = {ended(75)}});
  write_outcome(dir.path(), "d", {.attempts = {ended(1)}});
  for (const uint64_t seed : {1, 2, 3, 4}) CHECK(JobBoard(list, dir.path(), seed).ready()[0] == 2);
}

TEST_CASE("one that went wrong waits for the others") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  list.jobs = {job("a", 3), job("b", 2), job("c", 1)};
  JobBoard board(list, dir.path(), 1);
  board.set_back(0);
  CHECK(board.ready() == Indices{1, 2, 0});
  board.set_back(1);
  board.set_back(1);
  CHECK(board.ready() == Indices{2, 0, 1});
}

TEST_CASE("what begins with a failure is settled, however far behind, and other jobs are not") {
  const gh::test::TemporaryDirectory dir;
  write_outcome(dir.path(), "t", {.attempts = {ended(66)}});
  JobList list;
  list.jobs = {job("t", 1), job("u", 1, "t"), job("v", 1, "u"), job("w", 1)};
  JobBoard board(list, dir.path(), 1);
  CHECK(board.settled(2));
  CHECK(board.ready() == Indices{3});
  CHECK_FALSE(board.all_settled());
  write_outcome(dir.path(), "w", {.attempts = {ended(3)}});
  board.refresh(3);
  CHECK(board.all_settled());
}

TEST_CASE("a trunk of which only an evaluation failed carries on") {
  const gh::test::TemporaryDirectory dir;
  write_outcome(dir.path(), "t", {.attempts = {ended(3)}});
  JobList list;
  list.jobs = {job("t", 1), job("u", 1, "t")};
  JobBoard board(list, dir.path(), 1);
  CHECK(board.ready() == Indices{1});
}

TEST_CASE("a run that several rows show is run once") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  list.jobs = {job("a", 1), job("a", 1)};
  list.mark_repeated();
  JobBoard board(list, dir.path(), 1);
  CHECK(board.ready() == Indices{0});
}

TEST_CASE("workers begin with different ones of equal jobs") {
  const gh::test::TemporaryDirectory dir;
  JobList list;
  for (int i = 0; i < 100; ++i) list.jobs.push_back(job(std::to_string(i), 1));
  std::set<std::size_t> first;
  for (uint64_t seed = 0; seed < 20; ++seed)
    first.insert(JobBoard(list, dir.path(), seed).ready()[0]);
  CHECK(first.size() > 10);
}

}  // namespace
