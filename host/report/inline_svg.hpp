// Drawings inside a page.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gh::host {

// The drawing as an <svg> element to be put into an HTML page: ids and references to them get
// `id_prefix`, so that drawings do not clash; prologue, comments and class names go. nullopt when
// it is not well-formed or holds anything but shapes and text (scripts, style sheets, links,
// images); such a drawing belongs into an <img>, where browsers run and load nothing.
std::optional<std::string> inline_svg(std::string_view svg, std::string_view id_prefix);

}  // namespace gh::host
