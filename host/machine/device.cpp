#include "machine/device.hpp"

#include "gh/error.hpp"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <sched.h>

#include <algorithm>

namespace gh::host {

int64_t cuda_devices() {
  return at::hasCUDA() ? static_cast<int64_t>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

at::Device choose_device(const std::string& wanted, int64_t local_rank) {
  if (wanted == "cpu") return at::kCPU;
  const int64_t devices = cuda_devices();
  if (wanted == "auto" && devices == 0) return at::kCPU;
  require(devices > 0, ErrorCode::invalid_param, "train.device is \"", wanted, "\", but ",
          at::globalContext().hasCUDA() ? "no CUDA device is visible"
                                        : "this ghhost has a LibTorch that sees no CUDA device",
          "; use train.device=\"cpu\", or see docs/devices.md");
  const bool numbered = wanted.starts_with("cuda:");
  const int64_t index = numbered ? std::stoll(wanted.substr(5)) : local_rank;
  require(index < devices, ErrorCode::invalid_param, "train.device is \"", wanted,
          "\" and this rank would use device ", index, ", but only ", devices, " are visible");
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int choose_threads(int64_t wanted, int64_t local_world) {
  if (wanted > 0) return static_cast<int>(wanted);
  return static_cast<int>(std::max<int64_t>(1, usable_cores() / std::max<int64_t>(1, local_world)));
}

}  // namespace gh::host
