#include "recipe/schema.hpp"
#include "recipe/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace gh::host {
namespace {

// "the string \"ten\"", "0", "a table": what came, short enough for a message.
std::string shown(const Value& value) {
  constexpr std::size_t kLongest = 60;
  if (value.as<Array>() || value.as<Table>()) return std::string(kind_of(value));
  std::string text = to_toml_value(value);
  if (text.size() > kLongest) {
    std::size_t end = kLongest;
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
    text = text.substr(0, end) + "…";
  }
  return value.as<std::string>() ? "the string " + text : text;
}

bool within(const ParamSpec& spec, long double value) {
  // long double holds every int64 exactly, so that bounds near 2^63 compare as written.
  if (spec.min && (value < *spec.min || (spec.min_open && value == *spec.min))) return false;
  if (spec.max && (value > *spec.max || (spec.max_open && value == *spec.max))) return false;
  return true;
}

// The kind of one element of a list, for checking it like a single value.
ParamSpec element_of(const ParamSpec& list) {
  ParamSpec element = list;
  element.default_value.reset();
  element.kind = list.kind == GH_PARAM_INT_LIST     ? GH_PARAM_INT
                 : list.kind == GH_PARAM_FLOAT_LIST ? GH_PARAM_FLOAT
                 : list.kind == GH_PARAM_PATH_LIST  ? GH_PARAM_PATH
                 : list.choices.empty()             ? GH_PARAM_STRING
                                                    : GH_PARAM_CHOICE;
  return element;
}

class Checker {
 public:
  explicit Checker(Diagnostics& out) : out_(out) {}

  Table table(const Schema& schema, const Table& given, const Source& source,
              const std::string& path, const std::vector<std::string>& ignored,
              const std::string& owner) {
    report_unknown(schema, given, path, ignored, owner);
    Table resolved;
    for (const ParamSpec& spec : schema) {
      const std::string key = join_path(path, spec.name);
      const Entry* entry = written(spec, given, path);
      if (!entry && spec.required()) {
        out_.error(source, key,
                   fmt::format("missing; expected {}{}", spec.expected(),
                               spec.doc.empty() ? "" : ": " + spec.doc));
      }
      if (!entry && !spec.default_value) continue;
      const Value& value = entry ? entry->value : *spec.default_value;
      // A default has no place of its own: its paths are relative to, and its complaints point at,
      // the table.
      if (std::optional<Value> checked = check(spec, value, entry ? value.source : source, key))
        resolved.set(spec.name, std::move(*checked), entry ? entry->source : Source{});
    }
    return resolved;
  }

 private:
  // The entry of a parameter under its name or its former one.
  const Entry* written(const ParamSpec& spec, const Table& given, const std::string& path) {
    const Entry* entry = given.entry(spec.name);
    const Entry* former = spec.replaces.empty() ? nullptr : given.entry(spec.replaces);
    if (!former) return entry;
    const std::string key = join_path(path, spec.replaces);
    if (entry)
      out_.error(
          former->source, key,
          fmt::format("is the former name of '{}', which is also given; keep one", spec.name));
    else
      out_.warning(former->source, key, fmt::format("is now called '{}'", spec.name));
    return entry ? entry : former;
  }

  void report_unknown(const Schema& schema, const Table& given, const std::string& path,
                      const std::vector<std::string>& ignored, const std::string& owner) {
    std::vector<std::string> known;
    for (const ParamSpec& spec : schema) known.push_back(spec.name);
    known.insert(known.end(), ignored.begin(), ignored.end());
    for (const Entry& e : given.entries()) {
      const bool former = std::any_of(schema.begin(), schema.end(),
                                      [&](const ParamSpec& s) { return s.replaces == e.key; });
      if (former || std::find(known.begin(), known.end(), e.key) != known.end()) continue;
      const std::string hint = nearest(e.key, known);
      std::string message = fmt::format("unknown {} of {}", e.value.as<Table>() ? "table" : "key",
                                        owner.empty() ? "[" + path + "]" : owner);
      if (!hint.empty())
        message += fmt::format("; did you mean '{}'? Its", hint);
      else
        message += "; its";
      message += known.empty() ? " table has no keys"
                               : fmt::format(" keys are: {}", fmt::join(known, ", "));
      out_.error(e.source, join_path(path, e.key), message);
    }
  }

  std::optional<Value> check(const ParamSpec& spec, const Value& value, const Source& source,
                             const std::string& key) {
    switch (spec.kind) {
      case GH_PARAM_BOOL:
        return value.as<bool>() ? std::optional(value) : refuse(spec, value, source, key);
      case GH_PARAM_INT:
        return integer(spec, value, source, key);
      case GH_PARAM_FLOAT:
        return real(spec, value, source, key);
      case GH_PARAM_STRING:
        return value.as<std::string>() ? std::optional(value) : refuse(spec, value, source, key);
      case GH_PARAM_CHOICE:
        return choice(spec, value, source, key);
      case GH_PARAM_PATH:
        return path(spec, value, source, key);
      case GH_PARAM_TABLE:
        return fields(spec, value, source, key);
      default:
        return list(spec, value, source, key);
    }
  }

