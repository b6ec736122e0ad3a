#include "plugins/elf_note.hpp"

#include "plugins/plugin_error.hpp"
#include "text/plain_text.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace gh::host {
namespace {

using Bytes = std::span<const std::byte>;
using Code = PluginErrorCode;

constexpr std::size_t kMaxNoteText = 64 * 1024;
// Far above what linkers write; a hostile file must not cost time or memory either.
constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kMaxNoteSegment = 1024 * 1024;
constexpr std::size_t kMaxNeeded = 512;
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxBuildId = 64;
constexpr std::array kKinds = {"ssl", "structure", "allocator", "dataset", "backbone", "evaluator"};
#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr std::string_view kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr std::string_view kMachineName = "aarch64";
#endif

// The `size` bytes at `offset`, if the file has them. Written so that no sum can overflow.
std::optional<Bytes> slice(Bytes file, uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

// A structure at `offset`; copied, because nothing in a hostile file is aligned.
template <class T>
std::optional<T> read(Bytes file, uint64_t offset) {
  const auto bytes = slice(file, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

[[noreturn]] void refuse_truncated(Bytes file, std::string_view what) {
  throw PluginRefused(Code::truncated, fmt::format("a whole ELF file with its {}", what),
                      fmt::format("only {} bytes; was it copied completely?", file.size()));
}

[[noreturn]] void refuse_architecture(const std::string& found) {
  throw PluginRefused(Code::wrong_architecture,
                      fmt::format("a 64-bit {} shared library", kMachineName), found);
}

std::string describe_content(Bytes file) {
  if (file.empty()) return "an empty file";
  const std::string_view head(reinterpret_cast<const char*>(file.data()),
                              std::min<std::size_t>(file.size(), 64));
  if (head.starts_with("#!")) return "a script";
  return is_plain_text(head) ? "a text file" : "some other kind of file";
}

Elf64_Ehdr read_header(Bytes file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    throw PluginRefused(Code::not_elf, "an ELF shared library", describe_content(file));
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (!header) refuse_truncated(file, "header");
  if (header->e_ident[EI_CLASS] != ELFCLASS64)
    refuse_architecture(fmt::format("ELF class {}", header->e_ident[EI_CLASS]));
  if (header->e_ident[EI_DATA] != ELFDATA2LSB)
    refuse_architecture(fmt::format("ELF byte order {}", header->e_ident[EI_DATA]));
  if (header->e_machine != kMachine)
    refuse_architecture(fmt::format("ELF machine {} instead of {}", header->e_machine, kMachine));
  if (header->e_type != ET_DYN)
    refuse_architecture(fmt::format("ELF type {} (an executable or object file)", header->e_type));
  return *header;
}

// All program headers, each with its content inside the file.
std::vector<Elf64_Phdr> read_segments(Bytes file, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    refuse_architecture(fmt::format("program headers of {} bytes", header.e_phentsize));
  if (header.e_phnum > kMaxSegments)
    throw PluginRefused(Code::not_elf, fmt::format("at most {} program headers", kMaxSegments),
                        fmt::format("{}", header.e_phnum));
  std::vector<Elf64_Phdr> segments;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    if (header.e_phoff > file.size()) refuse_truncated(file, "program headers");
    const auto segment = read<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) refuse_truncated(file, "program headers");
    if (!slice(file, segment->p_offset, segment->p_filesz)) refuse_truncated(file, "segments");
    segments.push_back(*segment);
  }
  // The section headers are the last thing in a file as linkers write it; their absence is how a
  // cut file shows that still has every segment.
  const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !slice(file, header.e_shoff, sections))
    refuse_truncated(file, "section headers");
  return segments;
}

struct RawNote {
  std::string_view owner;
  uint32_t type;
  std::string_view text;
};

// Notes of one segment, until it ends or makes no sense. Name and text are padded to four bytes;
// the last text need not be.
std::vector<RawNote> split_notes(Bytes segment) {
  std::vector<RawNote> notes;
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  uint64_t at = 0;
  while (const auto header = read<Elf64_Nhdr>(segment, at)) {
    const uint64_t name_at = at + sizeof(Elf64_Nhdr);
    const uint64_t text_at = name_at + padded(header->n_namesz);
    const auto name = slice(segment, name_at, header->n_namesz);
    const auto text = slice(segment, text_at, header->n_descsz);
    if (!name || !text) break;
    std::string_view owner(reinterpret_cast<const char*>(name->data()), name->size());
    notes.push_back({owner.substr(0, owner.find('\0')),
                     header->n_type,
                     {reinterpret_cast<const char*>(text->data()), text->size()}});
    at = text_at + padded(header->n_descsz);
  }
  return notes;
}

// Where the byte mapped at `address` lies in the file.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  return std::nullopt;
}

