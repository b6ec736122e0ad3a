#include "recipe/difference.hpp"

#include "recipe/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

// In the order of keys. Studies compare thousands of recipes: nothing is written out that is the same
// in both.
using Leaves = std::vector<std::pair<std::string, const Value*>>;

Leaves leaves_of(const Table& table) {
  Leaves out;
  for_each_leaf(table, [&](const std::string& path, const Value& value) {
    if (changes_numbers(path)) out.emplace_back(path, &value);
  });
  std::sort(out.begin(), out.end());
  return out;
}

// As TOML: 1 and 1.0 are not the same.
bool is_same(const Value& a, const Value& b) {
  if (a.data.index() != b.data.index()) return false;
  if (const std::string* text = a.as<std::string>()) return *text == *b.as<std::string>();
  if (const int64_t* number = a.as<int64_t>()) return *number == *b.as<int64_t>();
  if (const bool* flag = a.as<bool>()) return *flag == *b.as<bool>();
  return to_toml_value(a) == to_toml_value(b);
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
  const Leaves before = leaves_of(was), now = leaves_of(is);
  auto a = before.begin();
  auto b = now.begin();
  while (a != before.end() || b != now.end()) {
    const bool takes_a = b == now.end() || (a != before.end() && a->first <= b->first);
    const bool takes_b = a == before.end() || (b != now.end() && b->first <= a->first);
    if (!takes_a || !takes_b || !is_same(*a->second, *b->second))
      out.push_back({takes_a ? a->first : b->first, takes_a ? to_toml_value(*a->second) : "",
                     takes_b ? to_toml_value(*b->second) : ""});
    if (takes_a) ++a;
    if (takes_b) ++b;
  }
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
