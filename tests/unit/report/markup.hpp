// A small reader of HTML and SVG for tests: is every tag closed in order, every attribute quoted?
#pragma once

#include <string>
#include <string_view>

namespace gh::test {

// "" when `text` is well-formed, otherwise what is wrong and where. Knows HTML's void elements;
// takes the content of <style> and <script> as text.
std::string markup_fault(std::string_view text);

// "" when a page refers to nothing outside itself, otherwise the reference.
std::string outside_reference(std::string_view page);

}  // namespace gh::test
