// Reads Python pickles as data. Nothing is ever imported, called or executed: a pickle is a small
// program for a stack machine, and this machine knows containers, numbers and text; whatever else
// the program asks for becomes a note of what was asked.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

struct PickleValue {
  enum class Kind : uint8_t {
    none,
    integer,     // and bool; `number`
    real,        // value not kept
    text,        // `text`, UTF-8 without control characters
    bytes,       // and other text; value not kept
    tuple,       // `items`
    list,        // `items`
    dict,        // `items`: key, value, key, value, …; also OrderedDict and defaultdict
    global,      // `text`: "module.name" of a class or function
    persistent,  // `items[0]`: the id that the writer gave something kept outside the pickle
    call,        // `text`: "module.name" that would be called; `items`: its arguments
    opaque,      // anything else; `text`: its class where known
  };
  Kind kind = Kind::none;
  int64_t number = 0;
  std::string text;
  std::vector<const PickleValue*> items;

  // The last value of a text key of a dict; null when it is not there or this is no dict.
  const PickleValue* find(std::string_view key) const;
};

// A pickle's values; they point to each other, possibly in circles, so walk them with a bound.
struct Pickle {
  std::deque<PickleValue> values;
  const PickleValue* root = nullptr;
};

// Protocols 2 to 5. Throws gh::Error: io when the bytes are no pickle or end early, unsupported for
// operations of the text protocols; messages begin with `source`.
Pickle read_pickle(std::string_view bytes, const std::string& source);

}  // namespace gh::host
