// Any bytes as a pickle: values whose references stay inside, or a gh::Error.
#include "fuzz/target.hpp"
#include "weights/pickle.hpp"

#include <set>

using namespace gh::host;
using namespace gh::test;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);  // a sanitizer sees a read past the end
  is_read([&] {
    const Pickle pickle = read_pickle({exact.data(), exact.size()}, "input");
    std::set<const PickleValue*> known;
    for (const PickleValue& value : pickle.values) known.insert(&value);
    if (!known.contains(pickle.root)) std::abort();
    for (const PickleValue& value : pickle.values) {
      for (const PickleValue* item : value.items)
        if (!known.contains(item)) std::abort();
      value.find("state_dict");
    }
  });
  return 0;
}
