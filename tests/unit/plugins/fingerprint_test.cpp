#include "plugins/fingerprint.hpp"

#include "plugins/plugin_error.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace gh::host;
using Catch::Contains;
using Code = PluginErrorCode;

namespace {

Fingerprint with(Fingerprint f, const std::string& key, const std::string& value) {
  f[key] = value;
  return f;
}

// The refusal, or "" when there is none.
std::string check(const Fingerprint& plugin, Code code, int level = 3) {
  try {
    check_fingerprint(with(host_fingerprint(), "sdk", "1.4"), level, plugin);
  } catch (const PluginRefused& e) {
    CHECK(name_of(e.code()) == name_of(code));
    return e.what();
  }
  return "";
}

const Fingerprint kSame = with(with(host_fingerprint(), "cpu_level", "2"), "sdk", "1.4");

}  // namespace

TEST_CASE("an equal build passes, an older minor and another compiler version too") {
  CHECK(check(kSame, Code::fingerprint).empty());
  CHECK(check(with(kSame, "sdk", "1.0"), Code::sdk_minor).empty());
  CHECK(check(with(kSame, "compiler_version", "99.1"), Code::fingerprint).empty());
}

TEST_CASE("the SDK's major must be equal and its minor no newer") {
  CHECK_THAT(check(with(kSame, "sdk", "1.5"), Code::sdk_minor),
             Contains("1.4 or older") && Contains("found SDK 1.5"));
  CHECK_THAT(check(with(kSame, "sdk", "2.0"), Code::sdk_major),
             Contains("major 1") && Contains("found SDK 2.0"));
  CHECK_THAT(check(with(kSame, "sdk", "0.9"), Code::sdk_major), Contains("found SDK 0.9"));
  for (const char* bad : {"", "1", "1.", "1.x", "one.two", "1.0.0", "99999999999999.0"})
    CHECK_THAT(check(with(kSame, "sdk", bad), Code::bad_note), Contains("sdk=MAJOR.MINOR"));
}

TEST_CASE("every key that decides the layout of objects must match") {
  for (const char* key : {"torch", "device", "arch", "compiler", "cxx_abi", "stdlib", "string_abi",
                          "stdlib_debug", "sanitizer"}) {
    const std::string text = check(with(kSame, key, "other"), Code::fingerprint);
    CHECK_THAT(text, Contains(key) && Contains(host_fingerprint().at(key)) && Contains("other") &&
                         Contains("Rebuild"));
    Fingerprint without = kSame;
    without.erase(key);
    CHECK_THAT(check(without, Code::fingerprint), Contains("(absent)"));
  }
}

TEST_CASE("the table lists what differs in aligned columns and nothing else") {
  Fingerprint other = with(with(kSame, "torch", "1.13.1"), "string_abi", "0");
  other["compiler_version"] = "4.9";
  const std::string text = check(other, Code::fingerprint);
  INFO(text);
  const auto column = [&](const std::string& word) {
    const std::size_t at = text.find(word);
    return at - text.rfind('\n', at);
  };
  CHECK(column("plugin\n") == column("1.13.1"));
  CHECK(column("this host  plugin") == column(host_fingerprint().at("torch")));
  CHECK_THAT(text, Contains("4.9  (may differ)") && !Contains("sanitizer"));
}

TEST_CASE("code for a newer processor is refused") {
  CHECK(check(with(kSame, "cpu_level", "3"), Code::cpu_level, 3).empty());
  CHECK_THAT(check(with(kSame, "cpu_level", "4"), Code::cpu_level, 3),
             Contains("x86-64-v4") && Contains("-march=x86-64-v3"));
  CHECK(!check(with(kSame, "cpu_level", "many"), Code::bad_note).empty());
  CHECK(host_cpu_level() >= 1);
  CHECK(host_cpu_level() <= 4);
}

TEST_CASE("a second LibTorch or OpenMP is refused, the resident one is not") {
  const std::vector<std::string> resident = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1",
                                             "libm.so.6"};
  CHECK_NOTHROW(
      check_needed({"libtorch_cpu.so", "libc10.so", "libgomp.so.1", "libjpeg.so.62"}, resident));
  for (const char* foreign : {"libtorch_cuda.so", "libc10_cuda.so", "/opt/torch/lib/libtorch.so.2",
                              "libiomp5.so", "libomp.so.5"})
    CHECK_THROWS_WITH(check_needed({foreign}, resident), Contains(foreign));
  CHECK_NOTHROW(check_needed({"libomp.so.5"}, {"libm.so.6"}));
  const auto here = resident_libraries();
  CHECK(std::ranges::find(here, "libc10.so") != here.end());
}
