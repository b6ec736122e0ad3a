// Right checksums for the stored members of a zip archive, so that damage inside them gets past the
// comparison.
#pragma once

#include "support/numbers.hpp"

#include <cstring>
#include <string_view>

namespace gh::test {

inline uint32_t crc32_of(const uint8_t* data, std::size_t size) {
  uint32_t crc = 0xffffffff;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

inline Bytes with_right_checksums(Bytes zip) {
  const auto number = [&](std::size_t at, int width) {
    std::size_t value = 0;
    for (int i = width - 1; i >= 0; --i) value = value << 8 | zip[at + static_cast<std::size_t>(i)];
    return value;
  };
  for (std::size_t entry = 0; entry + 46 <= zip.size(); ++entry) {
    if (std::memcmp(&zip[entry], "PK\1\2", 4) != 0) continue;
    const std::size_t size = number(entry + 24, 4), local = number(entry + 42, 4);
    if (local + 30 > zip.size()) continue;
    const std::size_t begin = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    if (begin > zip.size() || size > zip.size() - begin) continue;
    const uint32_t crc = crc32_of(zip.data() + begin, size);
    std::memcpy(&zip[entry + 16], &crc, 4);
    std::memcpy(&zip[local + 14], &crc, 4);
  }
  return zip;
}

}  // namespace gh::test
