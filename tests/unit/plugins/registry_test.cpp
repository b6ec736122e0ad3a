// Finding plugins on a path: laziness, shadowing, and what is said when nothing is found.
#include "visitor.hpp"

using namespace gh::host;
using namespace zoo;
using Catch::Contains;
using Code = PluginErrorCode;

namespace {

SearchPath places(const std::vector<fs::path>& paths) {
  SearchPath path;
  for (const fs::path& p : paths) path.places.push_back({p, "GHHOST_PLUGIN_PATH"});
  return path;
}

}  // namespace

TEST_CASE("find loads the plugin that provides a component, and no other") {
  const Enclosure here;
  here.copy(animal("good"), "good.so");
  here.copy(animal("entry_exits"), "deadly.so");
  here.write("broken.so", "no plugin");
  Registry registry(places({here.path()}));
  CHECK(registry.files().size() == 3);
  CHECK(registry.loaded().empty());
  const Catalog::Found found = registry.find(GH_KIND_STRUCTURE, "zoo_cross");
  INFO(found.problem);
  REQUIRE(found.schema != nullptr);
  CHECK(found.schema->front().name == "points");
  CHECK(registry.loaded().size() == 1);
  CHECK(registry.find(GH_KIND_ALLOCATOR, "zoo_softmax").schema != nullptr);
  CHECK(registry.loaded().size() == 1);
}

TEST_CASE("what find handed out stays valid while more plugins are loaded") {
  const Enclosure here;
  here.copy(animal("good"), "good.so");
  here.copy(animal("sound"), "sound.so");
  Registry registry(places({here.path()}));
  const Schema* schema = registry.find(GH_KIND_STRUCTURE, "zoo_cross").schema;
  const ComponentInfo* info = &registry.info(GH_KIND_STRUCTURE, "zoo_cross");
  REQUIRE(registry.find(GH_KIND_STRUCTURE, "zoo_sound").schema != nullptr);
  CHECK(registry.find(GH_KIND_STRUCTURE, "zoo_cross").schema == schema);
  CHECK(&registry.info(GH_KIND_STRUCTURE, "zoo_cross") == info);
}

TEST_CASE("a component nobody provides is answered with what there is") {
  const Enclosure here;
  here.copy(animal("good"), "good.so");
  here.copy(animal("other_torch"), "old.so");
  here.write("broken.so", "no plugin");
  SearchPath path = places({here.path(), here / "nowhere"});
  path.ignored.push_back("GHHOST_PLUGIN_PATH: \"x\" is not absolute");
  Registry registry(path);
  const std::string typo = registry.find(GH_KIND_STRUCTURE, "zoo_cros").problem;
  INFO(typo);
  CHECK_THAT(typo, Contains("no plugin provides structure/zoo_cros; did you mean \"zoo_cross\"?"));
  CHECK_THAT(typo, Contains("structure: zoo_cross") &&
                       Contains(here.path().string() + " (GHHOST_PLUGIN_PATH)"));
  CHECK_THAT(typo, Contains("nowhere (GHHOST_PLUGIN_PATH), which does not exist") &&
                       Contains("ignored: "));
  CHECK_THAT(typo, Contains("broken.so: expected an ELF shared library, found a text file"));
  const std::string stale = registry.find(GH_KIND_STRUCTURE, "zoo_other_torch").problem;
  INFO(stale);
  CHECK_THAT(stale, Contains("would provide it, but is not used") && Contains("old.so") &&
                        Contains("1.13.1"));
  CHECK(registry.loaded().empty());
}

TEST_CASE("a plugin that dies while loading is the answer to who asks for its component") {
  const Enclosure here;
  here.copy(animal("entry_exits"), "deadly.so");
  Registry registry(places({here.path()}));
  const Catalog::Found found = registry.find(GH_KIND_STRUCTURE, "zoo_entry_exits");
  CHECK(found.schema == nullptr);
  CHECK_THAT(found.problem,
             Contains("crashed") && Contains("deadly.so") && Contains("exit code 5"));
}

