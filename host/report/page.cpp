#include "report/page.hpp"

#include "report/format.hpp"

#include "gh/digest.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

constexpr int kManySections = 4;

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfbf9; --panel: #ffffff; --ink: #1d2329; --soft: #59636d; --rule: #e1e3de;
  --good: #00734f; --busy: #00609a; --bad: #b03a00; --code: #f3f4f1;
  --shade: #1d232940;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --panel: #1b1f23; --ink: #e3e7ea; --soft: #98a3ad; --rule: #2d343a;
    --good: #3cc59a; --busy: #6cbcf0; --bad: #f08a4b; --code: #101316;
    --shade: #000000b0;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 1200px; padding: clamp(20px, 4vw, 52px) clamp(16px, 4vw, 44px) 40px;
  background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  overflow-wrap: break-word;
}
h1 { margin: 0; font-size: clamp(1.5rem, 1.1rem + 1.6vw, 2.1rem); line-height: 1.2;
  letter-spacing: -0.015em; font-weight: 650; }
h2 { margin: 0 0 1rem; font-size: 1.2rem; letter-spacing: -0.005em; font-weight: 620; }
h3 { margin: 1.6rem 0 0.4rem; font-size: 1rem; font-weight: 620; }
h2 span, header span { color: var(--soft); font-weight: 400; }
h2 span { display: block; margin-top: 0.15rem; font-size: 0.9rem; letter-spacing: 0; }
nav { display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; margin-top: 1.4rem; font-size: 0.9rem; }
nav a { color: var(--busy); text-decoration: none; padding: 0.15rem 0; }
nav a:hover { text-decoration: underline; }
p { margin: 0.4rem 0; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: 0.9em; }
.lead { margin: 0.5rem 0 0; font-size: 1.08rem; color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; align-items: center; margin: 1rem 0 0;
  padding: 0; list-style: none; font-size: 0.9rem; color: var(--soft); }
.badge { display: inline-block; padding: 0.05rem 0.65rem; border: 1px solid currentColor;
  border-radius: 99px; font-size: 0.85rem; font-weight: 600; color: var(--soft);
  white-space: nowrap; }
.badge.finished { color: var(--good); } .badge.running { color: var(--busy); }
.badge.failed, .badge.interrupted, .badge.lost { color: var(--bad); }
.notice { margin: 1.2rem 0 0; padding: 0.6rem 1rem; border-left: 3px solid var(--bad);
  background: var(--panel); font-size: 0.92rem; }
