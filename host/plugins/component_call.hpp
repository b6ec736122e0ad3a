// Calls into a component; whatever it throws becomes a gh::Error that names component and phase.
#pragma once

#include "gh/error.hpp"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>
#include <utility>

namespace gh::host {

[[noreturn]] inline void fail_in(std::string_view component, std::string_view phase, ErrorCode code,
                                 std::string_view message) {
  fail(code, component, ": ", phase, " failed (", name_of(code), "): ", message);
}

// `component` is "kind/id", `phase` what the host asked for ("step", "build", …).
template <class Work>
decltype(auto) call_component(std::string_view component, std::string_view phase, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    fail_in(component, phase, error.code(), error.what());
  } catch (const c10::Error& error) {
    fail_in(component, phase, ErrorCode::internal, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    fail_in(component, phase, ErrorCode::out_of_memory, "out of memory");
  } catch (const std::exception& error) {
    fail_in(component, phase, ErrorCode::internal, error.what());
  } catch (...) {
    fail_in(component, phase, ErrorCode::internal, "an exception of unknown type");
  }
}

}  // namespace gh::host