  std::optional<Value> refuse(const ParamSpec& spec, const Value& value, const Source& source,
                              const std::string& key, const std::string& hint = "") {
    // A date was refused by the parser already.
    if (!out_.has_error_at(source))
      out_.error(source, key,
                 fmt::format("expected {}{}, got {}{}", spec.expected(),
                             spec.unit.empty() ? "" : " (" + spec.unit + ")", shown(value), hint));
    return std::nullopt;
  }

  // "0.2" in quotes where a number belongs.
  static std::string quotes_hint(const Value& value) {
    const std::string* text = value.as<std::string>();
    if (!text) return "";
    const std::optional<Value> inner = parse_toml_value(*text);
    const bool number = inner && (inner->as<int64_t>() || inner->as<double>());
    return number ? "; leave out the quotes" : "";
  }

  std::optional<Value> integer(const ParamSpec& spec, const Value& value, const Source& source,
                               const std::string& key) {
    if (const int64_t* number = value.as<int64_t>())
      return within(spec, *number) ? std::optional(value) : refuse(spec, value, source, key);
    constexpr double kExact = 9007199254740992.0;  // 2^53
    const double* real = value.as<double>();
    const bool whole = real && std::floor(*real) == *real && std::abs(*real) <= kExact;
    return refuse(
        spec, value, source, key,
        whole ? fmt::format("; write {}", static_cast<int64_t>(*real)) : quotes_hint(value));
  }

  std::optional<Value> real(const ParamSpec& spec, const Value& value, const Source& source,
                            const std::string& key) {
    Value number = value;
    if (const int64_t* whole = value.as<int64_t>()) number.data = static_cast<double>(*whole);
    const double* real = number.as<double>();
    if (!real) return refuse(spec, value, source, key, quotes_hint(value));
    if (!std::isfinite(*real)) return refuse(spec, value, source, key, "; numbers must be finite");
    return within(spec, *real) ? std::optional(number) : refuse(spec, value, source, key);
  }

  std::optional<Value> choice(const ParamSpec& spec, const Value& value, const Source& source,
                              const std::string& key) {
    const std::string* text = value.as<std::string>();
    if (!text) return refuse(spec, value, source, key);
    if (std::find(spec.choices.begin(), spec.choices.end(), *text) != spec.choices.end())
      return value;
    const std::string hint = nearest(*text, spec.choices);
    return refuse(spec, value, source, key,
                  hint.empty() ? "" : fmt::format("; did you mean \"{}\"?", hint));
  }

  std::optional<Value> path(const ParamSpec& spec, const Value& value, const Source& source,
                            const std::string& key) {
    const std::string* text = value.as<std::string>();
    if (!text) return refuse(spec, value, source, key);
    if (text->empty() || text->find('\0') != std::string::npos)
      return refuse(spec, value, source, key);
    std::filesystem::path full = *text;
    if (*text == "~" || text->starts_with("~/")) {
      const char* home = std::getenv("HOME");
      if (!home || !*home)
        return refuse(spec, value, source, key, "; \"~\" needs the environment variable HOME");
      full = std::filesystem::path(home) / text->substr(std::min<std::size_t>(2, text->size()));
    }
    if (full.is_relative()) {
      const bool from_file = !source.file.empty() && source.file != kCommandLine;
      const std::filesystem::path base =
          std::filesystem::absolute(from_file ? source.file : "x").parent_path();
      full = base / full;
    }
    return Value{full.lexically_normal().string(), value.source};
  }

  std::optional<Value> list(const ParamSpec& spec, const Value& value, const Source& source,
                            const std::string& key) {
    const Array* given = value.as<Array>();
    if (!given) return refuse(spec, value, source, key);
    // A list of the wrong kind is one mistake, however long.
    constexpr std::size_t kMaxComplaints = 10;
    const ParamSpec element = element_of(spec);
    Array checked;
    for (std::size_t i = 0; i < given->size() && i - checked.size() < kMaxComplaints; ++i) {
      const Source& where = (*given)[i].source.line > 0 ? (*given)[i].source : source;
      if (auto one = check(element, (*given)[i], where, join_path(key, std::to_string(i))))
        checked.push_back(std::move(*one));
    }
    if (checked.size() != given->size()) return std::nullopt;
    return Value{std::move(checked), value.source};
  }

  std::optional<Value> fields(const ParamSpec& spec, const Value& value, const Source& source,
                              const std::string& key) {
    const Table* given = value.as<Table>();
    if (!given) return refuse(spec, value, source, key);
    return Value{table(spec.fields, *given, source, key, {}, ""), value.source};
  }

  Diagnostics& out_;
};

}  // namespace

Table apply_schema(const Schema& schema, const Table& table, const Source& table_source,
                   const std::string& path, const std::vector<std::string>& ignored,
                   Diagnostics& out, const std::string& owner) {
  return Checker(out).table(schema, table, table_source, path, ignored, owner);
}

}  // namespace gh::host
