// LibTorch's number of threads for a while. Tests of many small operators run on one: where others
// use the processor too, threads that wait for each other take a hundred times as long.
#pragma once

#include <ATen/Parallel.h>

class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};
