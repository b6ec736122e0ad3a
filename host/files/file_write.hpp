// Files written so that a program that dies, or a disk that is full, does no harm.
#pragma once

#include <filesystem>
#include <string_view>

namespace gh::host {

enum class Durability { synced, renamed };

// Writes to a temporary file beside `file`, syncs (unless only `renamed` is asked for) and renames;
// the old content survives any failure. Throws gh::Error (io).
void write_file_atomically(const std::filesystem::path& file, std::string_view content,
                           Durability durability = Durability::synced);

// The same for a file that several processes write at the same time, also of other machines: each
// under a name of its own first. The last one stays, whole.
void write_shared_file(const std::filesystem::path& file, std::string_view content,
                       Durability durability = Durability::synced);

// Puts a file or directory on the disk where the file system can, and says nothing where it cannot.
void sync_path(const std::filesystem::path& path);

// Throws gh::Error (io) with `what`, the file and the reason in errno.
[[noreturn]] void fail_io(std::string_view what, const std::filesystem::path& file);

}  // namespace gh::host
