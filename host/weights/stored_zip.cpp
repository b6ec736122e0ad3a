#include "weights/stored_zip.hpp"

#include "gh/error.hpp"
#include "text/plain_text.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

static_assert(std::endian::native == std::endian::little, "zip is little-endian");

// Fixed parts of the records, in bytes; the names are those of the zip specification.
constexpr uint64_t kLocalHeader = 30;
constexpr uint64_t kDirectoryEntry = 46;
constexpr uint64_t kEnd = 22;
constexpr uint64_t kEnd64Locator = 20;
constexpr uint64_t kEnd64 = 56;
constexpr uint64_t kLongestComment = 0xffff;
constexpr uint64_t kDirectoryCap = 256u << 20;

constexpr std::string_view kLocalMark = "PK\3\4";
constexpr std::string_view kEntryMark = "PK\1\2";
constexpr std::string_view kEndMark = "PK\5\6";
constexpr std::string_view kEnd64LocatorMark = "PK\6\7";
constexpr std::string_view kEnd64Mark = "PK\6\6";

// The little-endian number at `offset`; callers have checked that it lies inside.
template <class T>
uint64_t number(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Sizes and offsets that do not fit 32 bits are in an extra field with id 1, in this order, and
// only those whose place holds all ones.
void take_zip64(std::string_view extra, uint64_t& size, uint64_t& packed, uint64_t& header) {
  while (extra.size() >= 4) {
    const uint64_t id = number<uint16_t>(extra, 0), length = number<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return;
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (uint64_t* value : {&size, &packed, &header}) {
      if (*value != 0xffffffff || field.size() < 8) continue;
      *value = number<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
  }
}

uint32_t checksum(const char* bytes, uint64_t size) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes), static_cast<z_size_t>(size)));
}

}  // namespace

StoredZip::StoredZip(const std::filesystem::path& file)
    : source_(file.string()), in_(file, std::ios::binary) {
  require(in_.good(), ErrorCode::missing_data, "cannot open ", source_);
  file_size_ = std::filesystem::file_size(file);
  read_directory();
  require_disjoint();
}

std::string StoredZip::bytes_at(uint64_t offset, uint64_t size) {
  require(offset <= file_size_ && size <= file_size_ - offset, ErrorCode::io, source_,
          ": truncated or damaged archive");
  std::string out(size, '\0');
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  in_.read(out.data(), static_cast<std::streamsize>(size));
  require(in_.gcount() == static_cast<std::streamsize>(size), ErrorCode::io, "cannot read ",
          source_);
  return out;
}

void StoredZip::read_directory() {
  const uint64_t tail_size = std::min(file_size_, kEnd + kLongestComment + kEnd64Locator);
  const std::string tail = bytes_at(file_size_ - tail_size, tail_size);
  const std::size_t end = tail.rfind(kEndMark);
  require(end != std::string::npos && tail.size() - end >= kEnd, ErrorCode::io, source_,
          ": the archive has no directory at its end; it is truncated");
  uint64_t size = number<uint32_t>(tail, end + 12), begin = number<uint32_t>(tail, end + 16);
  if (end >= kEnd64Locator && tail.compare(end - kEnd64Locator, 4, kEnd64LocatorMark) == 0) {
    const std::string end64 = bytes_at(number<uint64_t>(tail, end - kEnd64Locator + 8), kEnd64);
    require(end64.starts_with(kEnd64Mark), ErrorCode::io, source_, ": damaged archive directory");
    size = number<uint64_t>(end64, 40);
    begin = number<uint64_t>(end64, 48);
  }
  require(size <= kDirectoryCap, ErrorCode::io, source_, ": the archive directory claims ", size,
          " bytes; it is damaged");
  const std::string directory = bytes_at(begin, size);
  for (std::string_view rest = directory; !rest.empty();) {
    require(rest.size() >= kDirectoryEntry && rest.starts_with(kEntryMark), ErrorCode::io, source_,
            ": damaged archive directory");
    const uint64_t name = number<uint16_t>(rest, 28), extra = number<uint16_t>(rest, 30),
                   comment = number<uint16_t>(rest, 32);
    require(name + extra + comment <= rest.size() - kDirectoryEntry, ErrorCode::io, source_,
            ": damaged archive directory");
    uint64_t packed = number<uint32_t>(rest, 20);
    Member member{.header = number<uint32_t>(rest, 42),
                  .size = number<uint32_t>(rest, 24),
                  .checksum = static_cast<uint32_t>(number<uint32_t>(rest, 16))};
    take_zip64(rest.substr(kDirectoryEntry + name, extra), member.size, packed, member.header);
    member.stored = number<uint16_t>(rest, 10) == 0 && packed == member.size;
    const std::string key(rest.substr(kDirectoryEntry, name));
    require(is_plain_text(key), ErrorCode::io, source_, ": damaged archive directory");
    require(members_.emplace(key, member).second, ErrorCode::io, source_, ": member ", key,
            " is there twice");
    rest.remove_prefix(kDirectoryEntry + name + extra + comment);
  }
}

void StoredZip::require_disjoint() {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const auto& [name, member] : members_) {
    if (!member.stored) continue;
    require(member.header <= file_size_ && member.size <= file_size_ - member.header &&
                kLocalHeader <= file_size_ - member.header - member.size,
            ErrorCode::io, source_, ": member ", name, " lies outside the file");
    parts.emplace_back(member.header, member.header + kLocalHeader + member.size);
  }
  std::sort(parts.begin(), parts.end());
  for (std::size_t i = 1; i < parts.size(); ++i)
    require(parts[i - 1].second <= parts[i].first, ErrorCode::io, source_,
            ": members of the archive overlap; it is damaged");
}

std::string StoredZip::name_ending_with(std::string_view ending) const {
  for (const auto& entry : members_)
    if (entry.first.ends_with(ending)) return entry.first;
  return {};
}

const StoredZip::Member& StoredZip::member(const std::string& name) const {
  const auto found = members_.find(name);
  require(found != members_.end(), ErrorCode::io, source_, ": no member ", name,
          "; the file is damaged or no PyTorch file");
  require(found->second.stored, ErrorCode::unsupported, source_, ": member ", name,
          " is compressed; only archives as torch.save writes them are read");
  return found->second;
}

uint64_t StoredZip::size(const std::string& name) const { return member(name).size; }

uint64_t StoredZip::data_begin(uint64_t header) {
  const std::string local = bytes_at(header, kLocalHeader);
  require(local.starts_with(kLocalMark), ErrorCode::io, source_, ": damaged archive member");
  return header + kLocalHeader + number<uint16_t>(local, 26) + number<uint16_t>(local, 28);
}

void StoredZip::read(const std::string& name, char* out) {
  const Member& wanted = member(name);
  const uint64_t begin = data_begin(wanted.header);
  require(begin <= file_size_ && wanted.size <= file_size_ - begin, ErrorCode::io, source_,
          ": member ", name, " lies outside the file; it is truncated or damaged");
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(begin));
  in_.read(out, static_cast<std::streamsize>(wanted.size));
  require(in_.gcount() == static_cast<std::streamsize>(wanted.size), ErrorCode::io, "cannot read ",
          source_);
  // torch.save writes zeros where set_crc32_options(False) was called.
  require(wanted.checksum == 0 || wanted.checksum == checksum(out, wanted.size), ErrorCode::io,
          source_, ": member ", name, " does not have its checksum; the file is damaged");
}

std::string StoredZip::text(const std::string& name) {
  std::string out(size(name), '\0');
  read(name, out.data());
  return out;
}

}  // namespace gh::host
