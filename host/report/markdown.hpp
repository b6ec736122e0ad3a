// Tables in Markdown that can be read as they are, on a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// One line without anything that moves a terminal's cursor or ends a cell.
std::string markdown_cell(std::string_view text);

// Aligned columns, the first `text_columns` flush left; rows[0] is the heading, all rows are of one
// length. Cells are markdown_cell()s.
std::string markdown_table(std::span<const std::vector<std::string>> rows,
                           std::size_t text_columns = 1);

}  // namespace gh::host
