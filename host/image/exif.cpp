#include "image/exif.hpp"

namespace gh::host {
namespace {

// Reads beyond the end give 0, which no caller takes for an orientation.
class TiffBlock {
 public:
  TiffBlock(std::span<const uint8_t> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(uint64_t offset) const {
    if (offset + 2 > bytes_.size()) return 0;
    const uint32_t first = bytes_[offset], second = bytes_[offset + 1];
    return big_endian_ ? first << 8 | second : second << 8 | first;
  }
  uint32_t u32(uint64_t offset) const {
    const uint32_t first = u16(offset), second = u16(offset + 2);
    return big_endian_ ? first << 16 | second : second << 16 | first;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

constexpr uint32_t kOrientationTag = 0x0112, kShort = 3, kLong = 4;
constexpr int kEntryBytes = 12;

}  // namespace

int exif_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const TiffBlock block(tiff, tiff[0] == 'M');
  if (block.u16(2) != 42) return 1;

  const uint64_t directory = block.u32(4);
  const uint32_t entries = block.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + uint64_t{kEntryBytes} * i;
    if (entry + kEntryBytes > tiff.size()) break;
    if (block.u16(entry) != kOrientationTag) continue;
    const uint32_t type = block.u16(entry + 2), count = block.u32(entry + 4);
    if (count != 1 || (type != kShort && type != kLong)) return 1;
    const uint32_t value = type == kShort ? block.u16(entry + 8) : block.u32(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace gh::host
