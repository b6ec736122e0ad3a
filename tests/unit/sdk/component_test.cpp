// What the C++ helpers put into a manifest. This file is a plugin with a component of each kind of
// note.
#include "gh/component.hpp"

#include "gh/version.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

extern "C" const char* gh_plugin_fingerprint(void) { return "name=in_test\n"; }

namespace {

struct Quiet : gh::Complaints {
  std::string text;
  void add(std::string_view key, std::string_view message) override {
    text += std::string(key) + ": " + std::string(message) + "\n";
  }
};

struct NoParams : gh::Params {
  bool has(std::string_view) const override { return false; }
  bool boolean(std::string_view) const override { return false; }
  int64_t integer(std::string_view) const override { return 3; }
  double real(std::string_view) const override { return 0; }
  std::string_view text(std::string_view) const override { return {}; }
  std::span<const int64_t> integers(std::string_view) const override { return {}; }
  std::span<const double> reals(std::string_view) const override { return {}; }
  std::span<const std::string_view> texts(std::string_view) const override { return {}; }
  const Params& table(std::string_view) const override { return *this; }
};

int alive = 0;

class Points final : public gh::Structure {
 public:
  explicit Points(const gh::Params& params) : count_(params.integer("points")) { ++alive; }
  ~Points() override { --alive; }
  static void validate(const gh::Params&, gh::Complaints& out) { out.add("points", "odd"); }
  at::Tensor points(int64_t, gh::Random) const override { return {}; }
  int64_t count_;
};

class Nothing final : public gh::Dataset {
 public:
  explicit Nothing(const gh::Params&) {}
  std::vector<std::string> splits() const override { return {}; }
  std::unique_ptr<gh::Split> open(std::string_view, uint64_t) const override {
    gh::fail(gh::ErrorCode::missing_data, "nothing to open, seed ", 7);
  }
};

constexpr gh::Param kFields[] = {gh::real("rate", "0.1", "how fast").above(0).at_most(1)};
constexpr gh::Param kParams[] = {
    gh::integer("points", "4", "how many")
        .at_least(2)
        .below(100)
        .in("points")
        .formerly("k")
        .added_in("1.1.0"),
    gh::path("file", nullptr, "where from").optional(),
    gh::choice("law", "exp", "exp|step", "which"),
    gh::table("inner", "{}", "more", kFields),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Points>("points", "some points", kParams)
        .with_flags(GH_NONDETERMINISTIC)
        .with_facts({.paper = "Nobody, 2026", .state = "nothing"}),
    gh::describe<Nothing>("nothing", "no data"),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .doc = "A plugin in a test")

TEST_CASE("the entry hands out a manifest that describes itself") {
  const gh_manifest_v1* m = nullptr;
  const gh_host_v1 host{};
  REQUIRE(gh_plugin_entry_v1(&host, &m) == 0);
  REQUIRE(m != nullptr);
  CHECK(m->magic == GH_MANIFEST_MAGIC);
  CHECK(std::memcmp(&m->magic, "HOST_M_1", 8) == 0);
  CHECK(m->size == sizeof(gh_manifest_v1));
  CHECK(m->sdk_major == GH_SDK_MAJOR);
  CHECK(m->sdk_minor == GH_SDK_MINOR);
  CHECK(m->component_size == sizeof(gh_component_v1));
  CHECK(m->param_size == sizeof(gh_param_v1));
  CHECK(m->component_count == 2);
  CHECK(std::string(m->name) == "in_test");
  CHECK(std::string(m->version) == "1.2.3");
  CHECK(std::string(m->license) == "MIT");
  CHECK(std::string(m->authors).empty());
  CHECK(std::string(m->fingerprint) == "name=in_test\n");
  CHECK(m->components == kComponents);
  const gh_manifest_v1* again = nullptr;
  gh_plugin_entry_v1(&host, &again);
  CHECK(again == m);
}

TEST_CASE("kind, interface, flags and threads follow from the class") {
  CHECK(kComponents[0].kind == GH_KIND_STRUCTURE);
  CHECK(std::string(kComponents[0].interface_id) == "gh.structure.v1");
  CHECK(kComponents[0].flags == GH_NONDETERMINISTIC);
  CHECK(kComponents[0].threads == GH_THREADS_TRAINING);
  CHECK(kComponents[0].param_count == 4);
  CHECK(std::string(kComponents[0].paper) == "Nobody, 2026");
  CHECK(std::string(kComponents[0].state) == "nothing");
  CHECK(kComponents[0].views == nullptr);
  CHECK(kComponents[1].paper == nullptr);
  CHECK(kComponents[1].kind == GH_KIND_DATASET);
  CHECK(kComponents[1].threads == GH_THREADS_ANY);  // loader threads read it
  CHECK(kComponents[1].params == nullptr);
  CHECK(kComponents[1].validate == nullptr);
}

TEST_CASE("a component is made, checked and destroyed through the manifest") {
  const NoParams params;
  void* raw = kComponents[0].create(&params);
  CHECK(alive == 1);
  auto* structure = static_cast<gh::Structure*>(raw);
  CHECK(static_cast<Points*>(structure)->count_ == 3);
  CHECK_FALSE(structure->learnable());
  CHECK(structure->query("gh.anything.v1") == nullptr);
  CHECK(std::isnan(structure->best_cosine(2)));
  kComponents[0].destroy(raw);
  CHECK(alive == 0);
  Quiet complaints;
  kComponents[0].validate(&params, static_cast<gh::Complaints*>(&complaints));
  CHECK(complaints.text == "points: odd\n");
}

TEST_CASE("parameter builders fill the descriptor") {
  const gh_param_v1& points = kParams[0];
  CHECK(points.kind == GH_PARAM_INT);
  CHECK(points.flags == (GH_PARAM_HAS_MIN | GH_PARAM_HAS_MAX | GH_PARAM_MAX_OPEN));
  CHECK(points.min == 2);
  CHECK(points.max == 100);
  CHECK(std::string(points.unit) == "points");
  CHECK(std::string(points.replaces) == "k");
  CHECK(std::string(points.since) == "1.1.0");
  CHECK(kParams[1].flags == GH_PARAM_OPTIONAL);
  CHECK(kParams[1].default_toml == nullptr);
  CHECK(std::string(kParams[2].choices) == "exp|step");
  CHECK(kParams[3].kind == GH_PARAM_TABLE);
  CHECK(kParams[3].field_count == 1);
  CHECK(kParams[3].fields[0].flags == (GH_PARAM_HAS_MIN | GH_PARAM_MIN_OPEN | GH_PARAM_HAS_MAX));
}

TEST_CASE("an error carries its code and all parts of its message") {
  const NoParams params;
  const Nothing nothing(params);
  try {
    nothing.open("train", 0);
    FAIL("opened");
  } catch (const gh::Error& e) {
    CHECK(e.code() == gh::ErrorCode::missing_data);
    CHECK(std::string(e.what()) == "nothing to open, seed 7");
    CHECK(gh::name_of(e.code()) == "missing_data");
  }
  CHECK_NOTHROW(gh::require(true, gh::ErrorCode::internal, "fine"));
}

TEST_CASE("the fingerprint names everything that must agree") {
  const std::string text = std::string("\n") + gh::sdk_fingerprint();
  for (const char* key :
       {"sdk", "torch", "device", "arch", "compiler", "cxx_abi", "stdlib", "string_abi",
        "stdlib_debug", "sanitizer", "cpu_level", "compiler_version"}) {
    INFO(key);
    const std::size_t at = text.find(std::string("\n").append(key).append("="));
    REQUIRE(at != std::string::npos);
    CHECK(text.at(at + std::strlen(key) + 2) != '\n');  // not empty
  }
  // A macro that was not expanded would show its name.
  CHECK(text.find("GH_") == std::string::npos);
  CHECK(text.find("__") == std::string::npos);
  CHECK(text.back() == '\n');
}
