#include "report/component_pages.hpp"

#include "report/format.hpp"
#include "report/markdown.hpp"
#include "report/page.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

struct Kind {
  const char *name, *heading, *where;
};
constexpr Kind kKinds[] = {
    {"ssl", "Methods", "[method]"},
    {"structure", "Structures", "[harmonize] structure"},
    {"allocator", "Allocators", "[harmonize] allocator"},
    {"dataset", "Data sets", "[data]"},
    {"backbone", "Backbones", "[backbone]"},
    {"evaluator", "Evaluators", "[[eval]]"},
};

// What a component may say of itself, beside its line.
constexpr std::array<std::pair<const char*, const char*>, 4> kFacts = {
    {{"paper", "paper"}, {"views", "views"}, {"state", "state"}, {"ranks", "what ranks share"}}};

struct Component {
  const Json* about;
  const Json* plugin;
  std::string text(const char* key) const { return about->value(key, std::string()); }
};

std::vector<Component> components_of(const Json& plugins, const Kind& kind) {
  std::vector<Component> out;
  for (const Json& plugin : plugins)
    for (const Json& component : plugin.at("components"))
      if (component.at("kind") == kind.name) out.push_back({&component, &plugin});
  std::sort(out.begin(), out.end(), [](const Component& a, const Component& b) {
    return a.about->at("id") < b.about->at("id");
  });
  return out;
}

std::string origin_of(const Component& c) {
  const std::string license = c.plugin->value("license", std::string());
  std::string text = fmt::format("Plugin {} {}", c.plugin->at("name").get<std::string>(),
                                 c.plugin->at("version").get<std::string>());
  if (!license.empty()) text += ", " + license;
  if (c.about->at("sees_labels").get<bool>()) text += "; sees labels";
  if (c.about->at("nondeterministic").get<bool>()) text += "; not deterministic";
  return text + ".";
}

void append_parameters(const Json& params, const std::string& prefix, std::vector<Row>& rows) {
  for (const Json& p : params) {
    const std::string name = prefix + p.at("name").get<std::string>();
    const bool required = p.at("required").get<bool>();
    std::string value = p.value("default_toml", required ? "required" : "optional");
    std::string kind = p.at("kind").get<std::string>();
    for (const char* key : {"range", "unit"})
      if (const auto found = p.find(key); found != p.end())
        kind += ", " + found->get<std::string>();
    std::string meaning = p.value("doc", std::string());
    if (const auto since = p.find("since"); since != p.end())
      meaning += fmt::format(" (since {})", since->get<std::string>());
    if (const auto old = p.find("replaces"); old != p.end())
      meaning += fmt::format(" (formerly {})", old->get<std::string>());
    rows.push_back({name, std::move(value), std::move(kind), std::move(meaning)});
    if (const auto fields = p.find("fields"); fields != p.end())
      append_parameters(*fields, name + ".", rows);
  }
}

std::vector<Row> parameters_of(const Component& c) {
  std::vector<Row> rows;
  append_parameters(c.about->at("params"), "", rows);
  return rows;
}

void append_row(std::string& out, const Row& row) {
  for (const std::string& cell : row) out += "| " + markdown_cell(cell) + " ";
  out += "|\n";
}
void append_heading(std::string& out, const Row& row) {
  append_row(out, row);
  for (std::size_t i = 0; i < row.size(); ++i) out += "|---";
  out += "|\n";
}

// A line of each component; with the facts, where some have any.
std::string overview(const std::vector<Component>& components) {
  const bool facts = std::any_of(components.begin(), components.end(), [](const Component& c) {
    return std::any_of(kFacts.begin(), kFacts.end(),
                       [&](const auto& fact) { return c.about->contains(fact.first); });
  });
  Row heading = {"id", "what"};
  if (facts)
    for (const auto& [key, name] : kFacts) heading.emplace_back(name);
  std::string out;
  append_heading(out, heading);
  for (const Component& c : components) {
    const std::string id = c.text("id");
    Row row = {fmt::format("[`{}`](#{})", id, id), c.text("doc")};
    for (const auto& [key, name] : kFacts)
      if (facts) row.push_back(c.about->contains(key) ? c.text(key) : "–");
    append_row(out, row);
  }
  return out;
}

