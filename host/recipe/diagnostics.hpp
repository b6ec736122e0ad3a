// What is wrong with a recipe. All of it is collected, then shown at once.
#pragma once

#include "recipe/value.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct Diagnostic {
  enum class Level { error, warning };
  Level level = Level::error;
  Source source;
  std::string key;      // dotted path, "method.temperature"; may be empty
  std::string message;  // what was expected and what came, nearest valid key included
};

class Diagnostics {
 public:
  void error(Source source, std::string key, std::string message);
  void warning(Source source, std::string key, std::string message);
  bool has_errors() const { return error_count_ > 0; }
  std::size_t error_count() const { return error_count_; }
  // Exactly there; false for a source without position.
  bool has_error_at(const Source& source) const;
  const std::vector<Diagnostic>& all() const { return items_; }
  // Text to quote from where `file` is not a file that can be read, such as the command line.
  void set_text(const std::string& file, std::string text);
  // One block per item, in the order of the sources: "recipe.toml:12:5: error: method.temprature:
  // …", then the source line and a caret where the file can be read. Ends with a newline unless
  // empty.
  std::string text() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t error_count_ = 0;
  std::map<std::string, std::string> texts_;
};

// The entry of `candidates` closest to `word`, or "" when none is close enough to be a likely typo.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace gh::host
