// Who could change a plugin between being trusted and being run: through links, as its owner, or by
// writing at the right moment.
#include "visitor.hpp"

#include "plugins/plugin_loader.hpp"

#include <unistd.h>

using namespace gh::host;
using namespace zoo;
using Code = PluginErrorCode;
using Catch::Contains;

namespace {

constexpr uid_t kStranger = 54321;

// Named as --plugin names it.
const PluginFile& argument(Registry& registry) {
  REQUIRE(!registry.files().empty());
  REQUIRE(registry.files().front().named);
  return registry.files().front();
}

void check_refused_as_argument(const fs::path& file) {
  INFO(file);
  Registry registry(default_search_path({file.string()}));
  const PluginFile& found = argument(registry);
  REQUIRE(found.error);
  INFO(found.error->message);
  CHECK(name_of(found.error->code) == name_of(Code::unsafe_permissions));
}

// Makes everybody able to change a directory.
void open_up(const fs::path& directory) { fs::permissions(directory, fs::perms::all); }

}  // namespace

TEST_CASE("a link that everybody can replace is refused, wherever it leads") {
  const Enclosure here;
  const fs::path sound = here.copy(animal("sound"), "sound.so");
  fs::create_directory(here / "open");
  open_up(here / "open");
  fs::create_symlink(sound, here / "open/link.so");
  check_refused_as_argument(here / "open/link.so");
  // In the middle of a chain.
  fs::create_symlink("open/link.so", here / "chain.so");
  check_refused_as_argument(here / "chain.so");
  require_refused(here / "chain.so", Code::unsafe_permissions);
}

TEST_CASE("a link to a directory is looked at as any other") {
  const Enclosure here;
  fs::create_directories(here / "closed");
  fs::create_directory(here / "open");
  here.copy(animal("sound"), "closed/sound.so");
  fs::create_directory_symlink("../closed", here / "open/way");
  open_up(here / "open");
  fs::create_directory_symlink("open/way", here / "detour");
  check_refused_as_argument(here / "open/way/sound.so");
  check_refused_as_argument(here / "detour/sound.so");
  check_refused_as_argument(here / "detour/../closed/sound.so");
  // A directory that was given through it is listed, and its files are refused.
  Registry registry(default_search_path({(here / "detour").string()}));
  REQUIRE(registry.files().front().error);
  CHECK(registry.files().front().error->code == Code::unsafe_permissions);
  // Without the open directory nothing is wrong with links.
  fs::permissions(here / "open", fs::perms::owner_all);
  Registry trusting(default_search_path({(here / "detour/sound.so").string()}));
  CHECK(argument(trusting).usable());
  CHECK(!trusting.load(here / "detour/sound.so"));
  CHECK(trusting.loaded().front().file == here / "closed/sound.so");
}

TEST_CASE("links that lead in a circle end") {
  const Enclosure here;
  fs::create_symlink("b.so", here / "a.so");
  fs::create_symlink("a.so", here / "b.so");
  require_refused(here / "a.so", Code::unreadable);
}

TEST_CASE("a plugin, or a link to one, of somebody else is refused") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give files away");
    return;
  }
  const Enclosure here;
  const fs::path given = here.copy(animal("sound"), "given.so");
  REQUIRE(::chown(given.c_str(), kStranger, kStranger) == 0);
  CHECK_THAT(require_refused(given, Code::unsafe_permissions), Contains("54321"));
  // Everybody may put a link into a sticky directory, and turn it round later.
  const fs::path mine = here.copy(animal("sound"), "mine.so");
  fs::create_directory(here / "sticky");
  fs::permissions(here / "sticky", fs::perms::all | fs::perms::sticky_bit);
  fs::create_symlink(mine, here / "sticky/link.so");
  REQUIRE(::lchown((here / "sticky/link.so").c_str(), kStranger, kStranger) == 0);
  require_refused(here / "sticky/link.so", Code::unsafe_permissions);
  Registry registry({});
  CHECK(!registry.load(mine));
}

TEST_CASE("what a group can write is refused, unless it could change the program as well") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give files away");
    return;
  }
  const Enclosure here;
  const fs::path file = here.copy(animal("sound"), "shared.so");
  const fs::perms group = fs::perms::owner_all | fs::perms::group_all;
  fs::permissions(file, group);
  const auto error_of = [](const fs::path& plugin) { return Registry({}).load(plugin); };
  CHECK(!error_of(file));  // root's
  REQUIRE(::chown(file.c_str(), 0, kStranger) == 0);
  CHECK_THAT(require_refused(file, Code::unsafe_permissions),
             Contains("writable by group 54321") && Contains("chmod g-w"));
  // Readable is no harm.
  fs::permissions(file, fs::perms::owner_all | fs::perms::group_read);
  CHECK(!error_of(file));
  // A directory on the way, too.
  fs::create_directory(here / "lab");
  here.copy(animal("sound"), "lab/sound.so");
  REQUIRE(::chown((here / "lab").c_str(), 0, kStranger) == 0);
  fs::permissions(here / "lab", group);
  require_refused(here / "lab/sound.so", Code::unsafe_permissions);
  fs::permissions(here / "lab", group | fs::perms::sticky_bit);
  CHECK(!error_of(here / "lab/sound.so"));
}

TEST_CASE("what was read is what runs, whatever becomes of the file") {
  // Its constructor would end this process.
  const std::string deadly = content_of(animal("initializer_aborts"));
  const Enclosure here;
  const auto swap = [&](const fs::path& file, bool in_place) {
    if (!in_place) fs::remove(file);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << deadly;
  };
  for (const bool in_place : {false, true}) {
    INFO(in_place);
    const fs::path file = here.copy(animal("usurper"), "plugin.so");
    const FileContent content = read_checked(file);
    const PluginNote note = read_plugin_note(content.bytes);
    swap(file, in_place);
    const OpenedPlugin opened = open_plugin(content, note);
    CHECK(opened.plugin.components.front().id == "zoo_cross");
    CHECK(opened.plugin.sha256 == content.sha256);
    // In the child, too.
    CHECK_NOTHROW(probe_plugin(content, note, std::chrono::seconds(10)));
    fs::remove(file);
  }
}
