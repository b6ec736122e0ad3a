#include "train/run_log.hpp"

#include <utility>

namespace gh::host {

void RunLog::say(Severity severity, std::string_view message) {
  if (directory_)
    directory_->log(message);
  else
    said_.emplace_back(message);
  if (severity == Severity::warning) console_.warn(message);
  if (severity == Severity::info) console_.say(message);
}

void RunLog::skipped(const std::string& reason) {
  if (skipped_.insert(reason).second)
    say(Severity::warning, "skipped, and the next sample taken in its place: " + reason);
}

void RunLog::write_into(RunDirectory& directory) {
  directory_ = &directory;
  for (const std::string& line : std::exchange(said_, {})) directory.log(line);
}

}  // namespace gh::host
