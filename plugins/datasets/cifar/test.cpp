#include "support/places.hpp"
#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

using namespace gh;
using Catch::Contains;
using test::TemporaryDirectory;

class KeptPixels final : public SampleSink {
 public:
  void vector(std::span<const float>) override { FAIL("a vector"); }
  void encoded(std::span<const uint8_t>, std::string_view) override { FAIL("a file"); }
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override {
    REQUIRE(height == 32);
    REQUIRE(width == 32);
    REQUIRE(channels == 3);
    kept.assign(values.begin(), values.end());
  }
  std::vector<uint8_t> kept;
};

uint8_t pixel(int record, int channel, int row, int column) {
  return static_cast<uint8_t>(97 * record + 61 * channel + 31 * row + column);
}

// A record as the files hold it: labels, then the planes.
std::string record(int number, std::initializer_list<int> labels) {
  std::string bytes;
  for (const int label : labels) bytes += static_cast<char>(label);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) bytes += static_cast<char>(pixel(number, c, y, x));
  return bytes;
}

std::string names(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "class " + std::to_string(i) + "\n";
  return text + "\n";
}

auto cifar(const std::filesystem::path& root, const std::string& more = "") {
  return test::load<Dataset>("cifar", "root = '" + root.string() + "'\n" + more);
}

void expect_failure(const std::filesystem::path& root, const std::string& more, ErrorCode code,
                    std::initializer_list<const char*> parts) {
  auto dataset = cifar(root, more);
  try {
    dataset->open("train", 0);
    FAIL("opened " << root);
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.code() == code);
    for (const char* part : parts) CHECK_THAT(e.what(), Contains(part));
  }
}

void write_cifar10(const TemporaryDirectory& dir, const std::string& folder) {
  for (int k = 1; k <= 5; ++k)
    dir.write(folder + "data_batch_" + std::to_string(k) + ".bin",
              record(2 * k, {k}) + record(2 * k + 1, {9 - k}));
  dir.write(folder + "test_batch.bin", record(0, {7}));
}

TEST_CASE("cifar turns planes into pixels") {
  TemporaryDirectory dir;
  dir.write("train.bin", record(0, {19, 99}) + record(1, {0, 1}) + record(2, {3, 0}));
  auto dataset = cifar(dir.path());
  const auto split = dataset->open("train", 0);
  REQUIRE(split->size() == 3);
  CHECK(split->sample_shape() == std::vector<int64_t>{3, 32, 32});
  CHECK(split->class_names().empty());
  for (int i = 0; i < 3; ++i) {
    KeptPixels sink;
    split->read(i, sink);
    REQUIRE(sink.kept.size() == 3072);
    bool same = true;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        for (int c = 0; c < 3; ++c)
          same &= sink.kept[static_cast<std::size_t>((y * 32 + x) * 3 + c)] == pixel(i, c, y, x);
    CHECK(same);
  }
}

TEST_CASE("cifar says which file was made shorter while it was in use") {
  TemporaryDirectory dir;
  const auto file = dir.write("train.bin", record(0, {1, 2}) + record(1, {3, 4}));
  auto dataset = cifar(dir.path());
  const auto split = dataset->open("train", 0);
  for (const std::uintmax_t size : {4000, 0}) {
    std::filesystem::resize_file(file, size);
    KeptPixels sink;
    CHECK_THROWS_WITH(split->read(1, sink), Contains(file.string()) && Contains("made shorter"));
    CHECK(sink.kept.empty());
  }
  CHECK_THROWS_WITH(split->fingerprint(), Contains("made shorter"));
  CHECK(split->targets()[1].item<int64_t>() == 4);
}

TEST_CASE("cifar gives fine or coarse labels of CIFAR-100, with their names") {
  TemporaryDirectory dir;
  dir.write("cifar-100-binary/train.bin", record(0, {19, 99}) + record(1, {0, 1}));
  dir.write("cifar-100-binary/fine_label_names.txt", names(100));
  dir.write("cifar-100-binary/coarse_label_names.txt", names(20));
  auto fine = cifar(dir.path());
  auto coarse = cifar(dir.path(), "labels = 'coarse'");
  const auto fine_split = fine->open("train", 0), coarse_split = coarse->open("train", 0);
  CHECK(fine_split->targets()[0].item<int64_t>() == 99);
  CHECK(fine_split->targets()[1].item<int64_t>() == 1);
  CHECK(fine_split->class_names().size() == 100);
  CHECK(coarse_split->targets()[0].item<int64_t>() == 19);
  CHECK(coarse_split->targets()[1].item<int64_t>() == 0);
  CHECK(coarse_split->class_names().size() == 20);
  CHECK(coarse_split->class_names()[19] == "class 19");

  dir.write("cifar-100-binary/fine_label_names.txt", names(99));
  expect_failure(dir.path(), "", ErrorCode::io, {"fine_label_names.txt", "99", "expected 100"});
}

