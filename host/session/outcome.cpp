#include "session/outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace gh::host {

std::string describe_failed(const std::vector<std::string>& failed) {
  if (failed.empty()) return "";
  return fmt::format("{} evaluation{} failed; {}", failed.size(), failed.size() == 1 ? "" : "s",
                     fmt::join(failed, "; "));
}

std::vector<std::string> failed_evaluations(const RunDirectory& directory, Ranks& ranks) {
  const nlohmann::json told =
      directory.written() ? nlohmann::json(directory.failed_results()) : nlohmann::json::array();
  return nlohmann::json::parse(ranks.broadcast_text(told.dump()));
}

void record_failure(RunDirectory& directory, RunStatus& status, const char* what) noexcept try {
  directory.log(fmt::format("failed: {}", what));
  status.ended("failed", what);
} catch (const std::exception&) {
}

}  // namespace gh::host
