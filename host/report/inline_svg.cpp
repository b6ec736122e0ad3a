#include "report/inline_svg.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace gh::host {
namespace {

constexpr std::array<std::string_view, 24> kElements = {"svg",
                                                        "g",
                                                        "path",
                                                        "circle",
                                                        "ellipse",
                                                        "rect",
                                                        "line",
                                                        "polyline",
                                                        "polygon",
                                                        "text",
                                                        "tspan",
                                                        "title",
                                                        "desc",
                                                        "defs",
                                                        "clipPath",
                                                        "linearGradient",
                                                        "radialGradient",
                                                        "stop",
                                                        "marker",
                                                        "mask",
                                                        "pattern",
                                                        "symbol",
                                                        "use",
                                                        "textPath"};

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':' ||
         c == '.';
}

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads the drawing once, left to right, and writes what may stay.
class Inliner {
 public:
  Inliner(std::string_view svg, std::string_view id_prefix) : rest_(svg), prefix_(id_prefix) {}

  std::optional<std::string> run() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    while (!rest_.empty())
      if (!(rest_.front() == '<' ? markup() : text())) return std::nullopt;
    if (!open_.empty() || !has_root_) return std::nullopt;
    return out_;
  }

 private:
  bool text() {
    const std::string_view words = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(words.size());
    if (open_.empty()) return std::all_of(words.begin(), words.end(), space);
    out_ += words;
    return true;
  }

  bool markup() {
    if (rest_.starts_with("<?")) return skip("?>");
    if (rest_.starts_with("<!--")) return skip("-->");
    // A document type with a subset could declare entities; CDATA means a style sheet or script.
    if (rest_.starts_with("<!DOCTYPE")) return rest_.find('[') > rest_.find('>') && skip(">");
    if (rest_.starts_with("<!")) return false;
    return rest_.starts_with("</") ? end_tag() : start_tag();
  }

  bool skip(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + end.size());
    return true;
  }

  std::string_view name() {
    std::size_t n = 0;
    while (n < rest_.size() && name_character(rest_[n])) ++n;
    const std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }

  bool skip_space() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && space(rest_.front())) rest_.remove_prefix(1);
    return rest_.size() < before;
  }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  bool end_tag() {
    take("</");
    const std::string_view element = name();
    skip_space();
    if (!take(">") || open_.empty() || open_.back() != element) return false;
    open_.pop_back();
    out_.append("</").append(element).append(">");
    return true;
  }

  bool start_tag() {
    take("<");
    const std::string_view element = name();
    if (std::find(kElements.begin(), kElements.end(), element) == kElements.end()) return false;
    if (open_.empty() && (has_root_ || element != "svg")) return false;
    has_root_ = true;
    out_.append("<").append(element);
    while (true) {
      const bool separated = skip_space();
      if (take("/>")) {
        out_ += "/>";
        return true;
      }
      if (take(">")) {
        out_ += ">";
        open_.push_back(element);
        return true;
      }
      if (!separated || !attribute()) return false;
    }
  }

  bool attribute() {
    const std::string_view key = name();
    skip_space();
    if (key.empty() || !take("=")) return false;
    skip_space();
    const char quote = rest_.empty() ? ' ' : rest_.front();
    const std::size_t end = quote == '"' || quote == '\'' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) return false;
    const std::string_view value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return keep(key, value);
  }

  // False refuses the whole drawing; an attribute that is merely of no use is dropped.
  bool keep(std::string_view key, std::string_view value) {
    if (value.find('<') != value.npos || value.find('\\') != value.npos) return false;
    if (key.size() > 2 && std::tolower(key[0]) == 'o' && std::tolower(key[1]) == 'n') return false;
    if (key == "id") return write(key, prefix_ + std::string(value));
    if (key == "href" || key == "xlink:href") {
      if (!value.starts_with("#")) return false;
      return write("href", "#" + prefix_ + std::string(value.substr(1)));
    }
    const bool foreign = key.find(':') != key.npos;
    if (key == "class" || key == "aria-labelledby" || foreign) return true;
    std::string text(value);
    constexpr std::string_view kLocal = "url(#";
    for (std::size_t at = text.find("url("); at != text.npos; at = text.find("url(", at + 1)) {
      if (text.compare(at, kLocal.size(), kLocal) != 0) return false;
      text.insert(at + kLocal.size(), prefix_);
    }
    return write(key, text);
  }

  bool write(std::string_view key, std::string_view value) {
    out_.append(" ").append(key).append("=\"");
    for (const char c : value) c == '"' ? out_.append("&quot;") : out_.append(1, c);
    out_ += '"';
    return true;
  }

  std::string_view rest_;
  std::string prefix_;
  std::string out_;
  std::vector<std::string_view> open_;
  bool has_root_ = false;
};

}  // namespace

std::optional<std::string> inline_svg(std::string_view svg, std::string_view id_prefix) {
  return Inliner(svg, id_prefix).run();
}

}  // namespace gh::host
