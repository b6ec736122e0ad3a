#include "recipe/diagnostics.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

namespace gh::host {
namespace {

constexpr std::size_t kMaxQuoted = 120;  // characters of a source line that are shown

// The lines of a file, or of a text that was registered under its name. Read once each.
class SourceLines {
 public:
  explicit SourceLines(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  // Null when there is no such line.
  const std::string* line(const Source& source) {
    if (source.line < 1) return nullptr;
    const std::vector<std::string>& lines = lines_of(source.file);
    if (static_cast<std::size_t>(source.line) > lines.size()) return nullptr;
    return &lines[source.line - 1];
  }

 private:
  const std::vector<std::string>& lines_of(const std::string& file) {
    const auto [at, fresh] = cache_.try_emplace(file);
    if (!fresh) return at->second;
    if (const auto text = texts_.find(file); text != texts_.end()) {
      split(text->second, at->second);
      return at->second;
    }
    try {
      split(read_regular_file(file), at->second);
    } catch (const Error&) {  // gone since it was parsed: no line is quoted
    }
    return at->second;
  }

  static void split(const std::string& text, std::vector<std::string>& lines) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      lines.push_back(std::move(line));
      begin = end + 1;
    }
  }

  const std::map<std::string, std::string>& texts_;
  std::map<std::string, std::vector<std::string>> cache_;
};

// Characters of a line, one string each, as columns count them. What a terminal could misread
// becomes '?'.
std::vector<std::string> printable_characters(const std::string& line) {
  std::vector<std::string> characters;
  for (std::size_t i = 0; i < line.size();) {
    const auto lead = static_cast<unsigned char>(line[i]);
    std::size_t length = lead < 0x80    ? 1
                         : lead >= 0xf0 ? 4
                         : lead >= 0xe0 ? 3
                         : lead >= 0xc2 ? 2
                                        : 0;
    for (std::size_t k = 1; k < length; ++k)
      if (i + k >= line.size() || (static_cast<unsigned char>(line[i + k]) & 0xc0) != 0x80)
        length = 0;
    const bool control = length == 1 && (lead < 0x20 || lead == 0x7f);
    if (line[i] == '\t')
      characters.emplace_back(" ");
    else
      characters.push_back(length == 0 || control ? "?" : line.substr(i, length));
    i += std::max<std::size_t>(length, 1);
  }
  return characters;
}

// The source line and a caret under `column`; a long line is cut to a window around it.
std::string quote(const std::string& line, int line_number, int column) {
  const std::vector<std::string> characters = printable_characters(line);
  const std::size_t caret = std::min<std::size_t>(std::max(column, 1) - 1, characters.size());
  std::size_t first = 0;
  if (characters.size() > kMaxQuoted && caret > kMaxQuoted / 2) first = caret - kMaxQuoted / 2;
  const std::size_t last = std::min(characters.size(), first + kMaxQuoted);
  std::string shown = first > 0 ? "…" : "";
  const std::size_t indent = caret - first + (first > 0 ? 1 : 0);
  for (std::size_t i = first; i < last; ++i) shown += characters[i];
  if (last < characters.size()) shown += "…";
  return fmt::format("{:>5} | {}\n      | {:>{}}\n", line_number, shown, "^", indent + 1);
}

std::string place(const Source& source) {
  if (source.file.empty()) return "";
  if (source.line < 1) return source.file + ": ";
  return fmt::format("{}:{}:{}: ", source.file, source.line, source.column);
}

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Case and the choice between '-' and '_' are not what a reader got wrong.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

void Diagnostics::error(Source source, std::string key, std::string message) {
  // What goes to several tables is written, and wrong, once.
  const auto same = [&](const Diagnostic& d) {
    return d.source.line > 0 && d.source.line == source.line && d.source.column == source.column &&
           d.source.file == source.file && d.message == message;
  };
  if (std::any_of(items_.begin(), items_.end(), same)) return;
  ++error_count_;
  items_.push_back(
      {Diagnostic::Level::error, std::move(source), std::move(key), std::move(message)});
}

void Diagnostics::warning(Source source, std::string key, std::string message) {
  items_.push_back(
      {Diagnostic::Level::warning, std::move(source), std::move(key), std::move(message)});
}

bool Diagnostics::has_error_at(const Source& source) const {
  return source.line > 0 && std::any_of(items_.begin(), items_.end(), [&](const Diagnostic& d) {
           return d.level == Diagnostic::Level::error && d.source.line == source.line &&
                  d.source.column == source.column && d.source.file == source.file;
         });
}

void Diagnostics::set_text(const std::string& file, std::string text) {
  texts_[file] = std::move(text);
}

std::string Diagnostics::text() const {
  std::map<std::string_view, std::size_t> rank;  // files in the order in which they came up
  for (const Diagnostic& d : items_) rank.try_emplace(d.source.file, rank.size());
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& d : items_) order.push_back(&d);
  std::stable_sort(order.begin(), order.end(), [&](const Diagnostic* a, const Diagnostic* b) {
    return std::tuple(rank[a->source.file], a->source.line, a->source.column) <
           std::tuple(rank[b->source.file], b->source.line, b->source.column);
  });

  SourceLines lines(texts_);
  std::string out;
  for (const Diagnostic* d : order) {
    out += place(d->source);
    out += d->level == Diagnostic::Level::error ? "error: " : "warning: ";
    if (!d->key.empty()) out += d->key + ": ";
    out += d->message + "\n";
    if (const std::string* line = lines.line(d->source))
      out += quote(*line, d->source.line, d->source.column);
  }
  return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes more than that, and the cost is quadratic
  if (word.empty() || word.size() > kLongest) return "";
  const std::string wanted = folded(word);
  std::string best;
  std::size_t best_distance = kLongest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::string given = folded(candidate);
    std::size_t distance = edit_distance(wanted, given);
    std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
    // An abbreviation is near whatever it abbreviates, but behind a plain typo.
    if (wanted.size() >= 3 && given.starts_with(wanted)) {
      distance = std::min<std::size_t>(distance, 2);
      limit = std::max<std::size_t>(limit, 2);
    }
    const bool likely = distance <= limit && distance < std::min(wanted.size(), given.size());
    if (!likely || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace gh::host
