// What two resolved recipes do not have in common.
#pragma once

#include "recipe/value.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// Calls `visit` with every value that is no table, under its dotted path ("eval.0.k").
void for_each_leaf(const Table& table,
                   const std::function<void(const std::string& path, const Value&)>& visit);

// False for keys that change no number of a run: names, loader, checkpoints.
bool changes_numbers(std::string_view key);

struct Difference {
  std::string key;      // dotted path
  std::string was, is;  // TOML text; empty where the key is absent
};

// Without the keys that change no number.
Table numeric_part(const Table& resolved);

// In the order of keys, without those that change no number.
std::vector<Difference> numeric_differences(const Table& was, const Table& is);

// One line a difference.
std::string to_text(const std::vector<Difference>& differences);

}  // namespace gh::host
