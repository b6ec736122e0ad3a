// How attempts at a job ended: DIR/outcomes/<id>.json, which whoever holds its lease writes. Exit
// codes decide what is done next (cli/exit_codes.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

// How a process ended: by an exit code, or by a signal.
struct ProcessEnd {
  int code = 0;
  int signal = 0;  // 0: none
};

enum class Ending {
  done,                // 0
  evaluations_failed,  // 3: trained to the end
  interrupted,         // 75, or a signal that asks to stop; what is there is gone on with
  hopeless,  // 64–66, 78: wrong arguments, data or recipe; another attempt would not help
  failed,    // anything else
};
Ending meaning_of(const ProcessEnd& end);

struct Attempt {
  std::string started;     // "2026-01-31T12:00:00Z"
  std::string ended = {};  // empty: it runs, or nobody could say
  std::string machine = {};
  int64_t process = 0;    // of the worker
  ProcessEnd end = {};    // once it ended
  double seconds = 0;     // that it took
  std::string log = {};   // file, relative to the study's directory
  int64_t log_begin = 0;  // its first byte in it
  std::string why = {};   // one line on why it failed
};

struct Outcome {
  std::vector<Attempt> attempts;
  int64_t forgiven = 0;  // so many of them do not count, as --retry-failed says
};

enum class Verdict { open, done, evaluations_failed, failed };

// Of attempts that are not forgiven: `open` where none was made, and as long as one that ended well
// is missing and no more than `retries` of them failed. Interrupted ones and those nobody saw the
// end of are no failures.
Verdict judge(const Outcome& outcome, int64_t retries);

// Attempts that failed and count.
int64_t failures(const Outcome& outcome);
// Seconds of all attempts.
double seconds_spent(const Outcome& outcome);

// "exit code 66", "SIGSEGV".
std::string end_text(const ProcessEnd& end);

// Of "DIR/outcomes"; empty where no attempt has been made. Throws gh::Error (invalid_param) where
// the file is damaged.
Outcome read_outcome(const std::filesystem::path& outcomes, const std::string& job);
// Atomically; makes the directory. Throws gh::Error (io).
void write_outcome(const std::filesystem::path& outcomes, const std::string& job,
                   const Outcome& outcome);

// Why a run failed by what it wrote from byte `begin` of its log on: the last line that ghhost
// wrote about it, or else the last one. Empty where there is none.
std::string last_complaint(const std::filesystem::path& log, int64_t begin);

}  // namespace gh::host
