#include "run/run_directory.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace {

using namespace gh;
using namespace gh::host;
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a run directory is taken new or empty, never over something") {
  const test::TemporaryDirectory dir;
  fs::create_directory(dir / "empty");
  CHECK(RunDirectory::create(dir / "empty", "x").path() == dir / "empty");
  CHECK_THROWS_WITH(RunDirectory::create(dir / "empty", "x"),
                    Catch::Contains("not empty") && Catch::Contains("--out"));
  std::ofstream(dir / "file") << "x";
  CHECK_THROWS_WITH(RunDirectory::create(dir / "file", "x"), Catch::Contains("not a directory"));
  CHECK(content(dir / "file") == "x");
  CHECK(fs::exists(RunDirectory::create(dir / "a/b/c", "x").path() / "metrics.jsonl"));
}

TEST_CASE("without a wish, runs are numbered under a name made from the recipe's") {
  const test::TemporaryDirectory dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  const fs::path first = RunDirectory::create({}, "CIFAR-100 LT: SimCLR + GH!").path();
  const fs::path second = RunDirectory::create({}, "CIFAR-100 LT: SimCLR + GH!").path();
  const fs::path odd = RunDirectory::create({}, "../…").path();
  fs::current_path(before);
  CHECK(first.filename() == "cifar-100-lt-simclr-gh-001");
  CHECK(second.filename() == "cifar-100-lt-simclr-gh-002");
  CHECK(odd.parent_path().filename() == "runs");
}

TEST_CASE("runs are numbered on after the last, whatever was removed before it") {
  const test::TemporaryDirectory dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  CHECK(RunDirectory::latest("a").empty());
  for (int i = 0; i < 4; ++i) RunDirectory::create({}, "a");
  for (const char* other : {"runs/a-b-009", "runs/a-10", "runs/a-7x", "runs/a--005"})
    fs::create_directory(other);
  std::ofstream("runs/a-020") << "no run";
  fs::remove_all("runs/a-001");
  fs::remove_all("runs/a-003");
  CHECK(RunDirectory::latest("a").filename() == "a-004");
  CHECK(RunDirectory::create({}, "a").path().filename() == "a-005");
  fs::create_directory("runs/a-1000");
  CHECK(RunDirectory::latest("a").filename() == "a-1000");
  fs::current_path(before);
}

TEST_CASE("of several that want a directory at the same time, one gets it") {
  const test::TemporaryDirectory dir;
  for (int round = 0; round < 100; ++round) {
    const fs::path wanted = dir / std::to_string(round);
    if (round % 2 == 0) fs::create_directory(wanted);
    std::atomic<int> waiting = 0, winners = 0, odd = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (++waiting; waiting < 4;) std::this_thread::yield();
        try {
          RunDirectory::create(wanted, "x").write_text("recipe.toml", "x");
          ++winners;
        } catch (const Error& error) {
          const std::string text = error.what();
          if (text.find("another process") == text.npos && text.find("not empty") == text.npos)
            ++odd;
        }
      });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(winners == 1);
    CHECK(odd == 0);
  }
}

TEST_CASE("a foreign directory is left as it is") {
  const test::TemporaryDirectory dir;
  std::ofstream(dir / "thesis.txt") << "x";
  CHECK_THROWS_WITH(RunDirectory::create(dir.path(), "x"), Catch::Contains("not empty"));
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("marks that end no line cut nothing") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "x");
  run.append_metrics({{"epoch", 1}}, 1);
  const RunDirectory::Marks first = run.marks();
  run.append_metrics({{"epoch", 2}}, 2);
  const std::string whole = content(dir / "r/metrics.jsonl");
  for (int64_t bytes = 0; bytes <= static_cast<int64_t>(whole.size()) + 1; ++bytes) {
    if (bytes == 0 || bytes == first.metrics_bytes || bytes == static_cast<int64_t>(whole.size()))
      continue;
    CHECK_THROWS_WITH(run.rewind({.metrics_bytes = bytes, .results = 0}, 2),
                      Catch::Contains("metrics.jsonl") && Catch::Contains("put it back"));
    REQUIRE(content(dir / "r/metrics.jsonl") == whole);
  }
  run.rewind(first, 2);
  CHECK(content(dir / "r/metrics.jsonl") == whole.substr(0, first.metrics_bytes));
}

TEST_CASE("results carry their pictures beside them") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "x");
  run.write_result({{"evaluator", "circle"}, {"moment", "end"}},
                   {{"data", "dots", "image/svg+xml", "<svg/>"}});
  CHECK(content(dir / "r/results/00-end-circle-data.svg") == "<svg/>");
  CHECK(content(dir / "r/results/00-end-circle.json").find("results/00-end-circle-data.svg") !=
        std::string::npos);
}

TEST_CASE("the status says running, then how it ended") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "x");
  RunStatus status(run);
  CHECK(content(dir / "r/status.json").find("\"running\"") != std::string::npos);
  status.running({.stage = "train", .epoch = 3, .epochs = 10});
  status.ended("failed", "the loss is nan");
  const auto json = nlohmann::json::parse(content(dir / "r/status.json"));
  CHECK(json["state"] == "failed");
  CHECK(json["epoch"] == 3);
  CHECK(json["message"] == "the loss is nan");
}

