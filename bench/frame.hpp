// What benchmark programs share: tensors in files as the scripts write them, and a clock.
#pragma once

#include <ATen/ops/empty.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gh::bench {

inline at::Tensor read(const std::string& file, at::IntArrayRef shape,
                       at::ScalarType dtype = at::kFloat) {
  const at::Tensor t = at::empty(shape, dtype);
  std::ifstream in(file, std::ios::binary);
  in.read(static_cast<char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes()));
  if (!in) throw std::runtime_error(file + " is too short");
  return t;
}

inline void write(const std::string& file, const at::Tensor& t) {
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes()));
}

// Seconds since some moment.
inline double now() {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(t).count();
}

}  // namespace gh::bench
