// Files that the tests break themselves: cut, patched, renamed, exposed.
#include "visitor.hpp"

#include "plugins/plugin_loader.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <cstring>

using namespace gh::host;
using namespace zoo;
using Code = PluginErrorCode;
using Catch::Contains;

namespace {

// A copy of a sound plugin with its ELF header changed.
template <class Change>
fs::path patched(const Enclosure& here, Change change) {
  std::string bytes = content_of(animal("sound"));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return here.write("patched.so", bytes);
}

// Steps 1 to 8 without the parent ever loading the file.
void probe_only(const fs::path& file) {
  try {
    const FileContent content = read_checked(file);
    probe_plugin(content, read_plugin_note(content.bytes), std::chrono::seconds(5));
  } catch (const PluginRefused&) {
  }
}

}  // namespace

TEST_CASE("a plugin cut anywhere is truncated") {
  const Enclosure here;
  const std::string whole = content_of(animal("sound"));
  for (const std::size_t size :
       {std::size_t{4}, std::size_t{20}, std::size_t{63}, std::size_t{64}, std::size_t{200},
        whole.size() / 4, whole.size() / 2, whole.size() - 500, whole.size() - 1}) {
    INFO(size);
    require_refused(here.write("cut.so", whole.substr(0, size)), Code::truncated);
  }
}

TEST_CASE("what is no ELF file is called by its name") {
  const Enclosure here;
  CHECK_THAT(require_refused(here.write("empty.so", ""), Code::not_elf), Contains("an empty file"));
  CHECK_THAT(require_refused(here.write("text.so", "INPUT(libm.so.6)\n"), Code::not_elf),
             Contains("a text file"));
  CHECK_THAT(require_refused(here.write("script.so", "#!/bin/sh\nexit 0\n"), Code::not_elf),
             Contains("a script"));
  CHECK_THAT(require_refused(here.write("stub.so", "\x7f"), Code::not_elf),
             Contains("some other kind"));
}

TEST_CASE("what is not a file that can be read is refused") {
  const Enclosure here;
  fs::create_directory(here / "directory.so");
  CHECK_THAT(require_refused(here / "directory.so", Code::unreadable), Contains("a directory"));
  REQUIRE(::mkfifo((here / "pipe.so").c_str(), 0600) == 0);
  CHECK_THAT(require_refused(here / "pipe.so", Code::unreadable), Contains("a pipe"));
  require_refused(here / "absent.so", Code::not_found);
  fs::create_symlink(here / "absent.so", here / "dangling.so");
  require_refused(here / "dangling.so", Code::not_found);
}

TEST_CASE("another machine, class or type is the wrong architecture") {
  const Enclosure here;
  const auto refused = [&](auto change) {
    return require_refused(patched(here, change), Code::wrong_architecture);
  };
  CHECK_THAT(refused([](Elf64_Ehdr& h) { h.e_machine = EM_RISCV; }), Contains("243"));
  refused([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; });
  refused([](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; });
  CHECK_THAT(refused([](Elf64_Ehdr& h) { h.e_type = ET_EXEC; }), Contains("executable"));
}

TEST_CASE("a file that everybody can write, or replace, is refused") {
  const Enclosure here;
  const fs::path file = here.copy(animal("sound"), "open.so");
  const auto everybody = fs::perms::others_write;
  fs::permissions(file, everybody, fs::perm_options::add);
  CHECK_THAT(require_refused(file, Code::unsafe_permissions),
             Contains("chmod o-w " + file.string()));
  fs::permissions(file, everybody, fs::perm_options::remove);

  fs::create_directories(here / "open/inner");
  const fs::path inside = here.copy(file, "open/inner/plugin.so");
  fs::permissions(here / "open", fs::perms::all);
  require_refused(inside, Code::unsafe_permissions);
  fs::create_symlink(inside, here / "link.so");
  require_refused(here / "link.so", Code::unsafe_permissions);
  fs::create_symlink(file, here / "open/link.so");
  require_refused(here / "open/link.so", Code::unsafe_permissions);

  // As /tmp is: others can add files, but not replace this one.
  fs::permissions(here / "open", fs::perms::all | fs::perms::sticky_bit);
  Registry registry({});
  const auto error = registry.load(inside);
  INFO((error ? error->message : ""));
  CHECK(!error);
}

TEST_CASE("a file that is replaced after it was loaded is noticed") {
  const Enclosure here;
  const fs::path file = here.copy(animal("sound"), "plugin.so");
  Registry registry({});
  REQUIRE(!registry.load(file));
  fs::remove(file);
  here.copy(animal("no_create"), "plugin.so");
  const auto error = registry.load(file);
  REQUIRE(error);
  CHECK(error->code == Code::file_changed);
}

TEST_CASE("a mangled library that breaks the dynamic linker breaks only the child") {
  const Enclosure here;
  const std::string whole = content_of(animal("sound"));
  gh::Random random(11);
  // Past the headers and the note, whose text decides before the linker does.
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 200; ++i) {
      const auto at = 0x400 + static_cast<std::size_t>(
                                  random.below(static_cast<int64_t>(bytes.size()) - 0x400));
      bytes[at] = static_cast<char>(random.bits32());
    }
    // Only the child may load it: a mangled file that passes there by luck must not run here.
    probe_only(here.write("mangled.so", bytes));
  }
  SUCCEED();
}
