// The contact sheet of `ghhost data preview`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gh::host {

// One HTML file, pictures inside.
class PreviewPage {
 public:
  PreviewPage(std::string_view title, std::string_view lead);

  // A sample: what it is, its picture, and the views of it, as the bytes of PNG files.
  void add(std::string_view caption, std::string_view original, std::span<const std::string> views);

  std::string html() const;

 private:
  std::string title_, body_;
};

}  // namespace gh::host
