// Locks: what one holds, what is no lock, and that nothing but what it holds is loaded.
#include "visitor.hpp"

#include "plugins/lock_file.hpp"

#include "gh/error.hpp"

#include <memory>

using namespace gh::host;
using namespace zoo;
using Catch::Contains;
using Code = PluginErrorCode;

namespace {

SearchPath place(const fs::path& directory) { return {{{directory, "user"}}, {}}; }

LoadOptions locked(const std::string& text) {
  LoadOptions options;
  options.lock = std::make_shared<PluginLock>(text, "ghhost.lock");
  return options;
}

std::string refusal(const std::string& text) {
  try {
    PluginLock(text, "ghhost.lock");
    return "";
  } catch (const gh::Error& e) {
    CHECK(e.code() == gh::ErrorCode::invalid_param);
    return e.what();
  }
}

std::string lock_with(const std::string& plugin) {
  return R"({"ghhost_lock": 1, "plugins": [)" + plugin + "]}";
}
const std::string kDigits(64, 'a');
std::string entry(const std::string& name, const std::string& sha256) {
  return R"({"name": ")" + name + R"(", "version": "1.0", "sha256": ")" + sha256 +
         R"(", "build_id": "", "fingerprint": {}})";
}

}  // namespace

TEST_CASE("a lock has the usable plugins of the path, and those are loaded with it") {
  const Enclosure here;
  here.copy(animal("sound"), "sound.so");
  here.copy(animal("sound"), "twin.so");
  here.copy(animal("other_torch"), "old.so");
  here.write("broken.so", "no plugin");
  Registry registry(place(here.path()));
  const std::string text = lock_text(registry.files());
  const PluginLock lock(text, "ghhost.lock");
  REQUIRE(lock.plugins().size() == 1);
  const LockedPlugin& only = lock.plugins().front();
  CHECK(only.name == "zoo_sound");
  CHECK(only.version == "1.0.0");
  CHECK(only.sha256 == registry.files()[2].sha256);
  CHECK(only.build_id.size() == 40);
  CHECK(only.fingerprint == registry.files()[2].note->fingerprint);
  Registry loading(place(here.path()), locked(text));
  CHECK(loading.find(GH_KIND_STRUCTURE, "zoo_sound").schema != nullptr);
}

TEST_CASE("a build that the lock does not have never runs") {
  const Enclosure here;
  const fs::path file = here.copy(animal("sound"), "plugin.so");
  const std::string text = lock_text(Registry(place(here.path())).files());
  // A stranger's, and another build of the same: the last byte differs.
  here.copy(animal("initializer_aborts"), "stranger.so");
  std::string bytes = content_of(file);
  bytes.push_back('\0');
  here.write("plugin.so", bytes);
  Registry registry(place(here.path()), locked(text));
  const std::string other = registry.find(GH_KIND_STRUCTURE, "zoo_sound").problem;
  CHECK_THAT(other, Contains("not_locked") && Contains("zoo_sound 1.0.0 with SHA-256") &&
                        Contains("as ghhost.lock locks it") && Contains("plugins lock"));
  const auto error = registry.load(here / "stranger.so");
  REQUIRE(error);
  CHECK(name_of(error->code) == name_of(Code::not_locked));
  CHECK_THAT(error->message, Contains("a plugin that ghhost.lock locks"));
  CHECK(registry.loaded().empty());
}

TEST_CASE("a file that is replaced after the scan is still not loaded with a lock") {
  const Enclosure here;
  const fs::path file = here.copy(animal("usurper"), "plugin.so");
  const std::string text = lock_text(Registry(place(here.path())).files());
  Registry registry(place(here.path()), locked(text));
  REQUIRE(registry.files().front().usable());
  here.copy(animal("half_usurper"), "plugin.so");
  CHECK_THAT(registry.find(GH_KIND_STRUCTURE, "zoo_cross").problem, Contains("not_locked"));
}

TEST_CASE("what is no lock is refused with what is wrong") {
  CHECK(refusal(lock_with(entry("a", kDigits))).empty());
  CHECK_THAT(refusal("plugins = []"), Contains("ghhost.lock is no lock of plugins"));
  CHECK_THAT(refusal("{}"), Contains("\"ghhost_lock\": 1"));
  CHECK_THAT(refusal(R"({"ghhost_lock": 2, "plugins": []})"), Contains("\"ghhost_lock\": 1"));
  CHECK_THAT(refusal(R"({"ghhost_lock": 1})"), Contains("\"plugins\", a list"));
  CHECK_THAT(refusal(R"({"ghhost_lock": 1, "plugins": [], "unless": 1})"), Contains("unless"));
  CHECK_THAT(refusal(lock_with("3")), Contains("expected objects"));
  CHECK_THAT(refusal(lock_with(entry("a", "12"))), Contains("64 hexadecimal digits"));
  CHECK_THAT(refusal(lock_with(entry("a", std::string(64, 'G')))), Contains("64 hexadecimal"));
  CHECK_THAT(refusal(lock_with(entry("../a", kDigits))), Contains("no name of a plugin"));
  CHECK_THAT(refusal(lock_with(entry("a", kDigits) + "," + entry("a", kDigits))),
             Contains("a is locked twice"));
  CHECK_THAT(refusal(std::string(100'000, '[')), Contains("nested too deeply"));
}

TEST_CASE("the first plugin that fails is passed over on request, and that is said") {
  const Enclosure here;
  fs::create_directories(here / "first");
  fs::create_directories(here / "second");
  here.copy(animal("usurper"), "first/usurper.so");
  here.copy(animal("good"), "second/good.so");
  SearchPath path = place(here / "first");
  path.places.push_back({here / "second", "bundled"});

  LoadOptions options = locked(lock_text(Registry(place(here / "second")).files()));
  Registry strict(path, options);
  CHECK_THAT(strict.find(GH_KIND_STRUCTURE, "zoo_cross").problem, Contains("not_locked"));

  std::vector<std::string> said;
  options.pass_over = [&](const std::string& reason) { said.push_back(reason); };
  Registry registry(path, options);
  CHECK(registry.files()[1].shadowed_by == here / "first/usurper.so");
  REQUIRE(registry.find(GH_KIND_STRUCTURE, "zoo_cross").schema != nullptr);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0],
             Contains("structure/zoo_cross cannot be used (not_locked)") && Contains("usurper.so"));
  CHECK(registry.loaded().front().file == here / "second/good.so");
  // All of it, now that nothing shadows it.
  CHECK(registry.find(GH_KIND_ALLOCATOR, "zoo_softmax").schema != nullptr);
  // Who names a file means it.
  path.places.insert(path.places.begin(), {here / "first/usurper.so", "--plugin"});
  Registry named(path, options);
  CHECK_THAT(named.find(GH_KIND_STRUCTURE, "zoo_cross").problem, Contains("not_locked"));
}
