// Who draws from the process's global generators, LibTorch's of the CPU and the C library's. Such
// draws are not keyed by the recipe's seed, and a resumed run does not repeat them.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace gh::host {

// Watches the thread it is made on, for as long as it lives; one at a time.
class GlobalDraws {
 public:
  GlobalDraws();
  ~GlobalDraws();
  GlobalDraws(const GlobalDraws&) = delete;
  GlobalDraws& operator=(const GlobalDraws&) = delete;

  // Names of those that drew since the last call: "aten::randn", "std::rand".
  std::vector<std::string> since_last();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace gh::host
