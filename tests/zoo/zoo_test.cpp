// Every animal is refused with the error code of its own, and the program lives on.
#include "visitor.hpp"

#include "recipe/schema.hpp"

#include <sys/resource.h>

#include <chrono>

using namespace gh::host;
using namespace zoo;
using Code = PluginErrorCode;
using Catch::Contains;

namespace {

struct Visit {
  const char* name;
  Code code;
  const char* says = "";
};

const Visit kRefusedByTheFile[] = {
    {"plain_library", Code::no_note, "gh_add_plugin"},
    {"garbage_note", Code::bad_note},
    {"nameless_note", Code::bad_note, "no equals sign here"},
    {"newer_minor", Code::sdk_minor, "SDK 1.99"},
    {"other_major", Code::sdk_major, "SDK 2.0"},
    {"other_torch", Code::fingerprint, "1.13.1"},
    {"other_compiler", Code::fingerprint, "icc"},
    {"newer_cpu", Code::cpu_level, "x86-64-v9"},
    {"foreign_torch", Code::foreign_library, "libtorch_of_somebody.so"},
};

const Visit kRefusedInTheChild[] = {
    {"no_entry", Code::no_entry, "gh_plugin_entry_v1"},
    {"missing_symbol", Code::load_failed, "gh_zoo_defined_nowhere"},
    {"wrong_magic", Code::bad_magic},
    {"short_manifest", Code::bad_size, "manifest"},
    {"long_manifest", Code::bad_size, "manifest"},
    {"odd_stride", Code::bad_size, "components"},
    {"other_sdk", Code::manifest_mismatch, "1.9"},
    {"other_name", Code::manifest_mismatch, "somebody_else"},
    {"other_provides", Code::manifest_mismatch, "something_else"},
    {"other_fingerprint", Code::manifest_mismatch, "torch=0.1"},
    {"no_components", Code::bad_manifest},
    {"unknown_kind", Code::bad_manifest, "77"},
    {"no_create", Code::bad_manifest, "no create"},
    {"no_id", Code::bad_manifest, "null"},
    {"spaced_id", Code::bad_manifest, "two words"},
    {"other_interface", Code::bad_manifest, "gh.structure.v2"},
    {"no_doc", Code::bad_manifest, "doc"},
    {"garbled_doc", Code::bad_manifest, "UTF-8"},
    {"garbled_paper", Code::bad_manifest, "paper"},
    {"wild_components", Code::crashed, "SIGSEGV"},
    {"param_without_name", Code::bad_schema},
    {"param_with_bad_name", Code::bad_schema, "Four Legs"},
    {"param_of_unknown_kind", Code::bad_schema, "legs"},
    {"default_unparsable", Code::bad_schema, "legs"},
    {"default_of_other_kind", Code::bad_schema, "legs"},
    {"default_out_of_bounds", Code::bad_schema, "legs"},
    {"choice_without_choices", Code::bad_schema, "legs"},
    {"param_twice", Code::bad_schema, "twice"},
    {"table_without_fields", Code::bad_schema, "legs"},
    {"params_null", Code::bad_schema},
    {"params_countless", Code::bad_schema, "4000000000"},
    {"twins", Code::duplicate_id, "structure/zoo_twins twice"},
    {"null_manifest", Code::null_manifest},
    {"untouched_manifest", Code::null_manifest},
    {"entry_fails", Code::entry_failed, "the animal is asleep"},
    {"entry_throws", Code::entry_failed, "bites the keeper"},
    {"entry_throws_int", Code::entry_failed, "unknown type"},
    {"entry_exits", Code::crashed, "exit code 5 (exit() was called)"},
    {"entry_exits_at_once", Code::crashed, "exit code 6"},
    {"entry_segfaults", Code::crashed, "SIGSEGV"},
    {"entry_aborts", Code::crashed, "SIGABRT"},
    {"entry_killed", Code::crashed, "SIGKILL"},
    {"entry_forks", Code::crashed, "exit code 11"},
    {"initializer_aborts", Code::crashed, "SIGABRT"},
    {"initializer_throws", Code::crashed, "thrown where nobody can catch it"},
    {"initializer_exits", Code::crashed, "exit code 0"},
};

// Sanitizers turn signals into exit codes of their own.
bool names_signal(const char* says) {
#if defined(__SANITIZE_ADDRESS__)
  return std::string_view(says).starts_with("SIG");
#else
  (void)says;
  return false;
#endif
}

void visit(const Visit& v) {
  const std::string message = require_refused(animal(v.name), v.code);
  if (!names_signal(v.says)) CHECK_THAT(message, Contains(v.says));
}

}  // namespace

