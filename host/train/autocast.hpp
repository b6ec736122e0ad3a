// Mixed precision on CUDA while a method makes its step. On any other device nothing happens.
#pragma once

#include <ATen/autocast_mode.h>

#include <optional>

namespace gh::host {

class AutocastScope {
 public:
  explicit AutocastScope(std::optional<at::ScalarType> dtype) : active_(dtype.has_value()) {
    if (!active_) return;
    at::autocast::set_autocast_dtype(at::kCUDA, *dtype);
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    if (!active_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCUDA, false);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
};

}  // namespace gh::host
