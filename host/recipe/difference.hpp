// What two resolved recipes do not have in common.
#pragma once

#include "recipe/value.hpp"

#include <string>
#include <vector>

namespace gh::host {

struct Difference {
  std::string key;      // dotted path
  std::string was, is;  // TOML text; empty where the key is absent
};

// In the order of keys. Keys that change no number of a run (names, loader, checkpoints) are left
// out.
std::vector<Difference> numeric_differences(const Table& was, const Table& is);

// One line a difference.
std::string to_text(const std::vector<Difference>& differences);

}  // namespace gh::host
