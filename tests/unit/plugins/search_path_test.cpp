#include "visitor.hpp"

#include "plugins/search_path.hpp"

#include <cstdlib>
#include <optional>

using namespace gh::host;
using namespace zoo;

namespace {

// Sets a variable and puts back what was there.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::vector<std::string> origins(const SearchPath& path) {
  std::vector<std::string> all;
  for (const auto& place : path.places) all.push_back(place.origin);
  return all;
}

}  // namespace

TEST_CASE("places come in order: arguments, environment, user, bundled") {
  const Enclosure here;
  fs::create_directories(here / "a");
  fs::create_directories(here / "b");
  const Variable list("GHHOST_PLUGIN_PATH",
                      ((here / "a").string() + ":" + (here / "b").string()).c_str());
  const Variable data("XDG_DATA_HOME", here.path().c_str());
  const SearchPath path = default_search_path({(here / "x.so").string()});
  CHECK(origins(path) == std::vector<std::string>{"--plugin", "GHHOST_PLUGIN_PATH",
                                                  "GHHOST_PLUGIN_PATH", "user", "bundled"});
  CHECK(path.places[0].path == here / "x.so");
  CHECK(path.places[1].path == here / "a");
  CHECK(path.places[3].path == here / "ghhost/plugins");
  CHECK(path.places[4].path.string().ends_with("lib/ghhost/plugins"));
  for (const auto& place : path.places) CHECK(place.path.is_absolute());
}

TEST_CASE("relative places of the environment are ignored and said so") {
  const Variable list("GHHOST_PLUGIN_PATH", "plugins::.:/nowhere");
  const Variable data("XDG_DATA_HOME", "relative");
  const Variable home("HOME", "/nowhere/home");
  const SearchPath path = default_search_path({});
  CHECK(origins(path) == std::vector<std::string>{"GHHOST_PLUGIN_PATH", "user", "bundled"});
  CHECK(path.places[1].path == "/nowhere/home/.local/share/ghhost/plugins");
  REQUIRE(path.ignored.size() == 2);
  CHECK_THAT(path.ignored[0],
             Catch::Contains("\"plugins\"") && Catch::Contains("GHHOST_PLUGIN_PATH"));
}

TEST_CASE("one directory under two names is one place") {
  const Enclosure here;
  fs::create_directories(here / "a");
  fs::create_directory_symlink(here / "a", here / "link");
  const Variable list("GHHOST_PLUGIN_PATH",
                      ((here / "link").string() + ":" + (here / "a/").string()).c_str());
  CHECK(default_search_path({(here / "a").string()}).places.front().origin == "--plugin");
  const auto all = origins(default_search_path({(here / "a").string()}));
  CHECK(std::ranges::count(all, "GHHOST_PLUGIN_PATH") == 0);
}

TEST_CASE("a place holds its .so files, sorted, and what was named outright") {
  const Enclosure here;
  for (const char* name : {"b.so", "a.so", "notes.txt", "c.so.1"}) here.write(name, "");
  fs::create_directory(here / "d.so");
  CHECK(plugin_files_in({here.path(), "user"}) ==
        std::vector{here / "a.so", here / "b.so", here / "d.so"});
  CHECK(plugin_files_in({here / "absent", "user"}).empty());
  CHECK(plugin_files_in({here / "absent", "--plugin"}).size() == 1);
  CHECK(plugin_files_in({here / "notes.txt", "--plugin"}).size() == 1);
}