std::string component_markdown(const Component& c) {
  std::string out =
      fmt::format("\n### `{}`\n{}. {}\n\n", c.text("id"), c.text("doc"), origin_of(c));
  const std::vector<Row> rows = parameters_of(c);
  if (rows.empty()) return out + "No parameters.\n";
  append_heading(out, {"parameter", "default", "kind", "meaning"});
  for (const Row& row : rows)
    append_row(out, {"`" + row[0] + "`", "`" + row[1] + "`", row[2], row[3]});
  return out;
}

std::string component_html(const Component& c) {
  std::string out = fmt::format(
      "<section class=\"component\" id=\"{0}\"><h3><code>{0}</code></h3>\n<p>{1}.</p>\n<p "
      "class=\"of\">{2}</p>\n",
      escape_html(c.text("id")), escape_html(c.text("doc")), escape_html(origin_of(c)));
  for (const auto& [key, name] : kFacts)
    if (c.about->contains(key))
      out += fmt::format("<p class=\"of\">{}: {}</p>\n", name, escape_html(c.text(key)));
  if (const std::vector<Row> rows = parameters_of(c); !rows.empty())
    out += html_table(Row{"parameter", "default", "kind", "meaning"}, rows);
  out += html_folded(
      "For a recipe",
      fmt::format("<pre>{}</pre>", escape_html(c.about->at("toml").get<std::string>())));
  return out + "</section>\n";
}

constexpr std::string_view kStyle = R"css(
#search { width: 100%; margin: 1.2rem 0 0; padding: 0.5rem 0.8rem; font: inherit; color: inherit;
  background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; }
.of { color: var(--soft); font-size: 0.9rem; }
.component h3 { margin-top: 0; }
.component.hidden, .kind.hidden { display: none; }
)css";

// Sections that have all words; what is typed stays in the address, so that it can be passed on.
constexpr std::string_view kScript = R"js(
const box = document.getElementById('search'), found = document.getElementById('found');
const components = [...document.querySelectorAll('.component')].map(
  element => ({element, text: element.textContent.toLowerCase()}));
function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const {element, text} of components) {
    const shown = words.every(word => text.includes(word));
    element.classList.toggle('hidden', !shown);
    count += shown;
  }
  for (const kind of document.querySelectorAll('.kind'))
    kind.classList.toggle('hidden', !kind.querySelector('.component:not(.hidden)'));
  found.textContent = words.length ? count + ' of ' + components.length : components.length + ' components';
}
box.addEventListener('input', () => {
  history.replaceState(null, '', '#' + (box.value ? 'q=' + encodeURIComponent(box.value) : ''));
  search();
});
if (location.hash.startsWith('#q=')) box.value = decodeURIComponent(location.hash.slice(3));
search();
)js";

}  // namespace

std::string components_markdown(const Json& plugins) {
  std::string out =
      "# Components\n\nWhat a recipe can name, as the plugins' manifests say it. Written by "
      "`ghhost "
      "plugins docs`; `ghhost plugins info ID` prints one as a block to paste.\n";
  for (const Kind& kind : kKinds) {
    const std::vector<Component> components = components_of(plugins, kind);
    if (components.empty()) continue;
    out += fmt::format("\n## {}\n`{}`\n\n{}", kind.heading, kind.where, overview(components));
    for (const Component& c : components) out += component_markdown(c);
  }
  return out;
}

std::string components_html(const Json& plugins) {
  std::string body =
      "<h1>Components</h1>\n<p class=\"lead\">What a recipe can name, as the plugins' manifests "
      "say "
      "it.</p>\n<input id=\"search\" type=\"search\" placeholder=\"Search: momentum queue\" "
      "aria-label=\"Search\" autofocus>\n<p class=\"of\" id=\"found\" role=\"status\"></p>\n";
  for (const Kind& kind : kKinds) {
    const std::vector<Component> components = components_of(plugins, kind);
    if (components.empty()) continue;
    body +=
        fmt::format("<div class=\"kind\"><h2>{}<span>{}</span></h2>\n", kind.heading, kind.where);
    for (const Component& c : components) body += component_html(c);
    body += "</div>\n";
  }
  return html_page("Components", body, {.style = kStyle, .script = kScript});
}

}  // namespace gh::host
