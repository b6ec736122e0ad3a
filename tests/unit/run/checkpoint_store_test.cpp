#include "run/checkpoint_store.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <ATen/ops/arange.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <sstream>

namespace {

using namespace gh;
using namespace gh::host;
namespace fs = std::filesystem;

TensorFile content(int64_t value) {
  TensorFile out;
  out.tensors.emplace_back("a", at::arange(value, value + 40));
  out.metadata.emplace("note", "anything");
  return out;
}

std::vector<std::string> names(const CheckpointStore& store) {
  std::vector<std::string> out;
  for (const fs::path& file : store.files()) out.push_back(file.stem().string());
  return out;
}

void ignore(const std::string&) {}

TEST_CASE("checkpoints: the newest are kept, and the best besides") {
  const test::TemporaryDirectory dir;
  CheckpointStore store(dir.path(), {.keep = 2, .best = 2, .largest_is_best = false});
  const double scores[] = {5, 1, 4, 1, 3, NAN, 9};
  for (int64_t i = 0; i < 7; ++i) store.save(i, content(i), scores[i]);
  // Steps 1 and 3 have the smallest score, 5 and 6 are the newest.
  CHECK(names(store) == std::vector<std::string>{"step-000000001", "step-000000003",
                                                 "step-000000005", "step-000000006"});
  CHECK(store.newest(ignore)->content.at("a")[0].item<int64_t>() == 6);
  CHECK(store.best()->content.at("a")[0].item<int64_t>() == 1);

  // Going on from step 5 forgets what came after it, and remembers which were best.
  const Checkpoint five{store.files()[2], read_checkpoint(store.files()[2])};
  CheckpointStore again(dir.path(), {.keep = 1, .best = 2, .largest_is_best = false});
  again.go_on_from(five);
  CHECK(names(again).back() == "step-000000005");
  again.save(6, content(6), 0.5);
  CHECK(names(again) == std::vector<std::string>{"step-000000001", "step-000000006"});
}

TEST_CASE("checkpoints: one that is to stay does, whatever comes after it") {
  const test::TemporaryDirectory dir;
  CheckpointStore store(dir.path(), {.keep = 1});
  store.save(1, content(1), {});
  store.keep_newest();
  store.keep_newest();
  for (int64_t step = 2; step < 5; ++step) store.save(step, content(step), {});
  CHECK(names(store) == std::vector<std::string>{"step-000000004"});
  CHECK(store.newest(ignore)->content.at("a")[0].item<int64_t>() == 4);
  const std::vector<fs::path> all = store.files_and_kept();
  REQUIRE(all.size() == 2);
  CHECK(all.front() == dir / "kept/step-000000001.safetensors");
  CHECK(read_checkpoint(all.front()).at("a")[0].item<int64_t>() == 1);
}

TEST_CASE("checkpoints: one of another run keeps its list of the best, and removes nothing") {
  const test::TemporaryDirectory dir, other;
  const CheckpointPlan plan{.keep = 1, .best = 2};
  CheckpointStore store(dir.path(), plan), adopted(other.path(), plan);
  for (int64_t step = 1; step < 4; ++step) store.save(step, content(step), step == 2 ? 9 : 1);
  const Checkpoint newest = *store.newest(ignore);
  CHECK(CheckpointStore::best_steps(newest) == std::vector<int64_t>{2, 1});
  for (const int64_t step : {1, 2, 3})
    if (fs::exists(store.file_of(step))) adopted.adopt(step, read_checkpoint(store.file_of(step)));
  CHECK(names(adopted) == names(store));
  CHECK(adopted.best()->file == adopted.file_of(2));
  for (const fs::path& file : store.files()) {
    std::ostringstream a, b;
    a << std::ifstream(file, std::ios::binary).rdbuf();
    b << std::ifstream(other / "checkpoints" / file.filename(), std::ios::binary).rdbuf();
    CHECK(a.str() == b.str());
  }
}

TEST_CASE("checkpoints: damage anywhere is noticed, and the one before is used") {
  const test::TemporaryDirectory dir;
  CheckpointStore store(dir.path(), {});
  store.save(1, content(1), {});
  store.save(2, content(2), {});
  const fs::path file = store.files().back();
  std::ostringstream read;
  read << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string bytes = read.str();
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    if (bytes[at] == ' ') continue;  // padding of the header carries nothing
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    std::vector<std::string> told;
    const auto found = store.newest([&](const std::string& text) { told.push_back(text); });
    INFO("byte " << at);
    REQUIRE(found.has_value());
    CHECK(found->content.at("a")[0].item<int64_t>() == 1);
    REQUIRE(told.size() == 1);
    CHECK(told[0].find("before it is used") != std::string::npos);
  }
  for (const fs::path& each : store.files()) std::ofstream(each) << "x";
  CHECK_FALSE(store.newest(ignore).has_value());
}

TEST_CASE("checkpoints: a list of the best that makes no sense is refused as damage") {
  const test::TemporaryDirectory dir;
  const CheckpointPlan plan{.keep = 1, .best = 1};
  for (const char* list :
       {"", "{}", "[[1]]", "[[0.5, \"x\"]]", "[[0.5, 1.5]]", "[null]", "not there"}) {
    CheckpointStore(dir.path(), plan).save(3, content(3), 0.5);
    CheckpointStore store(dir.path(), plan);
    TensorFile changed = read_checkpoint(store.files()[0]);
    changed.metadata["best"] = list;
    if (list == std::string("not there")) changed.metadata.erase("best");
    changed.metadata["sha256"] = checkpoint_checksum(changed);
    write_safetensors(store.files()[0], changed);
    INFO(list);
    const auto newest = store.newest(ignore);
    REQUIRE(newest);
    CHECK_THROWS_WITH(store.best(), Catch::Contains("damaged list of the best checkpoints"));
    CHECK_THROWS_AS(store.go_on_from(*newest), Error);
  }
}

TEST_CASE("checkpoints: other files in the directory are left alone") {
  const test::TemporaryDirectory dir;
  CheckpointStore store(dir.path(), {.keep = 1});
  fs::create_directories(dir.path() / "checkpoints");
  for (const char* name : {"step-x.safetensors", "notes.txt", "step-000000001.safetensors.tmp"})
    std::ofstream(dir.path() / "checkpoints" / name) << "x";
  store.save(10, content(0), {});
  store.save(1'000'000'000'000, content(1), {});
  CHECK(names(store) == std::vector<std::string>{"step-1000000000000"});
  CHECK(fs::exists(dir.path() / "checkpoints/notes.txt"));
}

}  // namespace
