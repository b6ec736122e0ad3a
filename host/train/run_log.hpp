// What a run says while it goes: on the terminal, and in the log of its directory once there is
// one.
#pragma once

#include "run/run_directory.hpp"
#include "train/console.hpp"

#include "gh/severity.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

class RunLog {
 public:
  explicit RunLog(Console& console) : console_(console) {}

  void say(Severity severity, std::string_view message);
  // A sample another one stood in for: said once in a run, whoever met it.
  void skipped(const std::string& reason);
  // From here on also there, which first gets what was said before. Outlives the log.
  void write_into(RunDirectory& directory);

 private:
  Console& console_;
  RunDirectory* directory_ = nullptr;
  std::vector<std::string> said_;  // before there was a directory
  std::set<std::string> skipped_;  // reasons already told
};

}  // namespace gh::host
