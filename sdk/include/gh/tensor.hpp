// at::Tensor with its arithmetic operators, at a fraction of the compile time of <torch/torch.h>.
// Functions such as at::relu come one header each: <ATen/ops/relu.h>.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
