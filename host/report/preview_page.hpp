// The contact sheet of `ghhost data preview`.
#pragma once

#include "data/preview.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gh::host {

// One HTML file, pictures inside.
std::string preview_page(std::string_view title, std::string_view lead,
                         std::span<const PreviewRow> rows);

}  // namespace gh::host
