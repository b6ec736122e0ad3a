// Any bytes as a plugin's file: a note, or a refusal that says why.
#include "fuzz/target.hpp"
#include "plugins/elf_note.hpp"
#include "plugins/plugin_error.hpp"
#include "text/plain_text.hpp"

#include <span>

using namespace gh::host;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::vector<uint8_t> exact(data, data + size);  // a sanitizer sees a read past the end
  try {
    const PluginNote note = read_plugin_note(std::as_bytes(std::span(exact)));
    if (note.name.empty() || note.provides.empty() || !is_plain_text(note.text)) std::abort();
  } catch (const PluginRefused& refused) {
    if (std::strlen(refused.what()) == 0) std::abort();
  }
  return 0;
}
