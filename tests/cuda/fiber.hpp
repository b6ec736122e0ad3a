// The fiber that a thread of an emulated block is: a stack with a guard page below it, and the two
// sides of a switch.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace gh::emulator {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Fiber {
 public:
  explicit Fiber(void (*entry)()) {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw Error("no memory for the stack of a thread");
    mprotect(memory_, kGuard, PROT_NONE);
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = memory_;
    inside_.uc_stack.ss_size = kBytes;
    makecontext(&inside_, entry, 0);
  }
  ~Fiber() { munmap(memory_, kBytes); }
  Fiber(const Fiber&) = delete;

  // resume(): the scheduler's side, runs the fiber until it pauses. arrived(): what the fiber says
  // first. pause(): the fiber's side, back to whoever resumed it.
#ifdef __SANITIZE_ADDRESS__
  // AddressSanitizer takes jumps for returns, and has to be told of every stack.
  void resume() {
    __sanitizer_start_switch_fiber(nullptr, memory_, kBytes);
    swapcontext(&outside_, &inside_);
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
  }
  void arrived() { __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_bytes_); }
  void pause() {
    __sanitizer_start_switch_fiber(nullptr, outside_stack_, outside_bytes_);
    swapcontext(&inside_, &outside_);
    arrived();
  }
#else
  // swapcontext() saves the signal mask with a system call; after the first entry, jumps do the
  // same seventeen times as fast.
  void resume() {
    if (_setjmp(from_)) return;
    if (!std::exchange(entered_, true)) setcontext(&inside_);
    _longjmp(to_, 1);
  }
  void arrived() {}
  void pause() {
    if (!_setjmp(to_)) _longjmp(from_, 1);
  }
#endif

 private:
  static constexpr size_t kBytes = 256 << 10, kGuard = 4096;
  void* memory_;
  ucontext_t inside_;
#ifdef __SANITIZE_ADDRESS__
  ucontext_t outside_;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
#else
  bool entered_ = false;
  jmp_buf to_, from_;
#endif
};

}  // namespace gh::emulator
