#include "recipe/placed_complaints.hpp"

#include <fmt/format.h>

namespace gh::host {

std::string PlacedComplaints::path_of(std::string_view key) const {
  if (key.starts_with('.')) return std::string(key.substr(1));
  return key.empty() ? slot_.path : join_path(slot_.path, key);
}

Source PlacedComplaints::source_of(const std::string& path) const {
  Source source = locate(recipe_.resolved, path);
  if (source.line < 1) source.file = recipe_.file.string();  // about a table that nobody wrote
  return source;
}

std::string PlacedComplaints::in_words(std::string_view message) const {
  return fmt::format("{} '{}': {}", kind_name(slot_.kind), slot_.id, message);
}

void PlacedComplaints::add(std::string_view key, std::string_view message) {
  const std::string path = path_of(key);
  out_.error(source_of(path), path, in_words(message));
}

void PlacedComplaints::warn(std::string_view key, std::string_view message) {
  const std::string path = path_of(key);
  out_.warning(source_of(path), path, in_words(message));
}

}  // namespace gh::host
