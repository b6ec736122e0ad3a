#include "recipe/overrides.hpp"

#include "recipe/host_tables.hpp"
#include "recipe/merge.hpp"
#include "recipe/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace gh::host {
namespace {

constexpr std::size_t kMaxSegments = 32;  // as deep as the parser goes

enum class Action { set, add, remove };

struct Override {
  std::string text;  // as given
  Action action = Action::set;
  std::vector<std::string> path;
  Value value;
  Source key_source;

  std::string prefix(std::size_t segments) const {
    std::string joined;
    for (std::size_t i = 0; i < segments; ++i) joined = join_path(joined, path[i]);
    return joined;
  }
  std::string key() const { return prefix(path.size()); }
};

bool is_word(std::string_view text, std::string_view punctuation) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           punctuation.find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::size_t> as_index(const std::string& segment) {
  std::size_t index = 0;
  const char* end = segment.data() + segment.size();
  const auto [stop, failure] = std::from_chars(segment.data(), end, index);
  return failure == std::errc{} && stop == end ? std::optional(index) : std::nullopt;
}

// ---- reading one override ----

class OverrideParser {
 public:
  OverrideParser(const WrittenOverride& written, Diagnostics& out)
      : written_(written), text_(written.text), out_(out) {}

  std::optional<Override> parse() {
    Override o;
    o.text = text_;
    if (text_.starts_with('+')) o.action = Action::add;
    if (text_.starts_with('~')) o.action = Action::remove;
    const std::size_t begin = o.action == Action::set ? 0 : 1;
    const std::size_t equals = text_.find('=');
    o.key_source = at(begin);
    const std::string key(trimmed(std::string_view(text_).substr(
        begin, equals == std::string::npos ? equals : equals - begin)));
    if (!split(key, o.path)) return std::nullopt;
    if (o.action == Action::remove) {
      if (equals == std::string::npos) return o;
      return refuse(at(equals), key, fmt::format("removing takes no value; write ~{}", key));
    }
    if (equals == std::string::npos)
      return refuse(at(begin), key, "expected key=value, +key=value to add or ~key to remove");
    if (o.path.front() == "include" || o.path.front() == "without")
      return refuse(at(begin), key,
                    "files are included before overrides apply; include them in a recipe");
    return with_value(std::move(o), key, equals + 1);
  }

 private:
  Source at(std::size_t offset) const {
    if (written_.value_at) return written_.at;
    const auto is_lead = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    const auto characters = std::count_if(text_.begin(), text_.begin() + offset, is_lead);
    return {written_.at.file, written_.at.line, written_.at.column + static_cast<int>(characters)};
  }

  std::nullopt_t refuse(Source source, std::string key, std::string message) {
    out_.error(std::move(source), std::move(key), std::move(message));
    return std::nullopt;
  }

  bool split(const std::string& key, std::vector<std::string>& path) {
    std::size_t begin = 0;
    while (begin <= key.size()) {
      const std::size_t end = std::min(key.find('.', begin), key.size());
      path.push_back(key.substr(begin, end - begin));
      begin = end + 1;
      if (is_word(path.back(), "_-") && path.size() <= kMaxSegments) continue;
      const std::string shown = key.size() > 60 ? key.substr(0, 60) + "…" : key;
      refuse(
          at(0), "",
          fmt::format(
              "'{}' is not a key; expected up to {} names separated by dots, as in train.epochs=10",
              shown, kMaxSegments));
      return false;
    }
    return true;
  }

  std::optional<Override> with_value(Override o, const std::string& key, std::size_t offset) {
    const std::string text = text_.substr(offset);
    if (trimmed(text).empty())
      return refuse(at(offset), key, fmt::format("no value; the empty string is '{}=\"\"'", key));
    const Source start = at(offset);
    std::optional<Value> value = parse_toml_value(text);
    if (!value) {
      Diagnostics found;
      if (parse_toml("v=" + text, "", found) && found.has_errors())  // TOML, but a date
        return refuse(start, key, found.all().front().message);
      // A shell eats quotes, so a bare word stands for a string.
      const std::string_view word = trimmed(text);
      if (!is_word(word, "_./~-"))
        return refuse(start, key,
                      fmt::format("{} is not a TOML value; quote a string twice, for TOML and for "
                                  "the shell: '{}=\"…\"'",
                                  word, key));
      value = Value{std::string(word), {"", 1, 1}};
    }
    for_each_source(*value, [&](Source& source) {
      if (written_.value_at) {
        source = *written_.value_at;
        return;
      }
      if (source.line == 1) source.column += start.column - 1;
      source.line += start.line - 1;
      source.file = start.file;
    });
    o.value = std::move(*value);
    return o;
  }

  const WrittenOverride& written_;
  const std::string& text_;
  Diagnostics& out_;
};

// ---- applying it ----

class Applier {
 public:
  Applier(Table& root, Diagnostics& out) : root_(root), out_(out) {}

  void apply(Override& o) {
    Value* parent = nullptr;  // null: the root
    for (std::size_t i = 0; i + 1 < o.path.size(); ++i) {
      parent = step(o, parent, i);
      if (!parent) return;
    }
    if (parent && parent->as<Array>()) return at_index(o, *parent->as<Array>());
    if (parent && !parent->as<Table>()) return not_a_table(o, *parent, o.path.size() - 1);
    at_key(o, parent ? *parent->as<Table>() : root_);
  }

 private:
  void refuse(const Override& o, const std::string& message) {
    out_.error(o.key_source, o.key(), message);
  }