TEST_CASE("cifar reads the five files of CIFAR-10 in order") {
  TemporaryDirectory dir;
  write_cifar10(dir, "cifar-10-batches-bin/");
  dir.write("cifar-10-batches-bin/batches.meta.txt", names(10));
  auto above = cifar(dir.path());
  const auto split = above->open("train", 0);
  REQUIRE(split->size() == 10);
  for (int k = 1; k <= 5; ++k) {
    CHECK(split->targets()[2 * k - 2].item<int64_t>() == k);
    CHECK(split->targets()[2 * k - 1].item<int64_t>() == 9 - k);
    KeptPixels sink;
    split->read(2 * k - 1, sink);
    CHECK(sink.kept[0] == pixel(2 * k + 1, 0, 0, 0));
  }
  CHECK(split->class_names().size() == 10);
  auto inside = cifar(dir / "cifar-10-batches-bin", "variant = 'cifar10'");
  CHECK(inside->open("train", 0)->fingerprint() == split->fingerprint());
  CHECK(inside->open("test", 0)->targets()[0].item<int64_t>() == 7);
  CHECK_THROWS_WITH(inside->open("validation", 0), Contains("train and test"));
}

TEST_CASE("cifar has the digest of its files as fingerprint, from any thread") {
  TemporaryDirectory dir;
  dir.write("100/train.bin", std::string(3074, '\0'));
  for (int k = 0; k < 5; ++k)
    dir.write("10/data_batch_" + std::to_string(k + 1) + ".bin",
              std::string(3073, static_cast<char>(k)));
  auto hundred = cifar(dir / "100"), ten = cifar(dir / "10");
  const auto split = hundred->open("train", 0);
  std::string other;
  std::thread thread([&] { other = split->fingerprint(); });
  const std::string here = split->fingerprint();
  thread.join();
  CHECK(here == other);
  CHECK(here == "sha256:ff61f3a87b9944d67e053a3c595c810ad1b65ff6c4fdddac0a165ad839d42111");
  CHECK(ten->open("train", 0)->fingerprint() ==
        "sha256:f98c27651e709ef9d9e1db057c0cff93d5fba1356d60a1bf641d285ee0974be4");
}

TEST_CASE("cifar says what to fetch when there is nothing") {
  TemporaryDirectory dir;
  const char* const url10 = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz | tar -xz -C";
  const char* const url100 = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz | tar -xz";
  expect_failure(dir / "none", "", ErrorCode::missing_data,
                 {"none", "does not exist", "binary version", "curl", url10, url100});
  expect_failure(dir.path(), "variant = 'cifar100'", ErrorCode::missing_data,
                 {"holds no CIFAR files", url100});
  // Unpacking makes the folder itself.
  const std::string above = "-C '" + dir.path().string() + "'";
  expect_failure(dir / "cifar-100-binary", "variant = 'cifar100'", ErrorCode::missing_data,
                 {above.c_str()});
  dir.write("train.bin", record(0, {1, 1}));
  expect_failure(dir.path(), "variant = 'cifar10'", ErrorCode::missing_data,
                 {"holds CIFAR-100", url10});
  expect_failure(dir / "train.bin", "", ErrorCode::invalid_param, {"is a file", "directory"});
  CHECK_THROWS_WITH(cifar(dir.path())->open("test", 0), Contains("test.bin is missing"));
}

