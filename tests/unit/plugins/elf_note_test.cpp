// The ELF reader against real, cut and mutated files. It must neither crash nor take long, whatever
// it is given.
#include "visitor.hpp"

#include "plugins/elf_note.hpp"
#include "plugins/plugin_error.hpp"

#include "gh/random.hpp"

#include <elf.h>

#include <chrono>
#include <cstring>
#include <set>

using namespace gh::host;
using namespace zoo;
using Code = PluginErrorCode;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// "" for a note, otherwise the name of the refusal.
std::string verdict(const std::string& file) {
  // An exact copy on the heap, so that a sanitizer sees a read past the end.
  const std::vector<char> exact(file.begin(), file.end());
  try {
    read_plugin_note(std::as_bytes(std::span(exact)));
    return "";
  } catch (const PluginRefused& e) {
    return std::string(name_of(e.code()));
  }
}

}  // namespace

TEST_CASE("the note of a plugin is read from its bytes") {
  const std::string file = content_of(animal("good"));
  const PluginNote note = read_plugin_note(bytes_of(file));
  CHECK(note.name == "zoo_good");
  CHECK(note.version == "1.2.3");
  CHECK(note.provides.front() == "structure/zoo_cross");
  CHECK(note.provides.back() == "evaluator/zoo_nothing");
  CHECK(note.fingerprint.at("sdk") ==
        std::to_string(GH_SDK_MAJOR) + "." + std::to_string(GH_SDK_MINOR));
  CHECK(note.fingerprint.at("device").size() >= 3);
  CHECK(!note.fingerprint.contains("name"));
  CHECK(note.text.starts_with("name=zoo_good\n"));
  CHECK(note.build_id.size() == 40);
  CHECK(std::ranges::find(note.needed, "libghsdk.so.1") != note.needed.end());
}

TEST_CASE("every cut of a plugin is refused as truncated") {
  const std::string file = content_of(animal("sound"));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string found = verdict(file.substr(0, size));
    if (found != (size < SELFMAG ? "not_elf" : "truncated"))
      FAIL(size << " of " << file.size() << ": " << found);
  }
  CHECK(verdict(file).empty());
}

TEST_CASE("mutations of a plugin never do harm") {
  const std::string file = content_of(animal("sound"));
  gh::Random random(1);
  std::set<std::string> seen;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 6000; ++round) {
    std::string mutant = file;
    // Mostly where structure is: the header, the program headers, the notes.
    const std::size_t range =
        round % 4 == 0 ? mutant.size() : std::min<std::size_t>(mutant.size(), 0x500);
    for (int64_t i = 1 + random.below(8); i > 0; --i) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<int64_t>(range)));
      const uint32_t extreme[] = {0, 0xff, 0x7f, 0x80, random.bits32()};
      mutant[at] = static_cast<char>(extreme[random.below(5)]);
    }
    if (round % 5 == 0)
      mutant.resize(static_cast<std::size_t>(random.below(static_cast<int64_t>(mutant.size()))));
    seen.insert(verdict(mutant));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  for (const char* expected :
       {"", "not_elf", "truncated", "wrong_architecture", "no_note", "bad_note"})
    CHECK(seen.contains(expected));
}

TEST_CASE("random words in the headers never do harm") {
  const std::string file = content_of(animal("sound"));
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  gh::Random random(2);
  const uint64_t extreme[] = {0,
                              1,
                              0x7fffffffffffffff,
                              0xffffffffffffffff,
                              0xfffffffffffffff0,
                              file.size(),
                              file.size() - 1};
  for (int round = 0; round < 4000; ++round) {
    std::string mutant = file;
    // One 64-bit field of the header or of a program header; sums of such values must not wrap.
    const auto words = (sizeof header + header.e_phnum * sizeof(Elf64_Phdr)) / 8;
    for (int64_t i = 1 + random.below(3); i > 0; --i) {
      const auto word = 2 + static_cast<std::size_t>(random.below(static_cast<int64_t>(words) - 2));
      std::memcpy(mutant.data() + 8 * word, &extreme[random.below(7)], 8);
    }
    verdict(mutant);
  }
  SUCCEED();
}

TEST_CASE("an offset and a size whose sum wraps around lie outside the file") {
  const std::string file = content_of(animal("sound"));
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (int i = 0; i < header.e_phnum; ++i) {
    std::string mutant = file;
    const std::size_t at = header.e_phoff + static_cast<std::size_t>(i) * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + at, sizeof segment);
    segment.p_offset = ~uint64_t{0} - 15;
    segment.p_filesz = 64;
    std::memcpy(mutant.data() + at, &segment, sizeof segment);
    CHECK(verdict(mutant) == "truncated");
  }
}

TEST_CASE("bytes that are no file at all never do harm") {
  gh::Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(static_cast<std::size_t>(random.below(4096)), '\0');
    for (char& c : noise) c = static_cast<char>(random.bits32());
    if (round % 2 == 0 && noise.size() > 64) {
      std::memcpy(noise.data(), ELFMAG "\2\1\1", 7);
      noise[EI_NIDENT] = ET_DYN;
      noise[EI_NIDENT + 1] = 0;
    }
    CHECK(!verdict(noise).empty());
  }
}

TEST_CASE("note lines are key=value, each key once") {
  CHECK(parse_note_lines("a=1\nb=x=y\n\nc=").at("b") == "x=y");
  CHECK_THROWS_AS(parse_note_lines("a"), PluginRefused);
  CHECK_THROWS_AS(parse_note_lines("=a"), PluginRefused);
  CHECK_THROWS_AS(parse_note_lines("a=1\na=2"), PluginRefused);
}

TEST_CASE("ids are lower case and begin with a letter") {
  for (const char* good : {"a", "simclr", "moco-v2", "x.y_z9"}) CHECK(is_component_id(good));
  for (const char* bad : {"", "9a", "A", "a b", "-a", "ä"}) CHECK(!is_component_id(bad));
}
