#include "ranks/mismatch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>

namespace gh::host {
namespace {

// A handler has no other way to know.
std::terminate_handler before = nullptr;
void (*recorder)(const char*) = nullptr;

constexpr const char* kReason = "the ranks sent each other different amounts";

// What Gloo threw; empty when it is somebody else's.
std::string reason() {
  const std::exception_ptr thrown = std::current_exception();
  if (thrown == nullptr) return "";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.find("gloo/transport") != std::string::npos ? text : "";
  } catch (...) {
    return "";
  }
}

// Destructors would wait for a thread that is this one.
[[noreturn]] void on_terminate() {
  if (const std::string text = reason(); !text.empty()) {
    if (recorder != nullptr) recorder(kReason);
    const std::string line =
        std::string("ghhost: ") + kReason +
        "; every rank has to make the same calls of all_gather and all_reduce_sum, with tensors of "
        "the same shape (" +
        text.substr(0, text.find('\n')) + ")\n";
    [[maybe_unused]] const auto told = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(EXIT_FAILURE);
  }
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

void tell_of_mismatches(void (*record)(const char* reason)) {
  if (record != nullptr) recorder = record;
  const std::terminate_handler found = std::set_terminate(on_terminate);
  if (found != on_terminate) before = found;
}

}  // namespace gh::host
