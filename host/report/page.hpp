// The frame of every page: head, style, foot.
#pragma once

#include <string>
#include <string_view>

namespace gh::host {

// A whole document. `title` is plain text, `body` HTML. The page forbids itself any network access.
std::string html_page(std::string_view title, std::string_view body);

// "<section><h2>…</h2>…</section>"; "" when there is no content.
std::string html_section(std::string_view heading, std::string_view content);

enum class Fold { closed, open };
// A section that opens on click; "" when there is no content.
std::string html_folded(std::string_view heading, std::string_view content,
                        Fold fold = Fold::closed);

// The state of a run as a small badge.
std::string state_badge(std::string_view state);

}  // namespace gh::host
