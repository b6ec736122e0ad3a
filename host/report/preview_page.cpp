#include "report/preview_page.hpp"

#include "report/format.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

std::string image(std::string_view png, std::string_view name) {
  return fmt::format("<img class=\"pixels\" alt=\"{}\" src=\"data:image/png;base64,{}\">\n",
                     escape_html(name), base64(png));
}

}  // namespace

PreviewPage::PreviewPage(std::string_view title, std::string_view lead)
    : title_(title),
      body_(fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escape_html(title),
                        escape_html(lead))) {}

void PreviewPage::add(std::string_view caption, std::string_view original,
                      std::span<const std::string> views) {
  body_ += fmt::format("<section class=\"sheet\"><h3>{}</h3>\n<div>", escape_html(caption));
  body_ += image(original, "original");
  body_ += "<span class=\"arrow\">→</span>\n";
  for (std::size_t i = 0; i < views.size(); ++i)
    body_ += image(views[i], fmt::format("view {}", i + 1));
  body_ += "</div></section>\n";
}

std::string PreviewPage::html() const { return html_page(title_, body_); }

}  // namespace gh::host
