#include "weights/safetensors.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <fstream>

namespace {

using namespace gh;
using namespace gh::host;

TensorFile sample_file() {
  TensorFile file;
  file.metadata["name"] = "täst \"quoted\"";
  file.tensors.emplace_back("weights", at::randn({3, 4}));
  file.tensors.emplace_back("transposed", at::randn({3, 4}, at::kDouble).t());
  file.tensors.emplace_back("count", at::zeros({}, at::kLong));
  file.tensors.emplace_back("mask", at::arange(5) > 2);
  file.tensors.emplace_back("nothing", at::empty({0, 7}, at::kHalf));
  file.tensors.emplace_back("bytes", at::arange(5, at::kByte));
  return file;
}

TEST_CASE("safetensors come back as they were, any dtype and stride") {
  const test::TemporaryDirectory dir;
  const TensorFile file = sample_file();
  write_safetensors(dir / "a.safetensors", file);
  const TensorFile back = read_safetensors(dir / "a.safetensors");
  CHECK(back.metadata == file.metadata);
  REQUIRE(back.tensors.size() == file.tensors.size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    CHECK(back.tensors[i].first == file.tensors[i].first);
    CHECK(back.tensors[i].second.scalar_type() == file.tensors[i].second.scalar_type());
    CHECK(back.tensors[i].second.equal(file.tensors[i].second));
  }
}

TEST_CASE(
    "a damaged file is refused at every length and for every flipped header byte, never read "
    "beyond") {
  const test::TemporaryDirectory dir;
  write_safetensors(dir / "a.safetensors", sample_file());
  std::ifstream in(dir / "a.safetensors", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto try_read = [&](const std::string& content) {
    std::ofstream(dir / "b.safetensors", std::ios::binary) << content;
    try {
      read_safetensors(dir / "b.safetensors");
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (std::size_t length = 0; length + 1 < bytes.size(); length += 7)
    CHECK_FALSE(try_read(bytes.substr(0, length)));
  for (std::size_t i = 0; i < 300 && i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x11);
    try_read(flipped);  // may be readable or not; must not crash
  }
}

// A file of `data` bytes with the header as it is given.
std::string with_header(const std::string& header, std::size_t data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(data, '\1');
}

std::string entry(const std::string& name, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name,
                     end - begin, begin, end);
}

TEST_CASE("names that are there twice, overlaps, holes and bytes of no tensor are refused") {
  const test::TemporaryDirectory dir;
  const auto refusal = [&](const std::string& entries, std::size_t data) -> std::string {
    try {
      read_safetensors(
          dir.write("a.safetensors", with_header(fmt::format("{{{}}}", entries), data)));
      return "was read";
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      return error.what();
    }
  };
  CHECK(refusal(entry("b", 4, 8) + "," + entry("a", 0, 4), 8) == "was read");
  CHECK(refusal(entry("a", 0, 0) + "," + entry("b", 0, 4) + "," + entry("c", 4, 4), 4) ==
        "was read");
  CHECK_THAT(refusal(entry("a", 0, 4) + "," + entry("a", 4, 8), 8),
             Catch::Contains("a is there twice"));
  CHECK_THAT(refusal("\"__metadata__\":{},\"__metadata__\":{}", 0), Catch::Contains("twice"));
  CHECK_THAT(refusal(entry("a", 0, 4) + "," + entry("b", 0, 4), 4), Catch::Contains("overlaps"));
  CHECK_THAT(refusal(entry("a", 0, 6) + "," + entry("b", 4, 8), 8), Catch::Contains("overlaps"));
  CHECK_THAT(refusal(entry("a", 0, 4) + "," + entry("b", 5, 8), 8),
             Catch::Contains("b is preceded by data of no tensor"));
  CHECK_THAT(refusal(entry("a", 1, 4), 4), Catch::Contains("preceded"));
  CHECK_THAT(refusal(entry("a", 0, 4), 6), Catch::Contains("2 bytes after the last tensor"));
  CHECK_THAT(refusal(entry("a", 0, 4), 3), Catch::Contains("outside the file"));
  for (const char* numbers :
       {R"("shape":[2.5],"data_offsets":[0,2])", R"("shape":[-2],"data_offsets":[0,2])",
        R"("shape":[2],"data_offsets":[0.5,2])", R"("shape":[2],"data_offsets":[1e39,2])",
        R"("shape":2,"data_offsets":[0,2])",
        R"("shape":[18446744073709551615],"data_offsets":[0,2])"})
    CHECK_THAT(refusal(fmt::format(R"("a":{{"dtype":"U8",{}}})", numbers), 2),
               Catch::Contains("whole numbers, none of them negative"));
  CHECK_THAT(refusal(R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2,4]})", 2),
             Catch::Contains("3 offsets instead of two"));
}

TEST_CASE("a header nested 80,000 deep is refused") {
  const test::TemporaryDirectory dir;
  const std::string deep =
      fmt::format("{{\"a\":{}{}}}", std::string(80'000, '['), std::string(80'000, ']'));
  CHECK_THROWS_WITH(read_safetensors(dir.write("a.safetensors", with_header(deep, 0))),
                    Catch::Contains("nested too deeply"));
}

// Takes minutes where every name is looked for among all others.
TEST_CASE("a hundred thousand names are read, found and written") {
  const test::TemporaryDirectory dir;
  constexpr int kCount = 100'000;
  std::string header;
  for (int i = 0; i < kCount; ++i) {
    header += i == 0 ? '{' : ',';
    header += entry(fmt::format("t{}", i), i, i + 1);
  }
  header += '}';
  const TensorFile file = read_safetensors(dir.write("a.safetensors", with_header(header, kCount)));
  REQUIRE(file.tensors.size() == kCount);
  bool found = true;
  for (int i = 0; i < kCount; ++i) found = found && file.has(fmt::format("t{}", i));
  CHECK(found);
  write_safetensors(dir / "b.safetensors", file);
  CHECK(std::filesystem::file_size(dir / "b.safetensors") >
        std::filesystem::file_size(dir / "a.safetensors") - 8);
}

TEST_CASE("a tensor's name must be text and its own") {
  const test::TemporaryDirectory dir;
  TensorFile file = sample_file();
  CHECK_THROWS_WITH(file.tensors.emplace_back("weights", at::zeros({1})), Catch::Contains("twice"));
  file.tensors.emplace_back("bad\xff", at::zeros({1}));
  CHECK_THROWS_WITH(write_safetensors(dir / "a.safetensors", file), Catch::Contains("bad\\xff"));
}

TEST_CASE("a missing file and a missing tensor say so") {
  CHECK_THROWS_WITH(read_safetensors("/nowhere/x.safetensors"),
                    Catch::Contains("/nowhere/x.safetensors"));
  CHECK_THROWS_WITH(sample_file().at("other"), Catch::Contains("other"));
}

}  // namespace
