// A recipe as a tree of values that remember where they were written. The only form in which
// recipes travel through the host; toml++ is known to toml.cpp alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gh::host {

// `file` of what was written as an override; lines count the overrides.
inline constexpr std::string_view kCommandLine = "command line";

// Where a key or value was written. `file` is a path, kCommandLine, or empty for a default.
struct Source {
  std::string file;
  int line = 0;  // from 1; 0: no position
  int column = 0;
};

struct Value;
struct Entry;
using Array = std::vector<Value>;

// Keys in the order of the file.
class Table {
 public:
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const Entry* entry(std::string_view key) const;
  Value& set(std::string_view key, Value value, Source key_source = {});  // replaces or appends
  bool erase(std::string_view key);
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

struct Value {
  std::variant<bool, int64_t, double, std::string, Array, Table> data;
  Source source;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&data);
  }
};

struct Entry {
  std::string key;
  Source source;
  Value value;
};

// "a boolean", "an integer", "a number", "a string", "a list", "a table".
std::string_view kind_of(const Value& value);

// The value at a dotted path ("train.epochs", "eval.0.k"), or null.
const Value* find_path(const Table& root, std::string_view path);

// Where to point when something is wrong at a dotted path: the value, or the deepest table above it
// that somebody wrote.
Source locate(const Table& root, std::string_view path);

// Calls `visit` with the source of the value and of everything inside it, keys included.
void for_each_source(Value& value, const std::function<void(Source&)>& visit);

// "a" + "b" is "a.b", "" + "b" is "b".
std::string join_path(std::string_view parent, std::string_view key);

}  // namespace gh::host