TEST_CASE("cifar says how to unpack an archive") {
  TemporaryDirectory dir;
  dir.write("cifar-100-binary.tar.xz", "");
  expect_failure(dir.path(), "", ErrorCode::missing_data,
                 {"cifar-100-binary.tar.xz", "not unpacked", "tar -xf", "-C"});
  expect_failure(dir.path(), "variant = 'cifar10'", ErrorCode::missing_data, {"holds no CIFAR"});
  expect_failure(dir / "cifar-100-binary.tar.xz", "", ErrorCode::missing_data,
                 {"is an archive", "tar -xf", "set root"});
  dir.write("python/cifar-10-python.tar.gz", "");
  expect_failure(dir / "python", "", ErrorCode::missing_data, {"Python version", "binary"});
}

TEST_CASE("cifar recognises the Python version") {
  TemporaryDirectory dir;
  dir.write("a/data_batch_1", "");
  dir.write("b/train", "");
  dir.write("c/meta", "");
  dir.write("d/cifar-10-batches-py/data_batch_1", "");
  for (const char* place : {"a", "b", "c", "d"})
    expect_failure(dir / place, "", ErrorCode::missing_data,
                   {"Python version", "pickled", "binary version", "curl"});
  dir.write("e/train/image.jpg", "");  // a directory is no pickle
  expect_failure(dir / "e", "", ErrorCode::missing_data, {"holds no CIFAR files"});
}

TEST_CASE("cifar refuses damaged files") {
  TemporaryDirectory dir;
  dir.write("short/train.bin", record(0, {1, 1}) + "x");
  expect_failure(dir / "short", "", ErrorCode::io,
                 {"train.bin has 3075 bytes", "multiple of 3074", "truncated"});
  dir.write("empty/train.bin", "");
  expect_failure(dir / "empty", "", ErrorCode::io, {"has 0 bytes", "truncated"});
  dir.write("fine/train.bin", record(0, {1, 1}) + record(1, {0, 100}));
  expect_failure(dir / "fine", "", ErrorCode::io,
                 {"train.bin, record 1: fine label 100, expected 0 … 99"});
  dir.write("coarse/train.bin", record(0, {20, 1}));
  expect_failure(dir / "coarse", "", ErrorCode::io, {"record 0: coarse label 20, expected 0 … 19"});
  write_cifar10(dir, "ten/");
  dir.write("ten/data_batch_3.bin", record(0, {10}));
  expect_failure(dir / "ten", "", ErrorCode::io, {"data_batch_3.bin, record 0: label 10", "0 … 9"});
  std::filesystem::remove(dir / "ten/data_batch_4.bin");
  dir.write("ten/data_batch_3.bin", record(0, {1}));
  expect_failure(dir / "ten", "", ErrorCode::missing_data, {"data_batch_4.bin is missing", "curl"});
}

TEST_CASE("cifar refuses choices that do not fit the files") {
  TemporaryDirectory dir;
  write_cifar10(dir, "cifar-10-batches-bin/");
  expect_failure(dir.path(), "labels = 'coarse'", ErrorCode::invalid_param, {"CIFAR-100"});
  dir.write("cifar-100-binary/train.bin", record(0, {1, 1}));
  expect_failure(dir.path(), "", ErrorCode::invalid_param, {"both", "set variant"});
  CHECK(cifar(dir.path(), "variant = 'cifar100'")->open("train", 0)->size() == 1);

  auto loaded = cifar(dir.path(), "variant = 'cifar10'\nlabels = 'coarse'");
  test::CollectedComplaints complaints;
  test::bundled_plugins()
      .info(GH_KIND_DATASET, "cifar")
      .validate(loaded.params.get(), static_cast<Complaints*>(&complaints));
  CHECK(complaints.text == "labels: CIFAR-10 has no coarse labels\n");
}

TEST_CASE("cifar opens a whole CIFAR-100") {
  const std::filesystem::path place = test::data_dir();
  if (!std::filesystem::exists(place / "cifar-100-binary/train.bin")) {
    std::cerr << "SKIPPED: " << place << " has no cifar-100-binary; set GH_DATA\n";
    return;
  }
  auto dataset = cifar(place);
  const auto split = dataset->open("train", 0);
  REQUIRE(split->size() == 50000);
  CHECK(split->class_names().front() == "apple");
  at::Tensor sorted = std::get<0>(split->targets().sort());
  for (int64_t c = 0; c < 100; ++c) {
    CHECK(sorted[500 * c].item<int64_t>() == c);
    CHECK(sorted[500 * c + 499].item<int64_t>() == c);
  }
  CHECK(dataset->open("test", 0)->size() == 10000);
}

}  // namespace
