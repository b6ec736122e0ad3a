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

std::string preview_page(std::string_view title, std::string_view lead,
                         std::span<const PreviewRow> rows) {
  std::string body =
      fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escape_html(title), escape_html(lead));
  for (const PreviewRow& row : rows) {
    body += fmt::format("<section class=\"sheet\"><h3>{}</h3>\n<div>", escape_html(row.caption));
    body += image(row.original, "original");
    body += "<span class=\"arrow\">→</span>\n";
    for (std::size_t i = 0; i < row.views.size(); ++i)
      body += image(row.views[i], fmt::format("view {}", i + 1));
    body += "</div></section>\n";
  }
  return html_page(title, body);
}

}  // namespace gh::host
