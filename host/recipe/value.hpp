// A recipe as a tree of values that remember where they were written. The only form in which recipes travel through the host;
// toml++ is known to toml.cpp alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gh::host {

// Where a key or value was written. `file` is a path, "command line", or empty for a default.
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
  const T* as() const { return std::get_if<T>(&data); }
  template <class T>
  T* as() { return std::get_if<T>(&data); }
};

struct Entry {
  std::string key;
  Source source;
  Value value;
};

// "a boolean", "an integer", "a number", "a string", "a list", "a table".
std::string_view kind_of(const Value& value);

}  // namespace gh::host
