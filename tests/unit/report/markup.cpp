#include "unit/report/markup.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace gh::test {
namespace {

bool void_element(std::string_view name) {
  return name == "meta" || name == "link" || name == "img" || name == "br" || name == "hr" ||
         name == "input";
}

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == ':' || c == '_';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string fault() {
    if (text_.starts_with("<!DOCTYPE html>")) at_ = 15;
    while (at_ < text_.size()) {
      const std::size_t tag = text_.find('<', at_);
      const std::string_view words = text_.substr(at_, tag - at_);
      if (words.find('>') != words.npos &&
          open_ != std::vector<std::string_view>{"html", "head", "style"})
        return where("bare '>'");
      if (tag == text_.npos) break;
      at_ = tag + 1;
      if (const std::string wrong = this->tag(); !wrong.empty()) return wrong;
    }
    return open_.empty() ? "" : "never closed: " + std::string(open_.back());
  }

 private:
  std::string where(const std::string& what) const {
    const std::size_t from = at_ > 40 ? at_ - 40 : 0;
    return what + " near: " + std::string(text_.substr(from, 80));
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && name_character(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string tag() {
    if (text_.substr(at_).starts_with("/")) {
      ++at_;
      const std::string_view element = name();
      if (open_.empty() || open_.back() != element) return where("closes what is not open");
      open_.pop_back();
      return at_ < text_.size() && text_[at_++] == '>' ? "" : where("end tag");
    }
    const std::string_view element = name();
    if (element.empty()) return where("tag without a name");
    while (at_ < text_.size()) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (text_.substr(at_).starts_with("/>")) {
        at_ += 2;
        return "";
      }
      if (text_.substr(at_).starts_with(">")) {
        ++at_;
        if (element == "script") at_ = std::min(text_.find("</script>", at_), text_.size());
        if (!void_element(element)) open_.push_back(element);
        return "";
      }
      if (name().empty()) return where("attribute without a name");
      if (!text_.substr(at_).starts_with("=")) continue;  // such as "open"
      if (!text_.substr(at_).starts_with("=\"")) return where("attribute not quoted");
      const std::size_t end = text_.find('"', at_ + 2);
      if (end == text_.npos) return where("attribute never ends");
      if (text_.substr(at_, end - at_).find('<') != text_.npos) return where("'<' in an attribute");
      at_ = end + 1;
    }
    return where("tag never ends");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string_view> open_;
};

}  // namespace

std::string markup_fault(std::string_view text) { return Reader(text).fault(); }

std::string outside_reference(std::string_view page) {
  constexpr std::string_view kNamespace = "xmlns=\"http://www.w3.org/2000/svg\"";
  std::string text(page);
  for (std::size_t at = text.find(kNamespace); at != text.npos; at = text.find(kNamespace, at))
    text.erase(at, kNamespace.size());
  constexpr std::array<std::string_view, 5> kOutside = {"http://", "https://", "@import", "<script",
                                                        "url("};
  for (const std::string_view sign : kOutside)
    for (std::size_t at = text.find(sign); at != text.npos; at = text.find(sign, at + 1))
      if (text.compare(at, 5, "url(#") != 0) return text.substr(at, 60);
  for (const std::string_view attribute : {"src=\"", "href=\""})
    for (std::size_t at = text.find(attribute); at != text.npos;
         at = text.find(attribute, at + 1)) {
      const std::string_view value = std::string_view(text).substr(at + attribute.size());
      if (!value.starts_with("data:") && !value.starts_with("#")) return text.substr(at, 60);
    }
  return "";
}

}  // namespace gh::test
