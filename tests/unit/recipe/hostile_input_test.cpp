// Input that no person writes: it may be refused, but must not crash, hang or be taken.
#include "recipe_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

namespace {
std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}
}  // namespace

TEST_CASE("deep nesting is refused where it gets too deep") {
  const std::string text =
      GENERATE("a = " + repeated("[", 100'000), "a = " + repeated("{a=", 100'000),
               repeated("a.", 100'000) + "a = 1", "[" + repeated("a.", 100'000) + "a]",
               "[[" + repeated("'a' . ", 100'000) + "a]]",
               "x = [ \"\"\"q\"\"\"\", {" + repeated("a.", 100'000) + "a = 1} ]",
               "x = '''#''' # \"\n" + repeated("\"#\".", 100'000) + "a = 1",
               "x = \"\\\"#\"\n" + repeated("a.", 100'000) + "a = 1",
               repeated("a . \"b]\" .", 100'000) + "a = 1");
  Diagnostics out;
  CHECK_FALSE(parse_toml(text, "t.toml", out));
  CHECK(only(out).message == "nested more than 32 levels deep");
  CHECK(only(out).source.line >= 1);
  CHECK(out.text().size() < 1000);
}

TEST_CASE("what only looks deep is read") {
  Diagnostics out;
  const std::string text = "a = \"" + repeated("a.", 1000) + "\" # " + repeated("[.", 1000) +
                           "\nb = [" + repeated("0.5, ", 1000) + "]\nc = '''\n" +
                           repeated("{.", 1000) + "'''\n" + repeated("[[e]]\nx.y.z = 1.5\n", 1000);
  CHECK(parse_toml(text, "t.toml", out));
  CHECK(out.all().empty());
}

TEST_CASE("a deep override is refused") {
  CHECK(load(kMinimal, {"name=" + repeated("[", 100'000)}).out.error_count() == 1);
  CHECK(load(kMinimal, {repeated("a.", 10'000) + "a=1"}).out.error_count() == 1);
  CHECK(load(kMinimal, {"+" + repeated("a.", 100'000) + "a=1"}).out.error_count() == 1);
}

TEST_CASE("random damage is reported or harmless") {
  const TempDir dir;
  uint64_t state = 1;
  const auto random = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>((state >> 33) % below);
  };
  const std::string bytes = "[]{}=\"'.,\n\t #0159-_axe\xc3\xff";
  int accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = kFull;
    for (std::size_t hits = random(3) + 1; hits > 0; --hits) {
      const std::size_t at = random(text.size());
      if (random(3) == 0)
        text.erase(at, random(12));
      else if (random(2) == 0)
        text[at] = bytes[random(bytes.size())];
      else
        text.insert(at, text.substr(random(text.size()), random(20)));
    }
    const Loaded loaded = load_file(dir.write("damaged.toml", text));
    loaded.out.text();
    if (loaded.out.has_errors()) continue;
    ++accepted;
    const std::string written = to_toml(loaded.recipe.resolved);
    const Loaded again = load_file(dir.write("again.toml", written));
    INFO(text << summary(again.out));
    REQUIRE(again.out.all().empty());
    REQUIRE(to_toml(again.recipe.resolved) == written);
  }
  CHECK(accepted > 10);
}

TEST_CASE("huge files are refused by size, large ones are read") {
  const Loaded huge = load("# " + std::string(2 << 20, 'x'));
  CHECK_THAT(only(huge.out).message, Contains("larger than 1048576 bytes"));
  const Loaded large = load("# " + std::string(1000'000, 'x') + "\n" + kMinimal);
  CHECK(large.out.all().empty());
}

TEST_CASE("thousands of mistakes are all reported") {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "key_" + std::to_string(i) + " = 1\n";
  const Loaded loaded = load(text + kMinimal);
  CHECK(loaded.out.error_count() == 5'000);
  CHECK(loaded.out.text().size() > 5'000);
}

TEST_CASE("an endless list of wrong elements is a handful of mistakes") {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "1,";
  CHECK(load(kMinimal + "[[eval]]\nid = \"knn\"\nwhen = [" + text + "]\n").out.error_count() == 10);
}

TEST_CASE("an empty file misses everything a recipe needs, and says so") {
  const std::string text = GENERATE(std::string(), "\n\n", "# nothing\n", "\xef\xbb\xbf");
  const Loaded loaded = load(text);
  const std::string found = summary(loaded.out);
  CHECK(loaded.out.error_count() == 4);
  for (const char* table : {"data", "backbone", "method", "train"})
    CHECK_THAT(found, Contains(std::string("1:1 ") + table + ": missing table"));
}

TEST_CASE("bytes that are not text are refused with a position") {
  const std::string bytes =
      GENERATE(std::string("name = \"\xff\xfe\"\n"), std::string("name = \"a\0b\"\n", 13),
               std::string("\x7f"
                           "ELF\x02\x01\0\0",
                           8),
               std::string("name = \"\xed\xa0\x80\"\n"), std::string("name = \"\xc0\x80\"\n"));
  const TempDir dir;
  const Loaded loaded = load_file(dir.write("bytes.toml", bytes));
  const Diagnostic d = only(loaded.out);
  CHECK_THAT(d.message, Contains("not valid TOML"));
  CHECK(d.source.line == 1);
  CHECK_THAT(loaded.out.text(), Contains("^"));
}

TEST_CASE("CRLF recipes resolve like others, with the same positions") {
  std::string crlf;
  for (const char c : kMinimal + "bach = 1\n")
    crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const TempDir dir;
  const Loaded loaded = load_file(dir.write("crlf.toml", crlf));
  CHECK(only(loaded.out).source.line == 11);
  CHECK_THAT(loaded.out.text(), Contains("   11 | bach = 1\n      | ^\n"));
}

TEST_CASE("what is no readable file is named with the reason") {
  const TempDir dir;
  dir.write("recipe.toml", kMinimal);
  const auto reason = [&](const std::filesystem::path& file) {
    const Loaded loaded = load_file(file);
    const Diagnostic d = only(loaded.out);
    CHECK(d.source.file == file.string());
    CHECK(d.source.line == 0);
    CHECK(loaded.out.text() == file.string() + ": error: " + d.message + "\n");
    return d.message;
  };
  CHECK(reason(dir.path()) == "is a directory, expected a recipe file");
  CHECK(reason(dir.path() / "recipes.toml") == "no such file; did you mean 'recipe.toml'?");
  CHECK(reason(dir.path() / "other/else.toml") == "no such file");
  CHECK_THAT(reason(dir.path() / "recipe.toml/x"),
             Contains("Not a directory") || Contains("no such file"));
  CHECK_THAT(reason("/proc/self/mem"), Contains("cannot be read: "));
  REQUIRE(::mkfifo((dir.path() / "pipe.toml").c_str(), 0600) == 0);
  CHECK(reason(dir.path() / "pipe.toml") == "is a pipe; expected a regular file");
  if (geteuid() == 0) return;  // root may read everything
  std::filesystem::permissions(dir.path() / "recipe.toml", std::filesystem::perms::none);
  CHECK_THAT(reason(dir.path() / "recipe.toml"), Contains("cannot be read: Permission denied"));
}
