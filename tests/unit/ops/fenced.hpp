#pragma once

#include "gh/tensor.hpp"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

// An array between two pages that must not be touched, next to the one or the other.
class Fenced {
 public:
  Fenced(const at::Tensor& values, bool at_end) : count_(values.numel()) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count_) * sizeof(float);
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    pages_ =
        static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages_ != MAP_FAILED);
    REQUIRE(mprotect(pages_ + page, inner, PROT_READ | PROT_WRITE) == 0);
    data_ = reinterpret_cast<float*>(pages_ + page + (at_end ? inner - bytes : 0));
    std::memcpy(data_, values.data_ptr<float>(), bytes);
  }
  ~Fenced() { munmap(pages_, size_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  float* data() const { return data_; }
  // As values lie in memory.
  bool equals(const at::Tensor& values) const {
    return std::memcmp(data_, values.data_ptr<float>(),
                       static_cast<std::size_t>(count_) * sizeof(float)) == 0;
  }

 private:
  int64_t count_;
  std::size_t size_ = 0;
  char* pages_ = nullptr;
  float* data_ = nullptr;
};
