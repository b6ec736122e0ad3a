// Added to every plugin by gh_add_plugin(). Puts name, version, components and fingerprint into an
// ELF note, which the host reads from the file before it loads the library.
#include "gh/fingerprint.h"

#define GH_NOTE_TEXT                                                                     \
  "name=" GH_PLUGIN_NAME "\nversion=" GH_PLUGIN_VERSION "\nprovides=" GH_PLUGIN_PROVIDES \
  "\n" GH_FINGERPRINT

namespace {

struct Note {
  uint32_t name_size;
  uint32_t text_size;
  uint32_t type;
  char name[8];
  char text[sizeof(GH_NOTE_TEXT)];
};

// ELF pads name and description to four bytes; `name` is already eight.
__attribute__((section(".note.ghsdk"), used, aligned(4)))
const Note kNote = {6, sizeof(GH_NOTE_TEXT), 1, "ghsdk", GH_NOTE_TEXT};

}  // namespace

extern "C" __attribute__((visibility("hidden"))) const char* gh_plugin_fingerprint(void);
extern "C" const char* gh_plugin_fingerprint(void) { return kNote.text; }
