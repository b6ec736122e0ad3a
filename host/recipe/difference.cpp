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

using Visit = std::function<void(const std::string&, const Value&)>;

void visit_leaves(const Value& value, const std::string& path, const Visit& visit) {
  if (const Table* table = value.as<Table>()) {
    for (const Entry& entry : table->entries())
      visit_leaves(entry.value, join_path(path, entry.key), visit);
    return;
  }
  const Array* array = value.as<Array>();
  if (!array || array->empty() || !array->front().as<Table>()) return visit(path, value);
  for (std::size_t i = 0; i < array->size(); ++i)
    visit_leaves((*array)[i], join_path(path, std::to_string(i)), visit);
}

Table numeric_part_of(const Table& table, const std::string& path) {
  Table out;
  for (const Entry& entry : table.entries()) {
    const std::string key = join_path(path, entry.key);
    if (!changes_numbers(key)) continue;
    const Table* inner = entry.value.as<Table>();
    out.set(entry.key,
            inner ? Value{numeric_part_of(*inner, key), entry.value.source} : entry.value);
  }
  return out;
}

std::map<std::string, std::string> flatten(const Table& table) {
  std::map<std::string, std::string> out;
  for_each_leaf(table, [&](const std::string& path, const Value& value) {
    if (changes_numbers(path)) out[path] = to_toml_value(value);
  });
  return out;
}

}  // namespace

void for_each_leaf(const Table& table, const Visit& visit) {
  for (const Entry& entry : table.entries()) visit_leaves(entry.value, entry.key, visit);
}

bool changes_numbers(std::string_view key) {
  return std::none_of(kWithoutEffect.begin(), kWithoutEffect.end(), [&](std::string_view other) {
    return key == other || (key.starts_with(other) && key[other.size()] == '.');
  });
}

Table numeric_part(const Table& resolved) { return numeric_part_of(resolved, ""); }

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
