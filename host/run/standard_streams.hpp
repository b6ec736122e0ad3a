// What the program says: results on standard output, messages on standard error. The one place that
// writes to them, because each must survive what it cannot write: a lost message harms nobody, a
// lost result must show in the exit code.
#pragma once

#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gh::host {

// Fills descriptors 0, 1 and 2 where whoever started the program closed them, so that no file of a
// run is ever opened as one of them, and has a reader that leaves reported as an error instead of a
// signal: a run outlives its terminal. First thing in main().
void open_standard_streams();

// To standard output. A failure is remembered for finish_output().
void write_output(std::string_view text);
// To standard error. What cannot be written is dropped.
void write_message(std::string_view text);

// Text that is put in, such as names of files and classes, has nothing in it that a terminal would
// obey: the format may.
template <class T>
decltype(auto) shown(T&& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>)
    return printable(std::string_view(value));
  else
    return std::forward<T>(value);
}

template <class... Args>
void print_result(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(fmt::runtime(format), shown(std::forward<Args>(args))...));
}
template <class... Args>
void print_message(fmt::format_string<Args...> format, Args&&... args) {
  write_message(fmt::format(fmt::runtime(format), shown(std::forward<Args>(args))...));
}

// Flushes standard output. Returns why something printed there was lost, or "". Where the reader
// has left (`ghhost keys | head -1`), the process ends here by SIGPIPE, as other programs do.
// Last thing in main().
std::string finish_output();

}  // namespace gh::host
