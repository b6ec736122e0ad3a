// What a component does to the process it is in, which is not its own: modes that others rely on,
// threads and files that it leaves behind.
#pragma once

#include <string>
#include <vector>

namespace gh::host {

class ProcessWatch {
 public:
  ProcessWatch();
  // In words, what was changed since the last call; it is as before afterwards.
  std::vector<std::string> changed();
  // In words, what is there now and was not at the beginning.
  std::vector<std::string> left_behind() const;

 private:
  struct Modes {
    bool gradients;
    int threads, rounding;
    std::string dtype, directory, locale;
  };
  static Modes modes_now();
  Modes modes_;
  std::size_t threads_, files_;
};

}  // namespace gh::host
