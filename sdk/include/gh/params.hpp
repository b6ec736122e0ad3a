// Parameters: how a component declares them (as constant data) and how it reads them.
//
//   constexpr gh::Param kParams[] = {
//       gh::real("temperature", "0.2", "softmax temperature").above(0),
//       gh::choice("projector", "mlp", "mlp|none", "head between backbone and loss"),
//   };
//
// The host parses TOML, fills in defaults, checks kinds, bounds and choices and refuses unknown
// keys; the component then reads values that are present and valid.
#pragma once

#include "gh/error.hpp"
#include "gh/plugin.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace gh {
inline namespace v1 {

// A gh_param_v1 with builder functions; no members of its own, so an array of Param is an array of
// gh_param_v1.
struct Param : gh_param_v1 {
  constexpr Param above(double bound) const {
    return lower(bound, GH_PARAM_HAS_MIN | GH_PARAM_MIN_OPEN);
  }
  constexpr Param at_least(double bound) const { return lower(bound, GH_PARAM_HAS_MIN); }
  constexpr Param below(double bound) const {
    return upper(bound, GH_PARAM_HAS_MAX | GH_PARAM_MAX_OPEN);
  }
  constexpr Param at_most(double bound) const { return upper(bound, GH_PARAM_HAS_MAX); }
  // What the value counts. The host shrinks a run in proportion (`--scale`) by these:
  //   "epochs", "steps"  a number of them, or one at which something happens
  //   "per epoch"        a factor applied once an epoch, such as the momentum of a table of samples
  //   "channels"         the width of a network
  constexpr Param in(const char* of_what) const {
    Param p = *this;
    p.unit = of_what;
    return p;
  }
  constexpr Param formerly(const char* old_name) const {
    Param p = *this;
    p.replaces = old_name;
    return p;
  }
  constexpr Param added_in(const char* version) const {
    Param p = *this;
    p.since = version;
    return p;
  }
  constexpr Param optional() const {
    Param p = *this;
    p.flags |= GH_PARAM_OPTIONAL;
    return p;
  }

 private:
  constexpr Param lower(double bound, uint32_t flag) const {
    Param p = *this;
    p.min = bound;
    p.flags |= flag;
    return p;
  }
  constexpr Param upper(double bound, uint32_t flag) const {
    Param p = *this;
    p.max = bound;
    p.flags |= flag;
    return p;
  }
};
static_assert(sizeof(Param) == sizeof(gh_param_v1));

// `default_toml` is TOML text ("0.2", "true", "[1, 2]"); null makes the parameter required.
constexpr Param make_param(gh_param_kind kind, const char* name, const char* default_toml,
                           const char* doc) {
  Param p{};
  p.kind = kind;
  p.name = name;
  p.default_toml = default_toml;
  p.doc = doc;
  return p;
}
constexpr Param boolean(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_BOOL, name, default_toml, doc);
}
constexpr Param integer(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_INT, name, default_toml, doc);
}
constexpr Param real(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_FLOAT, name, default_toml, doc);
}
constexpr Param text(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_STRING, name, default_toml, doc);
}
// `choices` is "a|b|c"; `default_toml` one of them without quotes, or null.
constexpr Param choice(const char* name, const char* default_toml, const char* choices,
                       const char* doc) {
  Param p = make_param(GH_PARAM_CHOICE, name, default_toml, doc);
  p.choices = choices;
  return p;
}
// A relative path is taken from the directory of the recipe file; "~/" is the home directory.
constexpr Param path(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_PATH, name, default_toml, doc);
}
constexpr Param integers(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_INT_LIST, name, default_toml, doc);
}
constexpr Param reals(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_FLOAT_LIST, name, default_toml, doc);
}
constexpr Param texts(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_STRING_LIST, name, default_toml, doc);
}
#if GH_SDK_MINOR >= 1
// Each as path() has it. Since 1.1.
constexpr Param paths(const char* name, const char* default_toml, const char* doc) {
  return make_param(GH_PARAM_PATH_LIST, name, default_toml, doc);
}
#endif
template <std::size_t N>
constexpr Param table(const char* name, const char* default_toml, const char* doc,
                      const Param (&fields)[N]) {
  Param p = make_param(GH_PARAM_TABLE, name, default_toml, doc);
  p.fields = fields;
  p.field_count = N;
  return p;
}

// The validated values of one component. Lives as long as the component. Asking for a name or kind
// that the schema does not declare throws ErrorCode::internal. Any thread.
class GH_API Params {
 public:
  virtual ~Params();
  // False only for an absent optional parameter.
  virtual bool has(std::string_view name) const = 0;
  virtual bool boolean(std::string_view name) const = 0;
  virtual int64_t integer(std::string_view name) const = 0;
  virtual double real(std::string_view name) const = 0;
  // The text of a string, a choice or a path, which is absolute.
  virtual std::string_view text(std::string_view name) const = 0;
  virtual std::span<const int64_t> integers(std::string_view name) const = 0;
  virtual std::span<const double> reals(std::string_view name) const = 0;
  virtual std::span<const std::string_view> texts(std::string_view name) const = 0;
  virtual const Params& table(std::string_view name) const = 0;
};

}  // namespace v1
}  // namespace gh