std::vector<std::string> read_needed(Bytes file, const std::vector<Elf64_Phdr>& segments) {
  std::vector<uint64_t> names;
  std::optional<uint64_t> table;
  uint64_t table_size = 0;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_DYNAMIC) continue;
    const Bytes dynamic = *slice(file, s.p_offset, s.p_filesz);
    for (uint64_t at = 0; const auto entry = read<Elf64_Dyn>(dynamic, at);
         at += sizeof(Elf64_Dyn)) {
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED && names.size() < kMaxNeeded)
        names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) table = offset_of(segments, entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRSZ) table_size = entry->d_un.d_val;
    }
  }
  std::vector<std::string> needed;
  if (!table) return needed;
  const auto strings = slice(file, *table, table_size);
  if (!strings) refuse_truncated(file, "dynamic strings");
  const std::string_view text(reinterpret_cast<const char*>(strings->data()), strings->size());
  for (const uint64_t name : names) {
    if (name >= text.size())
      continue;  // the dynamic linker, in the child process, has the last word on such a file
    const std::string_view rest = text.substr(name, kMaxName);
    needed.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return needed;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

[[noreturn]] void refuse_note(std::string_view expected, std::string_view found) {
  throw PluginRefused(Code::bad_note, fmt::format("an ELF note with {}", expected), found,
                      "Build the plugin with gh_add_plugin().");
}

std::vector<std::string> split_provides(const std::string& list) {
  std::vector<std::string> provides;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, comma - at);
    const std::size_t slash = item.find('/');
    if (slash == std::string::npos ||
        std::ranges::find(kKinds, std::string_view(item).substr(0, slash)) == kKinds.end() ||
        !is_component_id(std::string_view(item).substr(slash + 1)))
      refuse_note("provides=kind/id,…", fmt::format("\"{}\"", item));
    provides.push_back(item);
    at = comma + 1;
  }
  return provides;
}

PluginNote parse_text(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.size() > kMaxNoteText)
    refuse_note(fmt::format("at most {} bytes", kMaxNoteText), fmt::format("{}", text.size()));
  if (!is_plain_text(text)) refuse_note("key=value lines", "bytes that are no text");
  PluginNote note;
  note.text = text;
  note.fingerprint = parse_note_lines(text);
  for (const auto& [key, member] : {std::pair{"name", &note.name}, {"version", &note.version}}) {
    *member = note.fingerprint[key];
    if (member->empty()) refuse_note(fmt::format("a line {}=…", key), "none");
    note.fingerprint.erase(key);
  }
  note.provides = split_provides(note.fingerprint["provides"]);
  note.fingerprint.erase("provides");
  return note;
}

}  // namespace

bool is_component_id(std::string_view id) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto rest = [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !id.empty() && lower(id.front()) && std::ranges::all_of(id, rest);
}

std::map<std::string, std::string> parse_note_lines(std::string_view text) {
  std::map<std::string, std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      refuse_note("key=value lines", fmt::format("\"{}\"", line));
    if (!lines.emplace(line.substr(0, equals), line.substr(equals + 1)).second)
      refuse_note("each key once", fmt::format("\"{}\" twice", line.substr(0, equals)));
  }
  return lines;
}

PluginNote read_plugin_note(Bytes file) {
  const Elf64_Ehdr header = read_header(file);
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  std::optional<PluginNote> note;
  std::string build_id;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_NOTE || s.p_filesz > kMaxNoteSegment) continue;
    for (const RawNote& raw : split_notes(*slice(file, s.p_offset, s.p_filesz))) {
      if (raw.owner == "GNU" && raw.type == NT_GNU_BUILD_ID)
        build_id = hex(raw.text.substr(0, kMaxBuildId));
      if (raw.owner != "ghsdk" || raw.type != 1) continue;
      if (note) refuse_note("owner ghsdk once", "two of them");
      note = parse_text(raw.text);
    }
  }
  if (!note)
    throw PluginRefused(Code::no_note, "an ELF note of owner ghsdk", "a shared library without one",
                        "Build the plugin with gh_add_plugin().");
  note->build_id = build_id;
  note->needed = read_needed(file, segments);
  return *std::move(note);
}

}  // namespace gh::host
