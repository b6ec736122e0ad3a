#include "recipe/difference.hpp"

#include "recipe/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace gh::host {
namespace {

constexpr std::array<std::string_view, 6> kWithoutEffect = {
    "name", "include", "loader.threads", "loader.prefetch", "checkpoint", "ranks.timeout"};

bool has_effect(const std::string& key) {
  return std::none_of(kWithoutEffect.begin(), kWithoutEffect.end(), [&](std::string_view other) {
    return key == other || (key.starts_with(other) && key[other.size()] == '.');
  });
}

void flatten(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (const Table* table = value.as<Table>()) {
    for (const Entry& entry : table->entries())
      flatten(entry.value, join_path(path, entry.key), out);
    return;
  }
  const Array* array = value.as<Array>();
  if (array && !array->empty() && array->front().as<Table>()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      flatten((*array)[i], join_path(path, std::to_string(i)), out);
    return;
  }
  if (has_effect(path)) out[path] = to_toml_value(value);
}

std::map<std::string, std::string> flatten(const Table& table) {
  std::map<std::string, std::string> out;
  for (const Entry& entry : table.entries()) flatten(entry.value, entry.key, out);
  return out;
}

}  // namespace

std::vector<Difference> numeric_differences(const Table& was, const Table& is) {
  std::vector<Difference> out;
  std::map<std::string, std::string> now = flatten(is);
  for (const auto& [key, value] : flatten(was)) {
    const auto found = now.find(key);
    if (found == now.end())
      out.push_back({key, value, ""});
    else if (found->second != value)
      out.push_back({key, value, found->second});
    if (found != now.end()) now.erase(found);
  }
  for (const auto& [key, value] : now) out.push_back({key, "", value});
  std::sort(out.begin(), out.end(),
            [](const Difference& a, const Difference& b) { return a.key < b.key; });
  return out;
}

std::string to_text(const std::vector<Difference>& differences) {
  std::string out;
  for (const Difference& d : differences)
    out += fmt::format("  {}: {} → {}\n", d.key, d.was.empty() ? "(absent)" : d.was,
                       d.is.empty() ? "(absent)" : d.is);
  return out;
}

}  // namespace gh::host
