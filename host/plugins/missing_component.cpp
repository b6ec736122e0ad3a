#include "plugins/missing_component.hpp"

#include "recipe/diagnostics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gh::host {
namespace {

bool provides(const PluginFile& file, const std::string& wanted) {
  return file.note && std::ranges::find(file.note->provides, wanted) != file.note->provides.end();
}

std::string reason(const PluginFile& file) {
  if (file.error) return fmt::format("{}: {}", name_of(file.error->code), file.error->message);
  return fmt::format(
      "{}: shadowed by {}, which comes first and has the same name or one of its components",
      file.file.string(), file.shadowed_by->string());
}

std::string indented(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

}  // namespace

std::string describe_missing(gh_kind kind, const std::string& id,
                             const std::vector<std::string>& ids,
                             const std::vector<PluginFile>& files, const SearchPath& path) {
  const std::string wanted = fmt::format("{}/{}", kind_name(kind), id);
  std::string text = fmt::format("no plugin provides {}", wanted);
  if (const std::string close = nearest(id, ids); !close.empty())
    text += fmt::format("; did you mean \"{}\"?", close);
  text += ids.empty() ? fmt::format("\n  there is no {} at all", kind_name(kind))
                      : fmt::format("\n  {}: {}", kind_name(kind), fmt::join(ids, ", "));

  text += "\n  looked in:";
  if (path.places.empty()) text += " nowhere";
  for (const SearchPath::Place& place : path.places) {
    std::error_code error;
    text += fmt::format("\n    {} ({}){}", place.path.string(), place.origin,
                        std::filesystem::exists(place.path, error) ? "" : ", which does not exist");
  }
  for (const std::string& ignored : path.ignored) text += fmt::format("\n    ignored: {}", ignored);

  // A file that would have provided it comes first, and with its whole story; the others may be the
  // same plugin in a state that does not even show its name.
  std::string others;
  for (const PluginFile& file : files) {
    if (file.usable()) continue;
    if (provides(file, wanted))
      text += fmt::format("\n  would provide it, but is not used:\n    {}", indented(reason(file)));
    else if (file.error)
      others += "\n    " + reason(file).substr(0, reason(file).find('\n'));
  }
  if (!others.empty()) text += "\n  refused:" + others;
  return text;
}

}  // namespace gh::host
