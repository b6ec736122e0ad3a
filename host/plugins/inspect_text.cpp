#include "plugins/inspect_text.hpp"

#include "plugins/inspect.hpp"
#include "recipe/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace gh::host {
namespace {

using Json = nlohmann::ordered_json;

std::string remark_of(const ParamSpec& p) {
  std::string text = p.kind_name();
  if (const std::string range = p.range_text(); !range.empty()) text += ", " + range;
  if (!p.unit.empty()) text += (p.unit.starts_with("per ") ? ", " : ", in ") + p.unit;
  if (p.required()) text += ", required";
  if (p.optional && !p.default_value) text += ", optional";
  if (!p.doc.empty()) text += ": " + p.doc;
  if (!p.since.empty()) text += " (since " + p.since + ")";
  if (!p.replaces.empty()) text += " (formerly " + p.replaces + ")";
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// Tables become sub-tables below their parent's plain keys, as TOML wants it.
struct Line {
  std::string code;
  std::string remark;
};
void append_lines(const Schema& schema, const std::string& prefix, std::vector<Line>& lines) {
  for (const ParamSpec& p : schema) {
    const std::string key = prefix + p.name;
    if (p.kind == GH_PARAM_TABLE && !p.fields.empty() && !p.default_value)
      append_lines(p.fields, key + ".", lines);
    else if (p.default_value)
      lines.push_back({fmt::format("{} = {}", key, to_toml_value(*p.default_value)), remark_of(p)});
    // What has no value cannot be pasted as one.
    else
      lines.push_back({fmt::format("# {} = …", key), remark_of(p)});
  }
}

// The recipe's table for a component of that kind.
std::string_view recipe_table(gh_kind kind) {
  switch (kind) {
    case GH_KIND_SSL:
      return "[method]";
    case GH_KIND_STRUCTURE:
      return "[harmonize.structure]";
    case GH_KIND_ALLOCATOR:
      return "[harmonize.allocator]";
    case GH_KIND_DATASET:
      return "[data]";
    case GH_KIND_BACKBONE:
      return "[backbone]";
    case GH_KIND_EVALUATOR:
      return "[[eval]]";
  }
  return "";
}

std::string recipe_block(const ComponentInfo& c) {
  return fmt::format("{}\n{}", recipe_table(c.kind), schema_as_toml(c.schema, c.id));
}

std::array<std::pair<std::string, std::string>, 4> facts_of(const ComponentInfo& c) {
  return {{{"paper", c.paper}, {"views", c.views}, {"state", c.state}, {"ranks", c.ranks}}};
}

Json param_as_json(const ParamSpec& p) {
  Json j = {{"name", p.name}, {"kind", p.kind_name()}, {"doc", p.doc}, {"required", p.required()}};
  if (p.default_value) j["default_toml"] = to_toml_value(*p.default_value);
  if (const std::string range = p.range_text(); !range.empty()) j["range"] = range;
  if (p.min) j[p.min_open ? "above" : "min"] = *p.min;
  if (p.max) j[p.max_open ? "below" : "max"] = *p.max;
  if (!p.choices.empty()) j["choices"] = p.choices;
  if (!p.unit.empty()) j["unit"] = p.unit;
  if (!p.since.empty()) j["since"] = p.since;
  if (!p.replaces.empty()) j["replaces"] = p.replaces;
  for (const ParamSpec& field : p.fields) j["fields"].push_back(param_as_json(field));
  return j;
}

}  // namespace

std::string schema_as_toml(const Schema& schema, const std::string& id) {
  std::vector<Line> lines;
  if (!id.empty()) lines.push_back({fmt::format("id = \"{}\"", id), ""});
  append_lines(schema, "", lines);
  std::size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.code.size());
  width = std::min<std::size_t>(width, 40);
  std::string text;
  for (const Line& line : lines)
    text += line.remark.empty() ? line.code + "\n"
                                : fmt::format("{:<{}}  # {}\n", line.code, width, line.remark);
  return text;
}

std::string plugin_as_text(const LoadedPlugin& plugin) {
  std::string text = fmt::format("{} {}\n", plugin.note.name, plugin.note.version);
  if (!plugin.doc.empty()) text += fmt::format("{}\n", plugin.doc);
  const auto fact = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9} {}\n", name, value);
  };
  fact("file", plugin.file.string());
  fact("sha256", plugin.sha256);
  fact("build-id", plugin.note.build_id);
  fact("license", plugin.license);
  fact("authors", plugin.authors);
  fact("url", plugin.url);
  std::vector<std::string> fingerprint;
  for (const auto& [key, value] : plugin.note.fingerprint) fingerprint.push_back(key + " " + value);
  fact("built for", fmt::format("{}", fmt::join(fingerprint, ", ")));
  for (const ComponentInfo& c : plugin.components) {
    text += fmt::format("\n{}/{}: {}\n", kind_name(c.kind), c.id, c.doc);
    if (c.flags & GH_SEES_LABELS) text += "  sees labels\n";
    if (c.flags & GH_NONDETERMINISTIC) text += "  not deterministic\n";
    for (const auto& [name, value] : facts_of(c)) fact(name, value);
    const std::string toml = recipe_block(c);
    for (std::size_t at = 0; at < toml.size(); at = toml.find('\n', at) + 1)
      text += fmt::format("    {}\n", toml.substr(at, toml.find('\n', at) - at));
  }
  return text;
}

Json plugin_as_json(const LoadedPlugin& plugin) {
  Json j = {{"name", plugin.note.name},
            {"version", plugin.note.version},
            {"file", plugin.file.string()},
            {"sha256", plugin.sha256},
            {"build_id", plugin.note.build_id},
            {"license", plugin.license},
            {"authors", plugin.authors},
            {"url", plugin.url},
            {"doc", plugin.doc},
            {"fingerprint", plugin.note.fingerprint},
            {"components", Json::array()}};
  for (const ComponentInfo& c : plugin.components) {
    Json component = {{"kind", kind_name(c.kind)},
                      {"id", c.id},
                      {"doc", c.doc},
                      {"sees_labels", (c.flags & GH_SEES_LABELS) != 0},
                      {"nondeterministic", (c.flags & GH_NONDETERMINISTIC) != 0},
                      {"any_thread", c.threads == GH_THREADS_ANY},
                      {"params", Json::array()}};
    for (const auto& [name, value] : facts_of(c))
      if (!value.empty()) component[name] = value;
    for (const ParamSpec& p : c.schema) component["params"].push_back(param_as_json(p));
    component["toml"] = recipe_block(c);
    j["components"].push_back(std::move(component));
  }
  return j;
}

}  // namespace gh::host