  void not_a_table(const Override& o, const Value& value, std::size_t segments) {
    refuse(o, fmt::format("{} is {}, not a table", o.prefix(segments), kind_of(value)));
  }

  // From `parent` to its child `path[i]`, which is not the last. Null after reporting.
  Value* step(const Override& o, Value* parent, std::size_t i) {
    const std::string& segment = o.path[i];
    if (Array* list = parent ? parent->as<Array>() : nullptr) {
      const std::optional<std::size_t> index = as_index(segment);
      if (index && *index < list->size()) return &(*list)[*index];
      if (index == list->size() && o.action == Action::add)
        return &list->emplace_back(Value{Table{}, o.key_source});
      no_such_element(o, *list, i);
      return nullptr;
    }
    if (parent && !parent->as<Table>()) {
      not_a_table(o, *parent, i);
      return nullptr;
    }
    Table& table = parent ? *parent->as<Table>() : root_;
    if (Value* child = table.find(segment)) return child;
    const TableSpec* layout = find_layout(o.prefix(i + 1));
    const bool list = layout && layout->presence == TableSpec::Presence::list;
    const bool implied = layout && (layout->presence == TableSpec::Presence::implied ||
                                    layout->presence == TableSpec::Presence::spread);
    if (o.action == Action::add || (implied && o.action == Action::set))
      return &table.set(segment, list ? Value{Array{}, o.key_source} : Value{Table{}, o.key_source},
                        o.key_source);
    missing(o, table, i);
    return nullptr;
  }

  void at_key(Override& o, Table& table) {
    const std::string& name = o.path.back();
    Value* existing = table.find(name);
    if (o.action == Action::remove) {
      if (!table.erase(name)) missing(o, table, o.path.size() - 1);
      return;
    }
    const TableSpec* layout = find_layout(o.key());
    const bool list = layout && layout->presence == TableSpec::Presence::list;
    if (o.action == Action::add && list && o.value.as<Table>()) {
      if (!existing) existing = &table.set(name, Value{Array{}, o.key_source}, o.key_source);
      if (Array* elements = existing->as<Array>()) return elements->push_back(std::move(o.value));
    }
    if (o.action == Action::add && existing)
      return refuse(o, fmt::format("is set already{}; write {} to replace it",
                                   place(existing->source), o.text.substr(1)));
    if (name == "id")
      begin_anew_if_other(table, o.value, {}, o.prefix(o.path.size() - 1),
                          [&](const Replaced& replaced) {
                            out_.warning(o.key_source, replaced.path, describe(replaced));
                          });
    table.set(name, std::move(o.value), o.key_source);
  }

  void at_index(Override& o, Array& list) {
    const std::optional<std::size_t> index = as_index(o.path.back());
    const bool exists = index && *index < list.size();
    if (o.action == Action::add && index == list.size()) return list.push_back(std::move(o.value));
    if (!exists) return no_such_element(o, list, o.path.size() - 1);
    if (o.action == Action::add)
      return refuse(o, fmt::format("is set already{}; write {} to replace it",
                                   place(list[*index].source), o.text.substr(1)));
    if (o.action == Action::remove)
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(*index));
    else
      list[*index] = std::move(o.value);
  }

  // Key `path[i]` is not in `table`. A typo gets the nearest key; only what could be added gets the
  // advice to add it.
  void missing(const Override& o, const Table& table, std::size_t i) {
    const std::string& segment = o.path[i];
    const std::string parent = o.prefix(i);
    const std::string where = parent.empty() ? "the recipe" : "[" + parent + "]";
    std::string message = fmt::format("'{}' is not in {}", segment, where);
    const TableSpec* layout = find_layout(parent);
    const bool known = layout && layout->find(segment);
    if (known && o.action == Action::set)
      return refuse(o, message + fmt::format("; to add it, write +{}", o.text));
    std::vector<std::string> keys;
    for (const Entry& e : table.entries()) keys.push_back(e.key);
    for (std::size_t t = 0; layout && o.action == Action::set && t < layout->tables.size(); ++t)
      keys.push_back(layout->tables[t].name);
    const std::string hint = nearest(segment, keys);
    if (!hint.empty())
      message += fmt::format("; did you mean '{}'?", hint);
    else if (o.action == Action::set && layout && layout->component)
      message += fmt::format("; if the component has such a table, add it with +{}", o.text);
    refuse(o, message);
  }

  void no_such_element(const Override& o, const Array& list, std::size_t i) {
    const std::string parent = o.prefix(i);
    std::string range = list.empty() ? "is an empty list"
                                     : fmt::format("has the elements {}.0 … {}.{}", parent, parent,
                                                   list.size() - 1);
    if (list.size() == 1) range = fmt::format("has one element, {}.0", parent);
    refuse(o, fmt::format("no element '{}': {} {}", o.path[i], parent, range));
  }

  static std::string place(const Source& source) {
    return source.line > 0 ? fmt::format(" at {}:{}:{}", source.file, source.line, source.column)
                           : "";
  }

  Table& root_;
  Diagnostics& out_;
};

}  // namespace

void apply_override(Table& root, const WrittenOverride& written, Diagnostics& out) {
  if (std::optional<Override> parsed = OverrideParser(written, out).parse())
    Applier(root, out).apply(*parsed);
}

void apply_overrides(Table& root, std::span<const std::string> overrides, Diagnostics& out) {
  std::string all;
  int line = 1;
  for (const std::string& text : overrides) {
    all += text + "\n";
    apply_override(root, {text, {std::string(kCommandLine), line, 1}, {}}, out);
    line += 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  out.set_text(std::string(kCommandLine), std::move(all));
}

}  // namespace gh::host
