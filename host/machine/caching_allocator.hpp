// Memory of CPU tensors that is kept and handed out again. The C library returns large blocks to
// the system and gets them back as fresh pages, so that every activation of every step is faulted
// in anew, 4 KiB at a time; here blocks stay mapped, in huge pages where the system allows. Used by
// the program, which installs it once, and by tests.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace gh::host {

// Makes LibTorch take the memory of CPU tensors from caching_allocator(), from here on and for the
// whole process; tensors made earlier stay valid. Before other threads start; again: no effect.
// Does nothing in a build with AddressSanitizer, from which reuse would hide errors.
void install_caching_allocator();

// Blocks are aligned to 64 bytes, and to 2 MiB from that size on. Zero bytes are a null pointer.
// Throws c10::OutOfMemoryError when the system has no memory even after the cache was given back.
// Lives until the process ends. Any thread; not to be used in a child after fork() where other
// threads ran.
c10::Allocator& caching_allocator();

// Bytes of blocks of 256 KiB and more; smaller ones are the C library's and not counted.
struct AllocatorStatistics {
  int64_t in_use = 0;
  int64_t cached = 0;  // kept for reuse
};
AllocatorStatistics allocator_statistics();

// Gives everything cached back to the system. Any thread.
void release_cached_memory();

}  // namespace gh::host
