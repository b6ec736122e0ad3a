#include "run/tensorboard.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

template <class T>
void append_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

// A checksum of data that hold checksums is weak, so the format turns and shifts it.
uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

// ---- protocol buffers: each field is a key of number and kind, then the value ----

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void add_integer(std::string& out, int field, int64_t value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 0);
  append_varint(out, static_cast<uint64_t>(value));
}
void add_double(std::string& out, int field, double value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 1);
  append_little_endian(out, std::bit_cast<uint64_t>(value));
}
void add_bytes(std::string& out, int field, std::string_view value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  append_varint(out, value.size());
  out += value;
}
void add_float(std::string& out, int field, float value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 5);
  append_little_endian(out, std::bit_cast<uint32_t>(value));
}

std::string event_at(double wall_time, int64_t step) {
  std::string out;
  add_double(out, 1, wall_time);
  if (step != 0) add_integer(out, 2, step);
  return out;
}

// ---- files ----

// Whole seconds, later than in the name of every event file that is there.
int64_t next_second(const fs::path& directory, int64_t now) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix))
      now = std::max<int64_t>(now, std::atoll(name.c_str() + kPrefix.size()) + 1);
  }
  return now;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 && name[0] ? name : "localhost";
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t value = ~0u;
  for (const char c : bytes)
    value = kCrcTable[(value ^ static_cast<unsigned char>(c)) & 0xFF] ^ (value >> 8);
  return ~value;
}

std::string framed_record(std::string_view payload) {
  std::string out;
  append_little_endian(out, static_cast<uint64_t>(payload.size()));
  append_little_endian(out, masked_crc(out));
  out += payload;
  append_little_endian(out, masked_crc(payload));
  return out;
}

EventWriter::EventWriter(const fs::path& directory, int64_t purge_from_step) {
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, ErrorCode::io, "cannot create ", directory.string(), ": ", error.message());
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  file_ = directory / fmt::format("{}{:010}.{}.{}", kPrefix,
                                  next_second(directory, static_cast<int64_t>(now)), host_name(),
                                  ::getpid());
  out_.open(file_, std::ios::binary);
  require(out_.good(), ErrorCode::io, "cannot create ", file_.string(), ": ", std::strerror(errno));
  std::string version = event_at(now, 0);
  add_bytes(version, 3, "brain.Event:2");
  write(version);
  if (purge_from_step >= 0) {
    std::string started;
    add_integer(started, 1, 1);  // status START
    std::string session = event_at(now, purge_from_step);
    add_bytes(session, 7, started);
    write(session);
  }
  flush();
}

void EventWriter::scalar(std::string_view tag, int64_t step, double value, double wall_time) {
  std::string point;
  add_bytes(point, 1, tag);
  add_float(point, 2, static_cast<float>(value));
  std::string summary;
  add_bytes(summary, 1, point);
  std::string event = event_at(wall_time, step);
  add_bytes(event, 5, summary);
  write(event);
}

void EventWriter::write(std::string_view payload) { out_ << framed_record(payload); }

void EventWriter::flush() {
  out_.flush();
  require(out_.good(), ErrorCode::io, "cannot write ", file_.string(), ": ", std::strerror(errno));
}

}  // namespace gh::host
