// The frame of every page: head, style, foot.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gh::host {

// What only some pages have.
struct PageExtras {
  std::string_view style = {};   // after that of every page
  std::string_view script = {};  // runs at the end of the page; the page forbids itself any other
  int refresh_seconds = 0;       // > 0: reads itself anew, where scripts do not run
};

// A whole document. `title` is plain text, `body` HTML. The page forbids itself any network access.
std::string html_page(std::string_view title, std::string_view body, const PageExtras& extras = {});

struct Section {
  std::string heading;
  std::string detail;   // beside the heading, smaller; may be empty
  std::string content;  // HTML
};
// Those that have content; in front, links to them where there are many.
std::string html_sections(std::span<const Section> sections);

// bulky: stays closed on paper.
enum class Fold { closed, open, bulky };
// A part that opens on click; "" when there is no content.
std::string html_folded(std::string_view heading, std::string_view content,
                        Fold fold = Fold::closed);

// Sentences that must not be missed; "" when there are none.
std::string html_notice(std::span<const std::string> lines);

// The state of a run as a small badge.
std::string state_badge(std::string_view state);

}  // namespace gh::host
