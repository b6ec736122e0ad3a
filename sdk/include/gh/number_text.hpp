// Numbers in tables and messages, the same in every evaluator. Since SDK 1.1.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace gh {
inline namespace v1 {

// As printf's `format` has it ("%.2f"), at most 31 characters; "—" for NaN, which stands for a
// number that there is not.
__attribute__((format(printf, 1, 0))) inline std::string number_text(const char* format,
                                                                     double value) {
  if (std::isnan(value)) return "—";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace v1
}  // namespace gh
