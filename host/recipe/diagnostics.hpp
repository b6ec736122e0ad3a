// What is wrong with a recipe. All of it is collected, then shown at once.
#pragma once

#include "recipe/value.hpp"

#include <string>
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
  bool has_errors() const;
  const std::vector<Diagnostic>& all() const { return items_; }
  // One block per item: "recipe.toml:12:5: error: method.temprature: …", the source line and a caret where the file can be read.
  std::string text() const;

 private:
  std::vector<Diagnostic> items_;
};

// The entry of `candidates` closest to `word`, or "" when none is close enough to be a likely typo.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace gh::host
