#include "recipe/merge.hpp"

#include "recipe/host_tables.hpp"

#include <fmt/format.h>

#include <utility>

namespace gh::host {
namespace {

// Empty where there is none, or none that could be told from another.
std::string id_of(const Table& table, const std::string& path) {
  if (const Value* id = table.find("id")) {
    const std::string* text = id->as<std::string>();
    return text ? *text : std::string();
  }
  const TableSpec* layout = find_layout(path);
  return layout ? layout->default_variant : std::string();
}

}  // namespace

void begin_anew_if_other(Table& table, const Value& id, const Table& rewritten,
                         const std::string& path, const OnReplaced& told) {
  const std::string* wanted = id.as<std::string>();
  const std::string old = id_of(table, path);
  if (!wanted || old.empty() || *wanted == old) return;
  Replaced replaced{path, old, *wanted, {}, id.source};
  Table left = std::exchange(table, {});
  for (Entry& e : left.entries())
    if (e.key != "id" && !rewritten.find(e.key)) replaced.dropped.push_back(std::move(e));
  if (told && !replaced.dropped.empty()) told(replaced);
}

void merge(Table& base, Table over, const std::string& path, const OnReplaced& told) {
  if (const Value* id = over.find("id")) begin_anew_if_other(base, *id, over, path, told);
  for (Entry& e : over.entries()) {
    Value* below = base.find(e.key);
    Table* both = below ? below->as<Table>() : nullptr;
    if (!both || !e.value.as<Table>()) {
      base.set(e.key, std::move(e.value), std::move(e.source));
      continue;
    }
    below->source = e.value.source;
    merge(*both, std::move(*e.value.as<Table>()), join_path(path, e.key), told);
  }
}

std::string describe(const Replaced& replaced) {
  std::string keys;
  for (const Entry& e : replaced.dropped) {
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", e.key);
    if (e.source.line > 0) keys += fmt::format(" ({}:{})", e.source.file, e.source.line);
  }
  return fmt::format("is '{}' now; what was written for '{}' is dropped: {}", replaced.id,
                     replaced.old_id, keys);
}

}  // namespace gh::host