TEST_CASE("the first of two plugins with one component wins, and the other is shadowed") {
  const Enclosure here;
  fs::create_directories(here / "first");
  fs::create_directories(here / "second");
  here.copy(animal("usurper"), "first/usurper.so");
  here.copy(animal("good"), "second/good.so");
  Registry registry(places({here / "first", here / "second"}));
  REQUIRE(registry.files().size() == 2);
  CHECK(registry.files()[0].usable());
  CHECK(registry.files()[1].shadowed_by == here / "first/usurper.so");
  REQUIRE(registry.find(GH_KIND_STRUCTURE, "zoo_cross").schema != nullptr);
  CHECK(registry.loaded().front().file == here / "first/usurper.so");
  // Whole plugins are shadowed: half of one would be a plugin nobody wrote.
  CHECK_THAT(registry.find(GH_KIND_ALLOCATOR, "zoo_softmax").problem, Contains("shadowed by"));
  CHECK(registry.provided(GH_KIND_ALLOCATOR).empty());

  Registry reversed(places({here / "second", here / "first"}));
  CHECK(reversed.files()[1].shadowed_by == here / "second/good.so");
  CHECK(reversed.provided(GH_KIND_STRUCTURE) == std::vector<std::string>{"zoo_cross"});
  CHECK(reversed.provided(GH_KIND_DATASET) == std::vector<std::string>{"zoo_count", "zoo_needy"});
}

TEST_CASE("the same build twice on the path is reported once") {
  const Enclosure here;
  here.copy(animal("sound"), "a.so");
  here.copy(animal("sound"), "b.so");
  Registry registry(places({here.path()}));
  CHECK(registry.files()[0].usable());
  REQUIRE(registry.files()[1].error);
  CHECK(registry.files()[1].error->code == Code::duplicate);
  CHECK_THAT(registry.files()[1].error->message,
             Contains((here / "a.so").string()) && Contains("build-id"));
  CHECK(registry.find(GH_KIND_STRUCTURE, "zoo_sound").schema != nullptr);
}

TEST_CASE("a plugin that was refused shadows nobody") {
  const Enclosure here;
  fs::create_directories(here / "first");
  const fs::path open = here.copy(animal("usurper"), "first/usurper.so");
  fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
  here.copy(animal("good"), "good.so");
  Registry registry(places({here / "first", here.path()}));
  REQUIRE(registry.files()[0].error);
  CHECK(registry.files()[0].error->code == Code::unsafe_permissions);
  CHECK(registry.files()[1].usable());
}

TEST_CASE("a file that --plugin names is used, or nothing is") {
  const Enclosure here;
  const fs::path good = here.copy(animal("good"), "good.so");
  const auto beside_good = [&](const fs::path& named) {
    SearchPath path = places({good});
    path.places.insert(path.places.begin(), {named, std::string(SearchPath::kArgument)});
    return path;
  };
  const fs::path broken = here.write("broken.so", "no plugin");
  for (const fs::path& named : {broken, here / "absent.so", here / "no_such_directory"}) {
    INFO(named);
    Registry registry(beside_good(named));
    CHECK_THAT(
        registry.refused_by_name(),
        Contains("--plugin " + named.string() + " cannot be used: ") && Contains("expected "));
    const Catalog::Found found = registry.find(GH_KIND_STRUCTURE, "zoo_cross");
    CHECK(found.schema == nullptr);
    CHECK_THAT(found.problem, Contains(named.string()));
    CHECK(registry.loaded().empty());
  }
  Registry registry(beside_good(animal("sound")));
  CHECK(registry.refused_by_name() == "");
  CHECK(registry.find(GH_KIND_STRUCTURE, "zoo_cross").schema != nullptr);
}

TEST_CASE("of two named files that provide one component neither is quietly left out") {
  const std::string named(SearchPath::kArgument);
  SearchPath path;
  path.places = {{animal("usurper"), named}, {animal("good"), named}};
  CHECK_THAT(Registry(path).refused_by_name(),
             Contains(animal("good").string()) && Contains(animal("usurper").string()));
  // The same build twice is no question of which.
  const Enclosure here;
  path.places = {{animal("good"), named}, {here.copy(animal("good"), "again.so"), named}};
  CHECK(Registry(path).refused_by_name() == "");
}

TEST_CASE("a refused file of a given directory answers for its components, and for no others") {
  const Enclosure here;
  fs::create_directory(here / "given");
  here.copy(animal("old_cross"), "given/old.so");
  here.write("given/broken.so", "no plugin");
  here.copy(animal("good"), "good.so");
  SearchPath path = places({here / "good.so"});
  path.places.insert(path.places.begin(), {here / "given", std::string(SearchPath::kArgument)});
  Registry registry(path);
  CHECK(registry.refused_by_name() == "");
  const Catalog::Found found = registry.find(GH_KIND_STRUCTURE, "zoo_cross");
  CHECK(found.schema == nullptr);
  CHECK_THAT(found.problem, Contains("given/old.so") && Contains("1.13.1"));
  CHECK(registry.find(GH_KIND_ALLOCATOR, "zoo_softmax").schema != nullptr);
}
