#include "recipe/schema.hpp"

#include "recipe/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gh::host {
namespace {

// A manifest comes from a stranger; these stop a bad count or a `fields` pointer that leads back to
// itself.
constexpr std::size_t kMaxParams = 1000;
constexpr int kMaxNesting = 8;

[[noreturn]] void bad(const std::string& path, const std::string& what) {
  fail(ErrorCode::invalid_param, "parameter '", path, "': ", what);
}

std::string or_empty(const char* text) { return text ? text : ""; }

bool is_key(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

bool takes_bounds(gh_param_kind kind) {
  return kind == GH_PARAM_INT || kind == GH_PARAM_FLOAT || kind == GH_PARAM_INT_LIST ||
         kind == GH_PARAM_FLOAT_LIST;
}

std::vector<std::string> read_choices(const gh_param_v1& from, const std::string& path) {
  std::vector<std::string> choices;
  const std::string_view all = from.choices ? from.choices : "";
  for (std::size_t begin = 0; !all.empty() && begin <= all.size();) {
    const std::size_t end = std::min(all.find('|', begin), all.size());
    const std::string choice(all.substr(begin, end - begin));
    if (choice.empty()) bad(path, fmt::format("empty entry in choices \"{}\"", all));
    if (std::count(choices.begin(), choices.end(), choice))
      bad(path, fmt::format("choice \"{}\" is listed twice", choice));
    choices.push_back(choice);
    begin = end + 1;
  }
  if (from.kind == GH_PARAM_CHOICE && choices.empty())
    bad(path, "a choice needs choices, as in \"a|b|c\"");
  if (!choices.empty() && from.kind != GH_PARAM_CHOICE && from.kind != GH_PARAM_STRING_LIST)
    bad(path, "has choices, which only a choice or a list of strings takes");
  return choices;
}

void read_bounds(const gh_param_v1& from, const std::string& path, ParamSpec& to) {
  constexpr uint32_t kBoundFlags =
      GH_PARAM_HAS_MIN | GH_PARAM_HAS_MAX | GH_PARAM_MIN_OPEN | GH_PARAM_MAX_OPEN;
  if ((from.flags & kBoundFlags) && !takes_bounds(to.kind))
    bad(path, "has bounds, which only numbers take");
  if (from.flags & GH_PARAM_HAS_MIN) to.min = from.min;
  if (from.flags & GH_PARAM_HAS_MAX) to.max = from.max;
  to.min_open = from.flags & GH_PARAM_MIN_OPEN;
  to.max_open = from.flags & GH_PARAM_MAX_OPEN;
  if ((to.min_open && !to.min) || (to.max_open && !to.max))
    bad(path, "an open bound needs the bound itself");
  if ((to.min && !std::isfinite(*to.min)) || (to.max && !std::isfinite(*to.max)))
    bad(path, "a bound is not finite");
  if (!to.min || !to.max) return;
  const bool open = to.min_open || to.max_open;
  if (*to.min > *to.max || (open && *to.min == *to.max))
    bad(path, "no value lies within " + to.range_text());
}

// A default is TOML text. Strings, paths and choices may leave out the quotes.
Value parse_default(const ParamSpec& spec, const std::string& text, const std::string& path) {
  std::optional<Value> value = parse_toml_value(text);
  const bool textual =
      spec.kind == GH_PARAM_STRING || spec.kind == GH_PARAM_PATH || spec.kind == GH_PARAM_CHOICE;
  const bool opens_quote = text.starts_with('"') || text.starts_with('\'');
  if (textual && !opens_quote) value = Value{text, {}};
  if (!value) bad(path, fmt::format("default {} is not a TOML value", text));
  for_each_source(*value, [](Source& source) { source = {}; });
  return *value;
}

Schema read_level(const gh_param_v1* params, std::size_t count, std::size_t stride,
                  const std::string& parent, int depth);

ParamSpec read_param(const gh_param_v1& from, std::size_t stride, const std::string& path,
                     int depth) {
  ParamSpec to;
  if (from.kind < GH_PARAM_BOOL || from.kind > GH_PARAM_PATH_LIST)
    bad(path, fmt::format("unknown kind {}", from.kind));
  to.kind = static_cast<gh_param_kind>(from.kind);
  to.name = from.name;
  to.doc = or_empty(from.doc);
  to.unit = or_empty(from.unit);
  to.replaces = or_empty(from.replaces);
  to.since = or_empty(from.since);
  to.optional = from.flags & GH_PARAM_OPTIONAL;
  to.choices = read_choices(from, path);
  read_bounds(from, path, to);
  if (to.kind == GH_PARAM_TABLE)
    to.fields = read_level(from.fields, from.field_count, stride, path, depth + 1);
  else if (from.fields || from.field_count)
    bad(path, "has fields, which only a table takes");
  if (!to.replaces.empty() && (!is_key(to.replaces) || to.replaces == to.name))
    bad(path, fmt::format("its former name '{}' is not another key", to.replaces));
  if (from.default_toml) to.default_value = parse_default(to, from.default_toml, path);
  return to;
}

// A default has to pass the checks of a value that a user writes.
void check_default(const ParamSpec& spec, const std::string& path) {
  if (!spec.default_value) return;
  Table given;
  given.set(spec.name, *spec.default_value);
  Diagnostics found;
  apply_schema({spec}, given, {}, "", {}, found);
  if (!found.has_errors()) return;
  const Diagnostic& first = found.all().front();
  const bool inner = first.key != spec.name;
  bad(path, fmt::format("default {}: {}{}", to_toml_value(*spec.default_value),
                        inner ? first.key + ": " : "", first.message));
}

Schema read_level(const gh_param_v1* params, std::size_t count, std::size_t stride,
                  const std::string& parent, int depth) {
  const std::string owner = parent.empty() ? "the component" : "'" + parent + "'";
  if (depth > kMaxNesting)
    bad(parent, fmt::format("tables nest more than {} levels deep", kMaxNesting));
  if (count > kMaxParams)
    fail(ErrorCode::invalid_param, owner, " declares ", count, " parameters; at most ", kMaxParams);
  if (count > 0 && !params)
    fail(ErrorCode::invalid_param, owner, " declares ", count,
         " parameters, but the pointer is null");
  Schema schema;
  for (std::size_t i = 0; i < count; ++i) {
    // A later minor's descriptor is longer than ours; what it appended is not for us.
    gh_param_v1 from{};
    std::memcpy(&from, reinterpret_cast<const char*>(params) + i * stride, sizeof from);
    if (!from.name || !is_key(from.name))
      bad(join_path(parent, from.name ? from.name : "#" + std::to_string(i)),
          "a name has the form [a-z][a-z0-9_]*");
    schema.push_back(read_param(from, stride, join_path(parent, from.name), depth));
  }
  for (const ParamSpec& a : schema) {
    const std::string path = join_path(parent, a.name);
    for (const ParamSpec& b : schema) {
      if (&a < &b && a.name == b.name) bad(path, "is declared twice");
      if (a.replaces == b.name)
        bad(path, fmt::format("its former name '{}' is still in use", a.replaces));
      if (&a < &b && !a.replaces.empty() && a.replaces == b.replaces)
        bad(path, fmt::format("shares its former name '{}' with '{}'", a.replaces, b.name));
    }
    check_default(a, path);
  }
  return schema;
}

}  // namespace

std::string ParamSpec::kind_name() const {
  switch (kind) {
    case GH_PARAM_BOOL:
      return "boolean";
    case GH_PARAM_INT:
      return "integer";
    case GH_PARAM_FLOAT:
      return "number";
    case GH_PARAM_STRING:
      return "string";
    case GH_PARAM_CHOICE:
      return fmt::format("one of {}", fmt::join(choices, ", "));
    case GH_PARAM_PATH:
      return "path";
    case GH_PARAM_INT_LIST:
      return "list of integers";
    case GH_PARAM_FLOAT_LIST:
      return "list of numbers";
    case GH_PARAM_STRING_LIST:
      return choices.empty() ? "list of strings"
                             : fmt::format("list of {}", fmt::join(choices, ", "));
    case GH_PARAM_PATH_LIST:
      return "list of paths";
    case GH_PARAM_TABLE:
      return "table";
  }
  return "unknown kind";
}

std::string ParamSpec::range_text() const {
  if (min && max && !min_open && !max_open) return fmt::format("{} … {}", *min, *max);
  std::string text;
  if (min) text = fmt::format("{} {}", min_open ? ">" : "≥", *min);
  if (max) text += fmt::format("{}{} {}", min ? " and " : "", max_open ? "<" : "≤", *max);
  return text;
}

std::string ParamSpec::expected() const {
  const std::string range = range_text();
  const bool list = kind == GH_PARAM_INT_LIST || kind == GH_PARAM_FLOAT_LIST;
  // "an integer from 1 … 64" reads badly; a closed range gets its own words.
  const bool closed = min && max && !min_open && !max_open;
  std::string text = kind == GH_PARAM_BOOL     ? "true or false"
                     : kind == GH_PARAM_CHOICE ? ""
                     : kind == GH_PARAM_INT    ? "an "
                                               : "a ";
  if (kind != GH_PARAM_BOOL) text += kind_name();
  if (!range.empty()) text += (list ? ", each " : " ") + std::string(closed ? "in " : "") + range;
  return text;
}

Schema read_schema(const gh_param_v1* params, std::size_t count, std::size_t stride) {
  require(stride >= sizeof(gh_param_v1), ErrorCode::invalid_param, "parameter descriptors are ",
          stride, " bytes apart, expected at least ", sizeof(gh_param_v1));
  return read_level(params, count, stride, "", 0);
}

}  // namespace gh::host
