// Where somebody else decides when a worker starts: an engine is a file with the text that is handed
// to it, the command that does so, and what is to be done by which exit code of a worker. No engine
// is known here.
//
//   name = "Grid Engine"
//   file = "workers.sh"               # becomes DIR/engine/workers.sh
//   text = '''…'''                    # with @placeholders@
//   submit = "qsub @file@"            # for sh
//   [values]                          # further placeholders, which --set changes
//   time = "24:00:00"
//   [exit]                            # shell commands by exit code, in @work@; others end with it
//   75 = "exit 99"
#pragma once

#include "recipe/diagnostics.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

struct Engine {
  std::string name, file, text, submit;
  std::vector<std::pair<std::string, std::string>> values;  // [values]
  std::vector<std::pair<int, std::string>> on_exit;         // [exit]
};

// Whether a file says what is submitted: no recipe and no study does.
bool is_engine_file(const std::filesystem::path& file);

// Mistakes go to `out`, where errors make the result unusable.
Engine read_engine(const std::filesystem::path& file, Diagnostics& out);

struct Workers {
  std::filesystem::path study;       // directory
  std::string name;                  // of the study
  std::vector<std::string> command;  // what one worker is: program and arguments
  int64_t count = 1;
  int64_t limit = 0;             // at a time; 0: all
  std::vector<std::string> set;  // "time=1:00:00": [values] that are to be others
};

// @study@, @name@ (letters, digits, dashes), @program@, @arguments@ (of a worker), @command@ (both),
// @work@ (shell lines that run it, pass signals on to it as SIGTERM and act by [exit]), @workers@,
// @last@ (@workers@ − 1), @limit@, @file@; and [values].
struct Submission {
  std::filesystem::path file;
  std::string text;     // what `file` is to hold
  std::string command;  // for sh
};

// Throws gh::Error (invalid_param): for a placeholder or a value to set that there is not, and for
// paths with characters that shells and job files would read as something else.
Submission fill(const Engine& engine, const Workers& workers);

}  // namespace gh::host
