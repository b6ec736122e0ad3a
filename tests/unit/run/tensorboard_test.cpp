#include "run/tensorboard.hpp"

#include "gh/error.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>

namespace {

using namespace gh;
using namespace gh::host;
using namespace std::string_literals;
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char c : bytes) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

// Check values of RFC 3720 and of the catalogue of parametrised CRC algorithms.
TEST_CASE("CRC-32C has its known answers") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
}

// The length 3 and "abc", masked by hand: rotate right by 15, add 0xa282ead8.
TEST_CASE("a record is length, checksum, payload, checksum") {
  const std::string record = framed_record("abc");
  REQUIRE(record.size() == 8 + 4 + 3 + 4);
  CHECK(record.substr(0, 8) == "\3\0\0\0\0\0\0\0"s);
  CHECK(record.substr(12, 3) == "abc");
  const auto masked = [](uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; };
  const auto stored = [&](std::size_t at) {
    uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(record[at + i]);
    return value;
  };
  CHECK(stored(8) == masked(crc32c(record.substr(0, 8))));
  CHECK(crc32c("abc") == 0x364B3FB7u);
  CHECK(stored(15) == masked(0x364B3FB7u));
}

TEST_CASE("events are what TensorBoard's definitions encode") {
  const test::TemporaryDirectory dir;
  EventWriter writer(dir / "made/here", -1);
  const std::size_t begin = content(writer.file()).size();
  CHECK(content(writer.file()).find("brain.Event:2") != std::string::npos);
  writer.scalar("loss", 300, 0.5, 1.0);
  writer.flush();
  // 1: double 1.0; 2: varint 300; 5: {1: {1: "loss", 2: float 0.5}}
  CHECK(hex(content(writer.file()).substr(begin + 12, 27)) ==
        "09000000000000f03f"
        "10ac02"
        "2a0d0a0b0a046c6f7373150000003f");
  CHECK(content(writer.file()).size() == begin + 12 + 27 + 4);
  CHECK(writer.file().filename().string().starts_with("events.out.tfevents."));
}

TEST_CASE("a later file has a later name, and says from where it goes on") {
  const test::TemporaryDirectory dir;
  const EventWriter first(dir.path(), -1), second(dir.path(), 5), third(dir.path(), 5);
  CHECK(first.file().string() < second.file().string());
  CHECK(second.file().string() < third.file().string());
  // 2: varint 5; 7: {1: START}
  CHECK(content(second.file()).find("\x10\x05\x3a\x02\x08\x01") != std::string::npos);
  CHECK(content(first.file()).find("\x3a\x02\x08\x01") == std::string::npos);
}

TEST_CASE("a directory that cannot be made is an io error") {
  const test::TemporaryDirectory dir;
  std::ofstream(dir / "file") << "x";
  CHECK_THROWS_AS(EventWriter(dir / "file/below", -1), Error);
}

// Not a test of its own: what integration/test_tensorboard.py reads with TensorBoard itself. A run
// of five steps, resumed after the third.
TEST_CASE("events for TensorBoard, into GH_EVENT_DIRECTORY", "[.events]") {
  const char* directory = std::getenv("GH_EVENT_DIRECTORY");
  REQUIRE(directory);
  EventWriter first(directory, -1);
  for (int64_t step = 1; step <= 5; ++step) {
    first.scalar("loss", step, 1.0 / static_cast<double>(step), 1e9 + static_cast<double>(step));
    first.scalar("größe/ünïcode", step, -1e30, 1e9);
  }
  first.flush();
  EventWriter resumed(directory, 4);
  resumed.scalar("loss", 4, 40, 2e9);
  resumed.scalar("loss", 3000000000, std::numeric_limits<double>::quiet_NaN(), 2e9);
  resumed.flush();
}

}  // namespace