TEST_CASE("plugins that their file gives away are refused and never run") {
  for (const Visit& v : kRefusedByTheFile) visit(v);
}

TEST_CASE("plugins that fail while loading are refused with a code of their own") {
  for (const Visit& v : kRefusedInTheChild) visit(v);
}

TEST_CASE("a plugin that hangs is given up after the time it has, once") {
  using namespace std::chrono;
  const auto limit = milliseconds(300);
  const auto begin = steady_clock::now();
  CHECK_THAT(require_refused(animal("entry_hangs"), Code::timed_out, {.probe_timeout = limit}),
             Contains("0.3 s"));
  CHECK(steady_clock::now() - begin < minutes(1));

  Registry registry({}, {.probe_timeout = milliseconds(500)});
  REQUIRE(registry.load(animal("entry_hangs")));
  const auto switches_of_children = [] {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_nvcsw + used.ru_nivcsw;
  };
  const long before = switches_of_children();
  const auto error = registry.load(animal("entry_hangs"));
  REQUIRE(error);
  CHECK(error->code == Code::timed_out);
  CHECK(switches_of_children() == before);  // no child was started to try it again
}

TEST_CASE("what a dying plugin printed is part of the message") {
  CHECK_THAT(require_refused(animal("entry_aborts"), Code::crashed), Contains("roars"));
}

TEST_CASE("a fingerprint that differs is shown as a table with a way out") {
  const std::string message = require_refused(animal("other_torch"), Code::fingerprint);
  CHECK_THAT(message,
             Contains("key") && Contains("this host") && Contains("plugin") && Contains("torch"));
  CHECK_THAT(message, Contains("GH_TORCH_DIR"));
  CHECK_THAT(message, !Contains("stdlib_debug"));
}

TEST_CASE("an id that another plugin has taken is refused whole") {
  Registry registry({});
  REQUIRE(!registry.load(animal("good")));
  const auto error = registry.load(animal("usurper"));
  REQUIRE(error);
  CHECK(error->code == Code::duplicate_id);
  CHECK_THAT(error->message, Contains("structure/zoo_cross") && Contains(animal("good").string()));
  CHECK(registry.loaded().size() == 1);
}

TEST_CASE("the same build from two places is a duplicate, the same file is not") {
  const Enclosure here;
  const fs::path copy = here.copy(animal("sound"), "copy.so");
  Registry registry({});
  REQUIRE(!registry.load(animal("sound")));
  CHECK(!registry.load(animal("sound")));
  CHECK(registry.loaded().size() == 1);
  const auto error = registry.load(copy);
  REQUIRE(error);
  CHECK(error->code == Code::duplicate);
  CHECK_THAT(error->message, Contains(animal("sound").string()));
}

TEST_CASE("create that throws or gives null is an error that names the component") {
  struct Case {
    const char* name;
    const char* says;
  };
  for (const Case c : {Case{"create_throws", "refuses to be born"},
                       {"create_throws_int", "unknown type"},
                       {"create_null", "found null"}}) {
    Registry registry({});
    REQUIRE(!registry.load(animal(c.name)));
    const std::string id = std::string("zoo_") + c.name;
    const auto params = make_params({}, {});
    try {
      registry.create<gh::Structure>(id, *params);
      FAIL("created");
    } catch (const gh::Error& e) {
      CHECK(e.code() == gh::ErrorCode::internal);
      CHECK_THAT(e.what(), Contains("structure/" + id) && Contains("internal") && Contains(c.says));
    }
  }
}

TEST_CASE("a good plugin loads, is described and creates components") {
  Registry registry({});
  REQUIRE(!registry.load(animal("good")));
  const LoadedPlugin& plugin = registry.loaded().front();
  CHECK(plugin.note.name == "zoo_good");
  CHECK(plugin.note.version == "1.2.3");
  CHECK(plugin.sha256.size() == 64);
  CHECK(plugin.note.build_id.size() == 40);
  CHECK(plugin.license == "MIT");
  CHECK(plugin.components.size() == plugin.note.provides.size());
  const ComponentInfo& info = registry.info(GH_KIND_STRUCTURE, "zoo_cross");
  REQUIRE(info.schema.size() == 1);
  Diagnostics diagnostics;
  const auto params =
      make_params(info.schema, apply_schema(info.schema, {}, {}, "structure", {}, diagnostics));
  const auto structure = registry.create<gh::Structure>("zoo_cross", *params);
  const at::Tensor points = structure->points(3, gh::Random(0));
  CHECK(points.size(0) == 4);
  CHECK(points[3][1].item<double>() == -1.0);
  CHECK_THROWS_AS(registry.info(GH_KIND_SSL, "zoo_cross"), gh::Error);
}