.notice p { margin: 0.15rem 0; white-space: pre-wrap; }
section { margin-top: 2.2rem; padding-top: 1.4rem; border-top: 1px solid var(--rule); }
details { padding: 0.9rem 0; border-top: 1px solid var(--rule); }
section + details { margin-top: 2.2rem; }
summary { cursor: pointer; font-weight: 620; }
details[open] > summary { margin-bottom: 0.8rem; }
section details { padding: 0; border: 0; margin-top: 0.9rem; }
section summary { font-weight: 500; font-size: 0.92rem; color: var(--soft); }
section summary:hover, section details[open] > summary { color: var(--ink); }
section .notice { margin: 0 0 1.2rem; }
.row { display: flex; flex-wrap: wrap; gap: 1.6rem; align-items: start; }
.row figure { flex: 1 1 240px; max-width: 340px; }
.row .large { flex: 0 1 var(--w); max-width: 100%; }
.large svg, .large img { min-width: clamp(0px, calc((var(--w) - 480px) * 100), 440px); }
.row + .row { margin-top: 2rem; }
.row + .scroll, .row + .even, .row + details { margin-top: 1.6rem; }
.pair .large { flex: 1 1 460px; max-width: min(100%, var(--w)); }
.sheet div { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
.pixels { image-rendering: pixelated; height: 128px; width: auto; max-width: 100%; }
.arrow { color: var(--soft); padding: 0 0.4rem; }
figure { margin: 0; min-width: 0; max-width: 400px; }
figure header { margin-bottom: 0.5rem; line-height: 1.35; }
figure header b { display: block; font-weight: 620; }
figure header span { font-size: 0.85rem; }
figure svg, figure img { display: block; width: 100%; height: auto; font-family: inherit; }
figure img { background: #fff; border-radius: 4px; }
.large img { padding: 0.8rem; }
figcaption, .caption { font-size: 0.88rem; line-height: 1.45; color: var(--soft);
  max-width: 46rem; }
figcaption { margin-top: 0.5rem; }
.absent { margin: 0; padding: 2.5rem 1rem; border: 1px dashed var(--rule); border-radius: 4px;
  text-align: center; font-size: 0.88rem; color: var(--soft); }
.plots { display: grid; gap: 1.8rem 1.6rem; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); }
.plots.wide { grid-template-columns: minmax(0, 680px); }
.plots.wide figure { max-width: none; }
.plots + .caption { margin-top: 1.2rem; }
/* A shadow at the side where there is more: covers that scroll along hide it at the ends. */
.scroll { overflow-x: auto; background:
  linear-gradient(to right, var(--paper) 30%, transparent) 0 / 36px 100% local no-repeat,
  linear-gradient(to left, var(--paper) 30%, transparent) 100% / 36px 100% local no-repeat,
  radial-gradient(farthest-side at 0 50%, var(--shade), transparent) 0 / 12px 100% no-repeat,
  radial-gradient(farthest-side at 100% 50%, var(--shade), transparent) 100% / 12px 100% no-repeat; }
.scroll + .scroll { margin-top: 1.6rem; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 1.1rem 0.4rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0.2rem; }
thead th { color: var(--soft); font-weight: 500; font-size: 0.85rem; vertical-align: bottom;
  border-bottom-color: var(--soft); }
.n { text-align: right; white-space: nowrap; }
thead small { display: block; font-size: 0.78rem; line-height: 1.4; }
.groups { display: block; min-width: calc(var(--n) * 3.6rem); }
.groups thead, .groups tbody { display: block; }
.groups tr { display: grid; align-items: baseline; column-gap: 1.2rem; padding: 0.5rem 0;
  grid-template-columns: minmax(11rem, 1fr) repeat(var(--n), minmax(3.4rem, 5.4rem));
  border-bottom: 1px solid var(--rule); }
.groups thead tr { padding: 0 0 0.3rem; border-bottom-color: var(--soft); }
.groups th, .groups td { padding: 0; border: 0; }
.groups tbody th { font-weight: 620; font-size: 1rem; line-height: 1.35; }
.groups small { display: block; font-weight: 400; font-size: 0.84rem; color: var(--soft); }
.groups td { font-size: 1.5rem; line-height: 1.25; letter-spacing: -0.01em; }
.groups .std { color: var(--soft); }
.groups .avg { font-weight: 650; }
.groups.compact td { font-size: 0.95rem; letter-spacing: 0; }
.groups.compact tr { padding: 0.3rem 0; }
.groups.compact tbody th { font-size: 0.92rem; font-weight: 500; }
.scroll + .caption { margin-top: 0.8rem; }
.metrics { width: 100%; }
.metrics thead th:first-child { width: 100%; }
thead .n { white-space: normal; max-width: 9rem; }
.metrics thead .n { min-width: 10.5rem; max-width: none; }
.metrics tbody th, .metrics tbody .n { padding-bottom: 0; border: 0; font-weight: 500; }
.metrics tbody .n:last-child { font-weight: 650; }
.even .metrics tbody .n:last-child { font-weight: 500; }
.definition { padding-top: 0; font-size: 0.84rem; line-height: 1.4; color: var(--soft); }
.definition p { margin: 0; max-width: 44rem; }
.warn { color: var(--bad); }
pre { margin: 0; padding: 1rem; overflow-x: auto; border-radius: 4px; background: var(--code);
  font-size: 0.82rem; line-height: 1.5; }
footer { margin-top: 2.5rem; font-size: 0.82rem; color: var(--soft); }
@media (max-width: 560px) {
  th, td { padding-right: 0.8rem; }
  .metrics { font-size: 0.88rem; }
  .metrics thead th { font-size: 0.78rem; line-height: 1.3; }
  .metrics thead th:first-child { width: auto; }
  .metrics thead .n { min-width: 4.2rem; }
  .groups tr { column-gap: 0.4rem;
    grid-template-columns: repeat(var(--n), minmax(3.2rem, 1fr)); }
  .groups tbody th { grid-column: 1 / -1; margin-bottom: 0.25rem; }
  .groups thead th:first-child { display: none; }
  .groups td { font-size: 1.2rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; background: none; }
  figure, tr, .caption { break-inside: avoid; }
  h2, h3, summary { break-after: avoid; }
  .row { gap: 0.8rem; flex-wrap: nowrap; }
  .row:has(.large) { flex-wrap: wrap; }
  .row figure { flex-basis: 0; }
  .row .large { flex: 0 1 calc(0.66 * var(--w)); }
  .plots { grid-template-columns: repeat(2, 1fr); }
  .scroll { overflow: visible; background: none; }
  td { overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; background: none; padding: 0; }
  nav, .bulky { display: none; }
  .groups td { font-size: 1.2rem; }
  .large svg, .large img { min-width: 0; }
  details::details-content { content-visibility: visible; block-size: auto; opacity: 1; }
}
)css";

