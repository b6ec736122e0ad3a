#include "gh/interrupt.hpp"

#include "gh/error.hpp"

#include <atomic>

namespace gh {
inline namespace v1 {
namespace {

// Signals come to a process, not to an object: one flag for all who share this library.
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers take no locks");

}  // namespace

bool interrupted() noexcept { return stop.load(std::memory_order_relaxed); }

void throw_if_interrupted() {
  require(!interrupted(), ErrorCode::interrupted, "stopped by a signal");
}

void set_interrupted(bool on) noexcept { stop.store(on, std::memory_order_relaxed); }

}  // namespace v1
}  // namespace gh
