// Step 5: were plugin and host built alike? Host and plugin exchange C++ objects, so a difference
// is a crash later on.
#pragma once

#include "plugins/elf_note.hpp"

#include <map>
#include <string>
#include <vector>

namespace gh::host {

using Fingerprint = std::map<std::string, std::string>;

// What this program was built with (libghsdk's record).
Fingerprint host_fingerprint();

// x86-64 level as gh/fingerprint.h counts it, of the processor at hand. 1 elsewhere.
int host_cpu_level();

// Throws PluginRefused: sdk_major, sdk_minor, fingerprint (with a table key / host / plugin of what
// differs), cpu_level.
void check_fingerprint(const Fingerprint& host, int cpu_level, const Fingerprint& plugin);

// Throws PluginRefused foreign_library when `needed` would bring a second LibTorch or OpenMP
// runtime into a process that has `resident` libraries (file names).
void check_needed(const std::vector<std::string>& needed, const std::vector<std::string>& resident);

// Both of these for this host: step 5, which sees bytes only.
void check_note(const PluginNote& note);

// File names of the shared libraries of this process.
std::vector<std::string> resident_libraries();

}  // namespace gh::host
