// The device a recipe asks for, and the threads that compute on a CPU.
#pragma once

#include "gh/tensor.hpp"

#include <cstdint>
#include <string>

namespace gh::host {

// "cpu", "cuda" (the one of this rank on its machine), "cuda:N", or "auto". Throws gh::Error
// (invalid_param) saying why a CUDA device cannot be had.
at::Device choose_device(const std::string& wanted, int64_t local_rank);

// Those that this process can see.
int64_t cuda_devices();

// Those this process may run on, which under a batch system are fewer than the machine has.
int usable_cores();

// `wanted`, or with 0 this rank's share of the cores.
int choose_threads(int64_t wanted, int64_t local_world);

}  // namespace gh::host
