#include "report/inline_svg.hpp"

#include <catch2/catch.hpp>

using gh::host::inline_svg;

TEST_CASE("ids and what refers to them get the prefix") {
  const auto svg = inline_svg(
      "<?xml version='1.0'?><!DOCTYPE svg><!-- x --><svg><g id=\"a\" class='b' fill='url(#a)' "
      "style=\"clip-path:url(#a)\"/><use xlink:href=\"#a\"/></svg>\n",
      "p-");
  REQUIRE(svg);
  CHECK(*svg ==
        "<svg><g id=\"p-a\" fill=\"url(#p-a)\" style=\"clip-path:url(#p-a)\"/>"
        "<use href=\"#p-a\"/></svg>");
}

TEST_CASE("quotes change without changing the value") {
  CHECK(inline_svg("<svg aria-label='say \"hi\"'/>", "") ==
        "<svg aria-label=\"say &quot;hi&quot;\"/>");
}

TEST_CASE("what is more than a drawing is refused") {
  for (const char* svg :
       {"<svg><script>alert(1)</script></svg>", "<svg onload=\"x()\"/>", "<svg ONLOAD=\"x()\"/>",
        "<svg><a href=\"#x\"/></svg>", "<svg><use href=\"http://x/y\"/></svg>",
        "<svg><use href=\"javascript:x\"/></svg>", "<svg><image href=\"#x\"/></svg>",
        "<svg><style>*{color:red}</style></svg>", "<svg><foreignObject/></svg>",
        "<svg fill=\"url(http://x)\"/>", "<svg style=\"fill:u\\72l(x)\"/>",
        "<svg><![CDATA[x]]></svg>", "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>", "<p/>"})
    CHECK_FALSE(inline_svg(svg, "p-"));
}

TEST_CASE("what is not well-formed is refused") {
  for (const char* svg : {"", "text", "<svg>", "</svg>", "<svg><g></svg></g>", "<svg/><svg/>",
                          "<svg a/>", "<svg a=b/>", "<svg a=\"1\"b=\"2\"/>", "<svg a=\"",
                          "<svg a=\"<\"/>", "<svg/>text", "<", "<svg", "<!-- ", "<svg><g"})
    CHECK_FALSE(inline_svg(svg, "p-"));
}
