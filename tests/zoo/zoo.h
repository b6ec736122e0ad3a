// What a plugin is made of, by hand and without LibTorch, so that each animal of the zoo differs
// from a good plugin in one thing and compiles in no time. ZOO_NAME and ZOO_PROVIDES come from
// CMake; the ZOO_… macros below may be set before this header.
#pragma once

#include "gh/fingerprint.h"

#ifndef ZOO_SDK
#define ZOO_SDK GH_TEXT(GH_SDK_MAJOR) "." GH_TEXT(GH_SDK_MINOR)
#endif
#ifndef ZOO_TORCH
#define ZOO_TORCH TORCH_VERSION
#endif
#ifndef ZOO_COMPILER
#define ZOO_COMPILER GH_FP_COMPILER
#endif
#ifndef ZOO_LEVEL
#define ZOO_LEVEL "1"
#endif
#ifndef ZOO_NOTE_TEXT
#define ZOO_NOTE_TEXT                                                                              \
  "name=" ZOO_NAME "\nversion=1.0.0\nprovides=" ZOO_PROVIDES "\nsdk=" ZOO_SDK "\ntorch=" ZOO_TORCH \
  "\ndevice=" GH_TORCH_DEVICE "\narch=" GH_FP_ARCH "\ncompiler=" ZOO_COMPILER                      \
  "\ncxx_abi=" GH_TEXT(__GXX_ABI_VERSION) "\nstdlib=" GH_FP_STDLIB                                 \
                                          "\nstring_abi=" GH_FP_STRING_ABI                         \
                                          "\nstdlib_debug=" GH_FP_DEBUG                            \
                                          "\nsanitizer=" GH_FP_SANITIZER "\ncpu_level=" ZOO_LEVEL  \
                                          "\ncompiler_version=" GH_FP_COMPILER_VERSION "\n"
#endif

namespace zoo {

struct Note {
  uint32_t name_size, text_size, type;
  char name[8];
  char text[sizeof(ZOO_NOTE_TEXT)];
};
__attribute__((section(".note.ghsdk"), used, aligned(4))) static const Note kNote = {
    6, sizeof(ZOO_NOTE_TEXT), 1, "ghsdk", ZOO_NOTE_TEXT};

inline int animal = 0;

inline gh_component_v1 component(const char* id) {
  gh_component_v1 c{};
  c.kind = GH_KIND_STRUCTURE;
  c.id = id;
  c.interface_id = "gh.structure.v1";
  c.doc = "an animal of the zoo";
  c.create = [](const void*) -> void* { return &animal; };
  c.destroy = [](void*) {};
  return c;
}

inline gh_manifest_v1 manifest(const gh_component_v1* components, uint32_t count) {
  gh_manifest_v1 m{};
  m.magic = GH_MANIFEST_MAGIC;
  m.size = sizeof(gh_manifest_v1);
  m.sdk_major = GH_SDK_MAJOR;
  m.sdk_minor = GH_SDK_MINOR;
  m.component_size = sizeof(gh_component_v1);
  m.param_size = sizeof(gh_param_v1);
  m.component_count = count;
  m.name = ZOO_NAME;
  m.version = "1.0.0";
  m.license = m.authors = m.url = m.doc = "";
  m.fingerprint = kNote.text;
  m.components = components;
  return m;
}

}  // namespace zoo

#define ZOO_ENTRY                                                                \
  extern "C" int32_t gh_plugin_entry_v1([[maybe_unused]] const gh_host_v1* host, \
                                        [[maybe_unused]] const gh_manifest_v1** out)

// An entry that hands over a sound manifest of one component after `...` has changed `m` or `c`.
#define ZOO_PLUGIN(...)                                \
  ZOO_ENTRY {                                          \
    static gh_component_v1 c = zoo::component(ZOO_ID); \
    static gh_manifest_v1 m = zoo::manifest(&c, 1);    \
    __VA_ARGS__;                                       \
    *out = &m;                                         \
    return 0;                                          \
  }
