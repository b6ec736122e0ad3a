#include "recipe/value.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gh::host {
namespace {

// Splits off what stands before the first dot.
std::string_view next_segment(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  return head;
}

const Value* child(const Value& parent, std::string_view segment) {
  if (const Table* table = parent.as<Table>()) return table->find(segment);
  const Array* list = parent.as<Array>();
  if (!list) return nullptr;
  std::size_t index = 0;
  const auto [end, failure] =
      std::from_chars(segment.data(), segment.data() + segment.size(), index);
  if (failure != std::errc{} || end != segment.data() + segment.size()) return nullptr;
  return index < list->size() ? &(*list)[index] : nullptr;
}

}  // namespace

const Entry* Table::entry(std::string_view key) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

const Value* Table::find(std::string_view key) const {
  const Entry* found = entry(key);
  return found ? &found->value : nullptr;
}

Value* Table::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Table::set(std::string_view key, Value value, Source key_source) {
  for (Entry& e : entries_) {
    if (e.key != key) continue;
    e.value = std::move(value);
    e.source = std::move(key_source);
    return e.value;
  }
  entries_.push_back({std::string(key), std::move(key_source), std::move(value)});
  return entries_.back().value;
}

bool Table::erase(std::string_view key) {
  return std::erase_if(entries_, [&](const Entry& e) { return e.key == key; }) > 0;
}

std::string_view kind_of(const Value& value) {
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number",
                                         "a string",  "a list",     "a table"};
  return kNames[value.data.index()];
}

const Value* find_path(const Table& root, std::string_view path) {
  const Value* at = root.find(next_segment(path));
  while (at && !path.empty()) at = child(*at, next_segment(path));
  return at;
}

Source locate(const Table& root, std::string_view path) {
  Source best;
  const Value* at = root.find(next_segment(path));
  while (at) {
    if (at->source.line > 0) best = at->source;
    if (path.empty()) break;
    at = child(*at, next_segment(path));
  }
  return best;
}

void for_each_source(Value& value, const std::function<void(Source&)>& visit) {
  visit(value.source);
  if (Array* list = value.as<Array>())
    for (Value& element : *list) for_each_source(element, visit);
  if (Table* table = value.as<Table>())
    for (Entry& e : table->entries()) {
      visit(e.source);
      for_each_source(e.value, visit);
    }
}

std::string join_path(std::string_view parent, std::string_view key) {
  std::string joined(parent);
  if (!joined.empty()) joined += '.';
  return joined += key;
}

}  // namespace gh::host