constexpr std::string_view kPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action "
    "'none'";

// Of SHA-256, as a policy names the one script it lets run.
std::string digest_base64(std::string_view text) {
  const std::string hex = Digest().add(text).hex();
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return base64(bytes);
}

}  // namespace

std::string html_page(std::string_view title, std::string_view body, const PageExtras& extras) {
  std::string refresh, script, policy(kPolicy);
  if (extras.refresh_seconds > 0)
    refresh = fmt::format("<noscript><meta http-equiv=\"refresh\" content=\"{}\"></noscript>\n",
                          extras.refresh_seconds);
  if (!extras.script.empty()) {
    script = fmt::format("<script>{}</script>\n", extras.script);
    policy += fmt::format("; script-src 'sha256-{}'", digest_base64(extras.script));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n{}"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n{}{}</body>\n</html>\n",
      policy, refresh, escape_html(title), kStyle, extras.style, body, script);
}

std::string html_sections(std::span<const Section> sections) {
  std::string out, links;
  int number = 0;
  for (const Section& section : sections) {
    if (section.content.empty()) continue;
    const std::string heading = escape_html(section.heading);
    ++number;
    links += fmt::format("<a href=\"#s{}\">{}</a>\n", number, heading);
    out += fmt::format("<section id=\"s{}\">\n<h2>{}", number, heading);
    if (!section.detail.empty())
      out += fmt::format(" <span>{}</span>", escape_html(section.detail));
    out += "</h2>\n" + section.content + "</section>\n";
  }
  return number < kManySections ? out : "<nav>\n" + links + "</nav>\n" + out;
}

std::string html_folded(std::string_view heading, std::string_view content, Fold fold) {
  if (content.empty()) return {};
  return fmt::format("<details{}>\n<summary>{}</summary>\n{}</details>\n",
                     fold == Fold::open    ? " open"
                     : fold == Fold::bulky ? " class=\"bulky\""
                                           : "",
                     escape_html(heading), content);
}

std::string html_notice(std::span<const std::string> lines) {
  if (lines.empty()) return {};
  std::string out = "<div class=\"notice\">\n";
  for (const std::string& line : lines) out += fmt::format("<p>{}</p>\n", escape_html(line));
  return out + "</div>\n";
}

std::string state_badge(std::string_view state) {
  // The class is the state's own word; an unknown one simply has no colour.
  return fmt::format("<span class=\"badge {0}\">{0}</span>", escape_html(state));
}

}  // namespace gh::host
