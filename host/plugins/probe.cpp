// The rehearsal of steps 6 to 8 in a child process.
#include "plugins/child_process.hpp"
#include "plugins/plugin_loader.hpp"

#include <string>

namespace gh::host {

void probe_plugin(const FileContent& content, const PluginNote& note,
                  std::chrono::milliseconds timeout) {
  // The verdict: empty, or the number of the code, a line feed and the message.
  const ChildOutcome outcome = run_in_child(
      [&](const SayDoing&) -> std::string {
        try {
          open_plugin(content, note);
          return "";
        } catch (const PluginRefused& e) {
          return std::to_string(static_cast<int>(e.code())) + "\n" + e.what();
        }
      },
      timeout);
  if (!outcome.result) throw outcome.refusal("being loaded", timeout);
  if (outcome.result->empty()) return;
  const std::size_t line = outcome.result->find('\n');
  throw PluginRefused(static_cast<PluginErrorCode>(std::stoi(*outcome.result)),
                      outcome.result->substr(line + 1));
}

}  // namespace gh::host
