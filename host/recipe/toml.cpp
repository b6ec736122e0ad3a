#include "recipe/toml.hpp"

// toml++ 3.3 asserts that headers such as "[[.a]]" cannot occur, then reports them as errors all
// the same. In a release build the assertion becomes a promise to the optimizer; so it is neither.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <tuple>

namespace gh::host {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr int kMaxDepth = 32;

// Looks for nesting that would overflow the stack, which toml++ bounds for brackets but not for
// dotted keys (a.a.a.a…). It knows just enough of TOML to skip strings and comments; everything
// else is left to the real parser.
class DepthScan {
 public:
  explicit DepthScan(std::string_view text) : text_(text) {}

  // Where the text nests too deeply.
  std::optional<Source> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.')
        ++dots_;
      else if (c == '[' || c == '{')
        ++open_;
      else if (c == ']' || c == '}')
        --open_;
      if (dots_ > kMaxDepth || open_ > kMaxDepth) return position();
      if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots_ = 0;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(at_).starts_with(triple);
    at_ += multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (multi_line && text_.substr(at_).starts_with(triple)) {
        at_ += 3;
        // The text may itself end in one or two quotes.
        for (int extra = 0; extra < 2 && text_.substr(at_).starts_with(quote); ++extra) ++at_;
        return;
      } else if (!multi_line && (c == quote || c == '\n')) {
        at_ += c == quote ? 1 : 0;
        return;
      } else {
        ++at_;
      }
    }
  }

  Source position() const {
    const std::string_view before = text_.substr(0, at_);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto is_lead = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    const std::string_view left = before.substr(line_begin);
    return {"", static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
            static_cast<int>(std::count_if(left.begin(), left.end(), is_lead)) + 1};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int dots_ = 0;
  int open_ = 0;
};

// toml++ forgets where a node was written as soon as it is copied, so the tree is translated at
// once.
class Translator {
 public:
  Translator(const std::string& file, Diagnostics& out) : file_(file), out_(out) {}

  Table table(const toml::table& from, const std::string& path) {
    Table to;
    for (auto&& [key, node] : from) {
      const std::string name(key.str());
      to.entries().push_back({name, source(key.source()), value(node, join_path(path, name))});
    }
    // toml++ sorts by name; the order of the file is the order of the positions.
    std::stable_sort(to.entries().begin(), to.entries().end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.source.line, a.source.column) < std::tie(b.source.line, b.source.column);
    });
    return to;
  }

 private:
  Source source(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  Value value(const toml::node& node, const std::string& path) {
    Value to;
    to.source = source(node.source());
    if (const auto* v = node.as_boolean())
      to.data = v->get();
    else if (const auto* v = node.as_integer())
      to.data = v->get();
    else if (const auto* v = node.as_floating_point())
      to.data = v->get();
    else if (const auto* v = node.as_string())
      to.data = v->get();
    else if (const auto* v = node.as_table())
      to.data = table(*v, path);
    else if (const auto* v = node.as_array())
      to.data = list(*v, path);
    else
      to.data = date(node, to.source, path);
    return to;
  }

  Array list(const toml::array& from, const std::string& path) {
    Array to;
    to.reserve(from.size());
    for (const toml::node& node : from)
      to.push_back(value(node, join_path(path, std::to_string(to.size()))));
    return to;
  }

  std::string date(const toml::node& node, const Source& where, const std::string& path) {
    std::ostringstream text;
    if (const auto* v = node.as_date()) text << v->get();
    if (const auto* v = node.as_time()) text << v->get();
    if (const auto* v = node.as_date_time()) text << v->get();
    out_.error(
        where, path,
        fmt::format("no recipe key takes a date or time; to mean text, write \"{}\"", text.str()));
    return text.str();
  }

  const std::string& file_;
  Diagnostics& out_;
};

}  // namespace

std::optional<Table> parse_toml(std::string_view text, const std::string& file, Diagnostics& out) {
  if (text.size() > kMaxBytes) {
    out.error({file, 0, 0}, "",
              fmt::format("is larger than {} bytes, which no recipe is", kMaxBytes));
    return std::nullopt;
  }
  if (std::optional<Source> deep = DepthScan(text).run()) {
    deep->file = file;
    out.error(*deep, "", fmt::format("nested more than {} levels deep", kMaxDepth));
    return std::nullopt;
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    out.error({file, static_cast<int>(at.line), static_cast<int>(at.column)}, "",
              "not valid TOML: " + std::string(parsed.error().description()));
    return std::nullopt;
  }
  return Translator(file, out).table(parsed.table(), "");
}

std::optional<Value> parse_toml_value(std::string_view text) {
  constexpr std::string_view kKey = "v=";
  Diagnostics ignored;
  std::optional<Table> table = parse_toml(std::string(kKey) + std::string(text), "", ignored);
  // More than one entry: the text held a line break and further keys.
  if (!table || ignored.has_errors() || table->entries().size() != 1) return std::nullopt;
  Value value = std::move(table->entries().front().value);
  for_each_source(value, [&](Source& source) {
    if (source.line == 1) source.column -= static_cast<int>(kKey.size());
  });
  return value;
}

}  // namespace gh::host