TEST_CASE("the heart beats while nothing is said, and stops at the end") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "toy");
  RunStatus status(run);
  const auto seconds = [&] {
    return nlohmann::json::parse(content(dir / "r/status.json"))["seconds"].get<double>();
  };
  status.doing("evaluating knn");
  CHECK(nlohmann::json::parse(content(dir / "r/status.json"))["doing"] == "evaluating knn");
  const double before = seconds();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (seconds() == before && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(seconds() > before);
  status.ended("finished", "");
  CHECK(nlohmann::json::parse(content(dir / "r/status.json"))["doing"] == "");
}

TEST_CASE("what depends on the clock stands apart from results, and is cut with them") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "toy");
  const auto result = [](const char* moment) {
    return nlohmann::ordered_json{{"evaluator", "knn"}, {"moment", moment}, {"epoch", 1}};
  };
  const auto timed = [&] {
    std::istringstream lines(content(dir / "r/timing.jsonl"));
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      out.push_back(json.contains("result") ? json["result"].get<std::string>()
                                            : std::to_string(json["epoch"].get<int>()));
    }
    return out;
  };
  const auto epoch = [&](int number) {
    run.append_metrics({{"epoch", number}, {"loss", 0.5}}, number);
    run.append_timing({{"epoch", number}, {"seconds", 0.5}}, number);
  };
  run.write_result(result("start"), {}, 1.5);
  epoch(1);
  const RunDirectory::Marks marks = run.marks();
  run.write_result(result("epoch"), {}, 2.5);
  run.write_result(result("afterwards"), {}, 3.5);
  epoch(2);
  const std::string first = "results/00-start-knn.json", later = "results/afterwards-001-knn.json";
  using Lines = std::vector<std::string>;
  CHECK(timed() == Lines{first, "1", "results/01-epoch-knn.json", later, "2"});
  CHECK(content(dir / "r" / first).find("seconds") == std::string::npos);
  run.rewind(marks, 2);
  CHECK(timed() == Lines{first, "1", later});
  epoch(2);
  CHECK(timed() == Lines{first, "1", later, "2"});
}

TEST_CASE("a run begins as another one was, and takes nothing that this wrote later") {
  const test::TemporaryDirectory dir;
  RunDirectory other = RunDirectory::create(dir / "other", "toy");
  RunDirectory::Marks marks;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const nlohmann::ordered_json result = {{"evaluator", "knn"}, {"moment", "epoch"}};
    other.write_result(result, {{"p", "dots", "image/svg+xml", "<svg/>"}}, 1.5);
    other.append_metrics({{"epoch", epoch}, {"loss", 0.5}}, epoch);
    other.append_timing({{"epoch", epoch}, {"seconds", 0.5}}, epoch);
    if (epoch == 1) other.write_result({{"evaluator", "knn"}, {"moment", "afterwards"}}, {}, 2.5);
    if (epoch == 2) marks = other.marks();
  }
  RunDirectory run = RunDirectory::create(dir / "run", "toy");
  run.begin_as(dir / "other", marks);
  run.rewind(marks, 3);
  other.rewind(marks, 3);
  for (const char* file : {"metrics.jsonl", "metrics.csv"})
    CHECK(content(dir / "run" / file) == content(dir / "other" / file));
  const std::string timing = content(dir / "run/timing.jsonl");
  CHECK(std::count(timing.begin(), timing.end(), '\n') == 4);
  CHECK(timing.find("afterwards") == std::string::npos);
  std::vector<std::string> results;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "run/results")) {
    results.push_back(entry.path().filename());
    CHECK(content(entry.path()) == content(dir / "other/results" / results.back()));
  }
  std::sort(results.begin(), results.end());
  CHECK(results == std::vector<std::string>{"00-epoch-knn-p.svg", "00-epoch-knn.json",
                                            "01-epoch-knn-p.svg", "01-epoch-knn.json"});
  CHECK(run.results() == 2);
  CHECK_THROWS_WITH(RunDirectory::create(dir / "third", "toy")
                        .begin_as(dir / "other", {.metrics_bytes = 1'000'000, .results = 0}),
                    Catch::Contains("fewer lines"));
}

TEST_CASE("results without numbers are told, those made afterwards aside") {
  const test::TemporaryDirectory dir;
  RunDirectory run = RunDirectory::create(dir / "r", "toy");
  CHECK(run.failed_results().empty());
  for (const char* moment : {"start", "end", "afterwards"})
    run.write_result({{"evaluator", "knn"}, {"moment", moment}, {"epoch", 3}, {"error", "no"}}, {});
  run.write_result({{"evaluator", "tsne"}, {"moment", "end"}, {"epoch", 3}}, {});
  CHECK(run.failed_results() ==
        std::vector<std::string>{"knn at start, epoch 3: no", "knn at end, epoch 3: no"});
}

}  // namespace
