// How much of the machine's memory this process has, and may still take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gh::host {

// Bytes this process may still take: the least of what the system has (swap included) and of what
// is left under the limits of its control groups. Where nothing can be read, as many as can be
// counted. `root` is where /proc and /sys are looked for.
int64_t available_memory(const std::filesystem::path& root = "/");

// Resident memory of this process, bytes.
int64_t resident_memory();

// "1.5 GB".
std::string in_gigabytes(double bytes);

}  // namespace gh::host
