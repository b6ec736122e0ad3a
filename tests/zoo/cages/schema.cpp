// Parameter declarations that break one rule each; ZOO_CASE picks it.
#include "zoo.h"

namespace {

gh_param_v1 param(uint32_t kind, const char* name, const char* default_toml) {
  gh_param_v1 p{};
  p.kind = kind;
  p.name = name;
  p.default_toml = default_toml;
  p.doc = "a parameter";
  return p;
}

gh_param_v1 broken() {
  gh_param_v1 p = param(GH_PARAM_INT, "legs", "4");
  switch (ZOO_CASE) {
    case 0:
      p.name = nullptr;
      break;
    case 1:
      p.name = "Four Legs";
      break;
    case 2:
      p.kind = 99;
      break;
    case 3:
      p.default_toml = "four";
      break;
    case 4:
      p.default_toml = "\"4\"";
      break;
    case 5:
      p.min = 5;
      p.flags = GH_PARAM_HAS_MIN;
      break;
    case 6:
      p.kind = GH_PARAM_CHOICE;
      break;
    case 7:
      p.name = "twice";
      break;
    case 8:
      p.kind = GH_PARAM_TABLE;
      p.default_toml = nullptr;
      p.field_count = 3;
      break;
  }
  return p;
}

}  // namespace

ZOO_PLUGIN({
  static gh_param_v1 params[] = {param(GH_PARAM_BOOL, "twice", "true"), broken()};
  c.params = ZOO_CASE == 9 ? nullptr : params;
  c.param_count = ZOO_CASE == 10 ? 4'000'000'000u : 2;
})
