// Whether somebody wants the program to stop (Ctrl-C, SIGTERM). Since SDK 1.1.
//
// Loops that may take longer than a second call throw_if_interrupted() once a round, on the thread
// they were called on and outside of parallel regions. What was computed so far is thrown away; the
// host repeats it when the run is resumed.
#pragma once

#include "gh/export.hpp"

#if GH_SDK_MINOR < 1
#error "gh/interrupt.hpp is of SDK 1.1, GH_SDK_TARGET asks for less"
#endif

namespace gh {
inline namespace v1 {

// Any thread; as cheap as reading a variable.
GH_API bool interrupted() noexcept;

// Throws Error (ErrorCode::interrupted) when interrupted(). Let it pass: it is no failure.
GH_API void throw_if_interrupted();

// The host's, from its signal handlers: async-signal-safe.
GH_API void set_interrupted(bool on) noexcept;

}  // namespace v1
}  // namespace gh
